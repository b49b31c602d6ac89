"""Folders and their roles, in any language."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroom.model.errors import InvalidRequest

MAX_NAME = 255


class Role(StrEnum):
    """What a folder is for. Callers may name a folder by its role in any case: INBOX, sent, Trash."""

    INBOX = "inbox"
    SENT = "sent"
    DRAFTS = "drafts"
    TRASH = "trash"
    JUNK = "junk"
    ARCHIVE = "archive"
    ALL = "all"
    FLAGGED = "flagged"


@dataclass(frozen=True, slots=True)
class Folder:
    """`ref` is the provider's own id; `name` is the full path a person reads, parts joined by ``/``, and names one
    folder. `is_guess`: the role comes from its name only, not from the server."""

    ref: str
    name: str
    role: Role | None = None
    total: int | None = None
    unread: int | None = None
    selectable: bool = True
    is_guess: bool = False


def check_folder_name(name: str) -> None:
    """Any script, ``/`` between levels; no empty level, no control characters, no leading or trailing spaces."""
    parts = name.split("/")
    if len(name) > MAX_NAME:
        raise _bad_name(f"is longer than {MAX_NAME} characters")
    if any(not part or part != part.strip() or part in (".", "..") for part in parts):
        raise _bad_name("has an empty level, or a level that begins or ends with a space")
    if not all(char.isprintable() for char in name):
        raise _bad_name("contains a control or invisible character")


def _bad_name(reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"The folder name {reason}. Write it like Projects or Projects/Aurora.", details={"field": "name"}
    )


def match_folder(folders: list[Folder], wanted: str) -> Folder | None:
    """Find by ref, exact name, then role, then name without regard to case. Exact names win over roles, and refs over
    names: if one folder's name equals another one's ref, that ref still names its own folder."""
    for folder in folders:
        if folder.ref == wanted:
            return folder
    for folder in folders:
        if folder.name == wanted:
            return folder
    low = wanted.casefold()
    for folder in folders:
        if folder.role is not None and (folder.role.value == low or ALIASES.get(low) == folder.role):
            return folder
    return next((folder for folder in folders if folder.name.casefold() == low), None)


# What people and other mail systems call the roles.
ALIASES = {
    "draft": Role.DRAFTS,
    "sent items": Role.SENT,
    "sentitems": Role.SENT,
    "sent mail": Role.SENT,
    "deleted": Role.TRASH,
    "deleted items": Role.TRASH,
    "deleteditems": Role.TRASH,
    "bin": Role.TRASH,
    "spam": Role.JUNK,
    "junkemail": Role.JUNK,
    "junk email": Role.JUNK,
    "all mail": Role.ALL,
    "starred": Role.FLAGGED,
}
