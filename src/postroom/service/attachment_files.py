"""Attachments as files: read from folders the operator allowed or given within a call, saved below the download folder.

On the way out, links are resolved first, then the file is opened by its real names, from the allowed folder downwards
and without following any link: even if files are swapped meanwhile, nothing outside it can be reached. On the way
in, a name cannot lead anywhere else and no file is overwritten.
"""

from __future__ import annotations

import base64
import binascii
import errno
import mimetypes
import os
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.files.folders import make_private, opened_folder
from postroom.files.plain_file import read_below
from postroom.mime.clean import clean_line
from postroom.model.draft import File
from postroom.model.errors import InternalError, InvalidRequest, NotFound, PermissionDenied

MAX_FILE_BYTES = 25 * 1024 * 1024
MAX_FILES = 100
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")


@dataclass(frozen=True, slots=True)
class Downloads:
    """Where the attachments of every client are saved, and this client's part of it."""

    everybody: Path
    own: Path

    def withhold(self, real: Path, root: Path) -> bool:
        """Whether another client may have saved that file, from an account that this one may not use. Not where the
        allowed folder itself is in there: then somebody meant it to be used by all."""
        everybody, own = Path(os.path.realpath(self.everybody)), Path(os.path.realpath(self.own))
        is_foreign = real.is_relative_to(everybody) and not real.is_relative_to(own)
        return is_foreign and everybody not in root.parents


def load_files(
    paths: Sequence[str],
    allowed: Sequence[Path],
    *,
    max_bytes: int = MAX_FILE_BYTES,
    downloads: Downloads | None = None,
) -> tuple[File, ...]:
    """Read attachments. Together they may not exceed `max_bytes`; no more is read than it takes to know."""
    if len(paths) > MAX_FILES:
        raise _refused(f"{len(paths)} attachments are given; at most {MAX_FILES} are allowed.")
    files: list[File] = []
    for path in paths:
        files.append(_load(path, allowed, max_bytes, downloads))
        check_total(files, max_bytes)
    return tuple(files)


@dataclass(frozen=True, slots=True)
class EncodedFile:
    """A file that came within a call: its bytes in base64. It is read from no folder, so no folder must allow it."""

    filename: str
    content_base64: str
    mime_type: str = ""


def decode_files(files: Sequence[EncodedFile], *, max_bytes: int = MAX_FILE_BYTES) -> tuple[File, ...]:
    """Sizes are judged before anything is decoded."""
    if len(files) > MAX_FILES:
        raise _refused(f"{len(files)} attachments are given; at most {MAX_FILES} are allowed.")
    if sum(len(file.content_base64) for file in files) // 4 * 3 > max_bytes + 2 * len(files):
        raise too_large(max_bytes)
    return tuple(map(_decoded, files))


def _decoded(file: EncodedFile) -> File:
    """Strictly: what is not plain base64 in whole groups is refused, for it may not be what its author meant."""
    shown = safe_filename(file.filename, file.mime_type)
    try:
        content = base64.b64decode(file.content_base64, validate=True)
    except (ValueError, binascii.Error):
        raise InvalidRequest(
            f"The content of {shown} is not valid base64. Encode the file's bytes without line breaks, with padding.",
            reason="invalid_base64",
            details={"field": "attachments", "filename": shown},
        ) from None
    mime_type = file.mime_type.strip().lower() or mimetypes.guess_type(shown)[0] or "application/octet-stream"
    if not _TYPE.fullmatch(mime_type) or mime_type.startswith("multipart/"):
        raise _refused(f"The type of {shown} must look like application/pdf, without parameters.")
    return File(shown, mime_type, content)


def check_total(files: Sequence[File], max_bytes: int) -> None:
    if sum(len(file.content) for file in files) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> InvalidRequest:
    return InvalidRequest(
        f"The attachments together are larger than {max_bytes // 2**20} MB. Attach fewer or smaller files.",
        reason="attachment_too_large",
        details={"field": "attachments"},
    )


def _load(text: str, allowed: Sequence[Path], max_bytes: int, downloads: Downloads | None) -> File:
    root, path = _inside(text, allowed, downloads)
    content = read_below(root, path.parts, text[:200], max_bytes)
    if len(content) > max_bytes:
        raise _refused(f"{text[:200]} is larger than {max_bytes // 2**20} MB.")
    mime_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return File(path.name, mime_type, content)


def _inside(text: str, allowed: Sequence[Path], downloads: Downloads | None) -> tuple[Path, Path]:
    """The allowed folder, and the way from there to the file, both without links."""
    if not allowed:
        raise PermissionDenied(
            "Attachments are not allowed from any folder. The operator must set safety.attachment_dirs.",
            reason="attachment_not_allowed",
        )
    if "\0" in text or not text.strip():
        raise _refused("An attachment path is empty or contains a NUL character.")
    given = Path(os.path.expanduser(text))  # noqa: PTH111 (pathlib's raises where there is no such user)
    candidates = [given] if given.is_absolute() else [folder / given for folder in allowed]
    roots = [Path(os.path.realpath(folder)) for folder in allowed]
    for candidate in candidates:
        real = _without_links(candidate, text)
        holding = [root for root in roots if real.is_relative_to(root) and real != root]
        if holding:
            usable = [root for root in holding if downloads is None or not downloads.withhold(real, root)]
            if usable and os.path.exists(real):  # noqa: PTH110 (pathlib's raises where a name is too long)
                return usable[0], real.relative_to(usable[0])
        elif given.is_absolute() or ".." in given.parts or candidate.is_symlink():
            raise PermissionDenied(
                f"{text[:200]} is outside the folders allowed for attachments: "
                f"{', '.join(str(folder) for folder in allowed)}.",
                reason="attachment_not_allowed",
                details={"field": "attachments"},
            )
    raise _missing(text)


def _without_links(path: Path, text: str) -> Path:
    try:
        return Path(os.path.realpath(path))
    except OSError:  # a link that vanished while it was followed
        raise _missing(text) from None


def _missing(text: str) -> NotFound:
    return NotFound(f"There is no file {text[:200]} in the allowed folders.", details={"field": "attachments"})


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(message, details={"field": "attachments"})


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
    """Write as a new file; an existing one is never overwritten or followed. Returns where it is."""
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
    raise PermissionDenied("The download folder contains too many files with this name. Clean it up and try again.")


def _cannot_save(error: OSError) -> InternalError | PermissionDenied:
    if error.errno == errno.ENOSPC:
        return InternalError("The disk is full: the attachment was not saved. Free some space and try again.")
    return PermissionDenied(
        f"The download folder cannot be written to ({os.strerror(error.errno or 0)}). Check safety.download_dir."
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
