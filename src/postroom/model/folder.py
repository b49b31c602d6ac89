"""Folders and the roles they play, whatever language their names are in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    """`ref` is the provider's own id; `name` is the full path a person reads, parts joined by ``/``."""

    ref: str
    name: str
    role: Role | None = None
    total: int | None = None
    unread: int | None = None
    selectable: bool = True


def match_folder(folders: list[Folder], wanted: str) -> Folder | None:
    """Find by exact name, then role, then name without regard to case. Exact names win over roles."""
    for folder in folders:
        if folder.name == wanted or folder.ref == wanted:
            return folder
    low = wanted.casefold()
    for folder in folders:
        if folder.role is not None and (folder.role.value == low or _ALIASES.get(low) == folder.role):
            return folder
    return next((folder for folder in folders if folder.name.casefold() == low), None)


# What people and other mail systems call the roles.
_ALIASES = {
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
