"""Mail archives: mbox (also a Gmail Takeout) and Maildir, one message at a time however large the archive is."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from postroom.files.database_file import is_in_use
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.modified_utf7 import decoded_name
from postroom.model.query.tree import Flag
from postroom.providers.local.archive_marks import NO_MARKS, read_marks

MAX_MAIL = 64 * 1024 * 1024  # anything larger is not a message and is never held in memory
_MAX_LINE = 64 * 1024
_PIECE = 256 * 1024

# A separator names a sender and a time of day; a sentence that begins with "From " does not.
_SEPARATOR = re.compile(rb"From \S* .*\d{1,2}:\d{2}")
_LINE_OF_FROM = b"\nFrom "
_ESCAPE = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_INFO = re.compile(r"[:;!]2,([A-Za-z]*)\Z")
_MAILDIR_FLAGS: dict[str, Flag] = {"F": "starred", "R": "answered", "P": "forwarded", "D": "draft"}


@dataclass(frozen=True, slots=True)
class ArchivedMail:
    """`raw` is None for what could not be read, and `problem` says why; `taken` is how many of the archive's bytes it
    took, `name` is where a person finds it there.

    `folder` is where the message itself says it belongs, empty when it does not; `archive` is the archive's name.
    """

    raw: bytes | None
    archive: str
    taken: int
    folder: str = ""
    flags: tuple[Flag, ...] = ()
    labels: tuple[str, ...] = ()
    arrived: datetime | None = None
    name: str = ""
    problem: str = ""


def size_of(path: Path) -> int:
    """The sum of all `taken`."""
    return sum(file.stat().st_size for file in _files(path))


def read_archive(path: Path) -> Iterator[ArchivedMail]:
    """Every message of an mbox file, of a Maildir with its subfolders, or of a folder of these."""
    for file in _files(path):
        if file.parent.name in ("cur", "new"):
            yield replace(_maildir_mail(file, _folder_name(file.parent.parent, path)), name=_name_in(path, file))
        else:
            yield from _mbox_mails(file, _mbox_name(file))


def _files(path: Path) -> list[Path]:
    """The files that contain messages, in a stable order; links are not followed, our own mailboxes not opened."""
    if not path.exists():
        raise NotFound(f"{path} does not exist. Give the path of an mbox file or a Maildir folder.")
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    kept = [file for file in found if _may_be_opened(file) and _holds_mail(file)]
    if not kept:
        raise InvalidRequest(f"{path} is neither an mbox file nor a Maildir (a folder that contains cur and new).")
    return kept


def _may_be_opened(file: Path) -> bool:
    try:
        state = file.lstat()
    except FileNotFoundError:  # gone since it was listed
        return False
    return stat.S_ISREG(state.st_mode) and not is_in_use(state)


def _holds_mail(file: Path) -> bool:
    if file.parent.name in ("cur", "new"):
        return not file.name.startswith(".")
    with file.open("rb") as opened:
        return bool(_SEPARATOR.match(opened.readline(_MAX_LINE)))


def _mbox_name(file: Path) -> str:
    name = file.stem if file.suffix.lower() in (".mbox", ".mbx") else file.name
    return "INBOX" if name.casefold() == "inbox" else name


def _mbox_mails(file: Path, archive: str) -> Iterator[ArchivedMail]:
    with file.open("rb") as opened:
        for number, (raw, taken) in enumerate(_pieces(opened), 1):
            marks = read_marks(raw) if raw is not None else NO_MARKS
            name, problem = f"message {number} of {file.name}", _problem(raw, taken)
            yield ArchivedMail(raw, archive, taken, marks.folder, marks.flags, marks.labels, name=name, problem=problem)


def _pieces(opened: BinaryIO) -> Iterator[tuple[bytes | None, int]]:
    """Each message between two separators and the bytes it took; None instead of one that is too large."""
    held, looked, dropped = bytearray(), 0, 0  # `held` begins with a separator, unless something was dropped
    piece = b"more"
    while piece:
        piece = opened.read(_PIECE)
        held += piece
        end, looked = _next_separator(held, looked, is_whole=not dropped, is_last=not piece)
        while end:
            yield _closed(held[:end], dropped)
            del held[:end]
            dropped = 0
            end, looked = _next_separator(held, 0, is_last=not piece)
        if len(held) > MAX_MAIL + _MAX_LINE:
            dropped += looked
            del held[:looked]
            looked = 0
    if held:
        yield _closed(held, dropped)


def _next_separator(held: bytearray, looked: int, *, is_whole: bool = True, is_last: bool = False) -> tuple[int, int]:
    """(where it begins, or 0; up to where there is none). One that may continue in the next piece waits for it."""
    own_end = held.find(b"\n") if is_whole else -1
    position = held.find(_LINE_OF_FROM, looked)
    while position >= 0:
        line_end = held.find(b"\n", position + 1, position + _MAX_LINE)
        if line_end < 0 and len(held) < position + _MAX_LINE and not is_last:
            return 0, max(0, position - 2)
        is_after_blank = position == own_end or held[max(0, position - 2) : position].endswith((b"\n", b"\n\r"))
        if is_after_blank and _SEPARATOR.match(held, position + 1, position + _MAX_LINE):
            return position + 1, 0
        position = held.find(_LINE_OF_FROM, position + 1)
    return 0, max(0, len(held) - 2 - len(_LINE_OF_FROM))


def _closed(held: bytearray, dropped: int) -> tuple[bytes | None, int]:
    """Without the separator, and without the blank line that an mbox puts before the next one."""
    taken = dropped + len(held)
    raw = bytes(held[held.find(b"\n") + 1 or len(held) :])
    raw = _ESCAPE.sub(b"", raw) if b">From " in raw else raw
    if dropped or len(raw) > MAX_MAIL or not raw.strip():
        return None, taken
    end = -2 if raw.endswith(b"\r\n\r\n") else -1 if raw.endswith(b"\n\n") else None
    return raw[:end], taken


def _maildir_mail(file: Path, folder: str) -> ArchivedMail:
    """Flags are in the file's name; messages in the root name no folder."""
    try:
        status = file.stat()
        raw = file.read_bytes() if status.st_size <= MAX_MAIL else None
    except OSError:
        return ArchivedMail(None, folder, 0, problem="cannot be read")
    info = _INFO.search(file.name)
    letters = info[1] if info else ""
    seen: Flag = "read" if "S" in letters else "unread"
    return ArchivedMail(
        raw or None,
        archive="INBOX",
        taken=status.st_size,
        folder="Trash" if "T" in letters else folder,
        flags=(seen, *(flag for letter, flag in _MAILDIR_FLAGS.items() if letter in letters)),
        arrived=datetime.fromtimestamp(status.st_mtime, UTC),
        problem=_problem(raw, status.st_size),
    )


def _problem(raw: bytes | None, taken: int) -> str:
    return "" if raw else f"is larger than {MAX_MAIL >> 20} MB" if taken > MAX_MAIL else "is empty"


def _name_in(archive: Path, file: Path) -> str:
    return file.name if file == archive else str(file.relative_to(archive))


def _folder_name(maildir: Path, root: Path) -> str:
    """``.Lists.Büro`` of Maildir++ and ``Lists/Büro`` both mean Lists/Büro; the root has no name."""
    parts = maildir.relative_to(root).parts
    names = [name for part in parts for name in (part[1:].split(".") if part.startswith(".") else [part])]
    return "/".join(map(decoded_name, names))
