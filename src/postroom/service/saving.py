"""Files to disk, under one allowed folder and with names that cannot lead anywhere else."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

from postroom.files.folders import make_private, opened_folder
from postroom.mime.clean import clean_line
from postroom.model.errors import InternalError, PermissionDenied

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|\Z)", re.IGNORECASE)
_MAX_BYTES = 150  # leaves room for " (999)" within the 255 bytes of common file systems


def safe_filename(name: str, mime_type: str = "") -> str:
    """One path component that means the same file on every system; never empty, never hidden, never a device."""
    last = re.split(r"[/\\]", clean_line(name))[-1]
    safe = _UNSAFE.sub("_", unicodedata.normalize("NFC", last)).strip(" .")
    if not safe:
        safe = "attachment" + _extension(mime_type)
    if _RESERVED.match(safe):
        safe = "_" + safe
    return _shortened(safe)


def save(folder: Path, filename: str, content: bytes) -> Path:
    """Write as a new file; an existing one is never overwritten or followed. Answers where it lies."""
    try:
        make_private(folder)
        with opened_folder(folder) as opened:
            return folder / _write_new(opened, safe_filename(filename), content)
    except OSError as error:
        raise _cannot_save(error) from None


def _write_new(folder: int, filename: str, content: bytes) -> str:
    """What it is called now. Of a file that could not be written whole nothing stays."""
    name, descriptor = _create(folder, filename)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise
    return name


def _create(folder: int, filename: str) -> tuple[str, int]:
    stem, suffix = Path(filename).stem, Path(filename).suffix
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for number in range(1, 10_000):
        name = filename if number == 1 else f"{stem} ({number}){suffix}"
        try:
            return name, os.open(name, flags, 0o600, dir_fd=folder)
        except FileExistsError:
            continue
    raise PermissionDenied("The download folder holds too many files of this name. Clear it out and try again.")


def _cannot_save(error: OSError) -> InternalError | PermissionDenied:
    if error.errno == errno.ENOSPC:
        return InternalError("The disk is full: the attachment was not saved. Free some space and try again.")
    return PermissionDenied(
        f"The download folder cannot be written ({os.strerror(error.errno or 0)}). Check safety.download_dir."
    )


def _shortened(name: str) -> str:
    stem, suffix = Path(name).stem, Path(name).suffix
    suffix = suffix[:20]
    while len((stem + suffix).encode()) > _MAX_BYTES:
        stem = stem[:-1]
    return stem + suffix


def _extension(mime_type: str) -> str:
    import mimetypes

    return mimetypes.guess_extension(mime_type.lower()) or ".bin"
