"""Folders and their roles, in any language."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from postroom.model.characters import is_hidden
from postroom.model.errors import Conflict, InvalidRequest

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
    folder. `is_guess`: the role comes from its name only, not from the server. `is_label`: messages
    are in it by a label (Gmail). If it has no role, that is one of the user's: messages show its name among their
    labels, those in Trash that would be in it too, and one with such labels alone is shown in the first by name,
    without regard to case."""

    ref: str
    name: str
    role: Role | None = None
    total: int | None = None
    unread: int | None = None
    selectable: bool = True
    is_guess: bool = False
    is_label: bool = False


@dataclass(frozen=True, slots=True)
class RenamedFolder:
    """`refs`: of this folder and those below it, where a ref changes with the name; old to new."""

    folder: Folder
    refs: Mapping[str, str] = field(default_factory=dict)


def renamed_path(name: str, level: str) -> str:
    """The full name with another last level."""
    return "/".join([*name.split("/")[:-1], level])


def at_or_below(folders: Iterable[Folder], folder: Folder) -> list[Folder]:
    return [one for one in folders if one.ref == folder.ref or one.name.startswith(f"{folder.name}/")]


def check_renaming(folders: Iterable[Folder], folder: Folder, level: str) -> None:
    """Conflict when another folder has that name in any case, or a folder with a role would be renamed too."""
    folders = list(folders)
    if any(one.role is not None for one in at_or_below(folders, folder)):
        raise Conflict("The folder is a system folder or contains one. Only folders without a role can be renamed.")
    new = renamed_path(folder.name, level).casefold()
    if any(one.name.casefold() == new and one.ref != folder.ref for one in folders):
        raise Conflict("A folder with that name already exists.", reason="already_exists", details={"name": level})


def check_level(level: str) -> str:
    """One level of a folder's name as it will be stored; InvalidRequest where it cannot be one."""
    level = unicodedata.normalize("NFC", level)
    if "/" in level:
        raise _bad_name("contains a '/', but only its last level can change")
    check_folder_name(level)
    return level


def check_folder_name(name: str) -> None:
    """Any script, ``/`` between levels; no level is empty or dots, no control characters, no spaces at the ends."""
    parts = name.split("/")
    if len(name) > MAX_NAME:
        raise _bad_name(f"is longer than {MAX_NAME} characters")
    if any(not part or part != part.strip() or part in (".", "..") for part in parts):
        raise _bad_name("has a level that is empty, . or .., or that begins or ends with a space")
    if not all(char.isprintable() for char in name):
        raise _bad_name("contains a control or invisible character")


def _bad_name(reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"The folder name {reason}. Write it like Projects or Projects/Aurora.", details={"field": "name"}
    )


def match_folder(folders: list[Folder], wanted: str) -> Folder | None:
    """Find by ref, exact name, then role, then name without regard to case, then as it is shown; the last two only
    where they mean one folder. Exact names win over roles, and refs over names: if one folder's name equals another
    one's ref, that ref still names its own folder."""
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
    alike = [folder for folder in folders if folder.name.casefold() == low]
    return alike[0] if len(alike) == 1 else _shown_as(folders, wanted)


def _shown_as(folders: list[Folder], wanted: str) -> Folder | None:
    """Names are shown on one line, without what cannot be seen. None where that is how several look."""
    look = _look_of(wanted)
    alike = [folder for folder in folders if _look_of(folder.name) == look] if look else []
    return alike[0] if len(alike) == 1 else None


def _look_of(name: str) -> str:
    line = " ".join(unicodedata.normalize("NFC", name).split())
    return "".join(char for char in line if not is_hidden(char)).casefold()


def told_apart(folders: list[Folder]) -> list[Folder]:
    """A name on a server may contain a ``/`` of its own, or what stands for one here. Where two folders would be shown
    alike, the one with a role keeps the name, and others are shown by their refs."""
    owners: dict[str, str] = {}
    for folder in sorted(folders, key=lambda folder: (folder.role is None, folder.ref)):
        owners.setdefault(folder.name, folder.ref)
    return [folder if owners[folder.name] == folder.ref else replace(folder, name=folder.ref) for folder in folders]


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
