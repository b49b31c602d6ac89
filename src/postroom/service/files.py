"""Files on their way out: only from folders the operator allowed, whatever path tricks are tried.

Links are resolved first, then the file is opened by its real names, from the allowed folder downwards and without
following any link: whatever is exchanged in between, nothing outside the folder can be reached.
"""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path

from postroom.files.plain_file import read_below
from postroom.model.draft import File
from postroom.model.errors import InvalidRequest, NotFound, PermissionDenied

MAX_FILE_BYTES = 25 * 1024 * 1024
MAX_FILES = 100


def load_files(paths: Sequence[str], allowed: Sequence[Path], *, max_bytes: int = MAX_FILE_BYTES) -> tuple[File, ...]:
    """Read attachments. Together they may not exceed `max_bytes`; no more is read than it takes to know."""
    if len(paths) > MAX_FILES:
        raise _refused(f"{len(paths)} attachments are named; at most {MAX_FILES} are allowed.")
    files: list[File] = []
    for path in paths:
        files.append(_load(path, allowed, max_bytes))
        if sum(len(file.content) for file in files) > max_bytes:
            raise _refused(
                f"The attachments together are larger than {max_bytes // 2**20} MB. Attach fewer or smaller files."
            )
    return tuple(files)


def _load(text: str, allowed: Sequence[Path], max_bytes: int) -> File:
    root, path = _inside(text, allowed)
    content = read_below(root, path.parts, text[:200], max_bytes)
    if len(content) > max_bytes:
        raise _refused(f"{text[:200]} is larger than {max_bytes // 2**20} MB.")
    mime_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return File(path.name, mime_type, content)


def _inside(text: str, allowed: Sequence[Path]) -> tuple[Path, Path]:
    """The allowed folder, and the way from there to the file, both without links."""
    if not allowed:
        raise PermissionDenied("No folder may be attached from. The operator must set safety.attachment_dirs.")
    if "\0" in text or not text.strip():
        raise _refused("An attachment path is empty or contains NUL.")
    given = Path(os.path.expanduser(text))  # noqa: PTH111 (pathlib's raises where there is no such user)
    candidates = [given] if given.is_absolute() else [folder / given for folder in allowed]
    roots = [Path(os.path.realpath(folder)) for folder in allowed]
    for candidate in candidates:
        real = _without_links(candidate, text)
        root = next((root for root in roots if real.is_relative_to(root) and real != root), None)
        if root is not None:
            if os.path.exists(real):  # noqa: PTH110 (pathlib's raises where a name is too long)
                return root, real.relative_to(root)
        elif given.is_absolute() or ".." in given.parts or candidate.is_symlink():
            raise PermissionDenied(
                f"{text[:200]} is outside the folders that may be attached from: "
                f"{', '.join(str(folder) for folder in allowed)}.",
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
