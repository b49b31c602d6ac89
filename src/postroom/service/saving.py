"""Files to disk, under one allowed folder and with names that cannot lead anywhere else."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from pathlib import Path

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
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path, descriptor = _create(folder, safe_filename(filename))
    except OSError as error:
        raise _cannot_save(error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _cannot_save(error) from None
    return path


def _create(folder: Path, name: str) -> tuple[Path, int]:
    stem, suffix = Path(name).stem, Path(name).suffix
    for number in range(1, 10_000):
        path = folder / (name if number == 1 else f"{stem} ({number}){suffix}")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
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
