"""The account's folders: listed with their roles, found by ref, created and deleted."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PostroomError, ProviderError, RateLimited
from postroom.model.folder import Folder, RenamedFolder, Role, check_folder_name, check_level, check_renaming
from postroom.model.role_names import role_by_name
from postroom.providers.imap.folders.roles import special_use
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.failures import unless_refused
from postroom.providers.imap.session.listed import can_be_opened, read_row

_PLAIN = frozenset(role.value for role in Role)


@dataclass(frozen=True, slots=True)
class Tree:
    """How this server writes paths: the separator of levels, and the prefix of all of the account's own names."""

    separator: str
    prefix: str

    def shown(self, ref: str) -> str:
        inner = ref.removeprefix(self.prefix) if ref.upper() != "INBOX" else "INBOX"
        return "/".join(inner.split(self.separator)) if self.separator else inner

    def renamed(self, ref: str, level: str) -> str:
        above, separator, _ = ref.rpartition(self.separator) if self.separator else ("", self.prefix, "")
        self.written(level)  # InvalidRequest where a separator is in it
        return above + separator + level

    def written(self, name: str) -> str:
        if self.separator not in ("", "/") and self.separator in name:
            raise InvalidRequest(
                f"This mail server does not allow {self.separator!r} in folder names. Use '/' between levels.",
                details={"field": "name"},
            )
        ref = self.separator.join(name.split("/")) if self.separator else name
        return ref if ref.startswith(self.prefix) else self.prefix + ref


def list_folders(session: Session, *, counted: bool) -> list[Folder]:
    """Everything that can be opened. One command where the server supports LIST-STATUS."""
    folders, _ = _listed(session, counted=counted)
    return folders


def list_with_status(
    session: Session, items: Sequence[str], *, is_current: bool = False
) -> list[tuple[Folder, dict[str, str], str]]:
    """Everything that can be opened, with these items of STATUS; those that the server left out are asked for, and
    are empty where it does not tell. Then there may be a reason, too. `is_current`: a folder that is open was refreshed
    just now."""
    lines, statuses = session.list_folders(*_wanted(session, items), is_current=is_current)
    folders, _ = _read(session, lines)
    counts = _statuses(session, statuses)
    listed = []
    for folder in folders:
        status, refusal = counts.get(folder.ref), ""
        try:
            status = status or session.raw_status(folder.ref, items)
        except (ProviderError, RateLimited) as error:
            if not error.refused_folder:
                raise
            status, refusal = {}, error.message
        if status is not None:
            listed.append((_with_counts(session, folder, _numbers(status)), status, refusal))
    return listed


def _listed(session: Session, *, counted: bool) -> tuple[list[Folder], Tree]:
    lines, statuses = session.list_folders(*_wanted(session, ("MESSAGES", "UNSEEN") if counted else ()))
    folders, tree = _read(session, lines)
    if counted:
        counts = _counts(session, statuses)
        folders = [_with_counts(session, folder, counts.get(folder.ref)) for folder in folders]
    return folders, tree


def _read(session: Session, lines: Sequence[wire.Raw]) -> tuple[list[Folder], Tree]:
    rows = [row for line in lines if (row := read_row(session, line)) and session.can_name(row[2])]
    tree = Tree(next((separator for _, separator, _ in rows if separator), ""), session.namespace_prefix())
    folders = [Folder(ref, tree.shown(ref), _role(ref, flags)) for flags, _, ref in rows if can_be_opened(flags)]
    folders = _with_named_roles(_told_apart(folders))
    return sorted(folders, key=lambda folder: (folder.role != Role.INBOX, folder.name.casefold())), tree


def _wanted(session: Session, items: Sequence[str]) -> list[str]:
    if not session.has("LIST-EXTENDED"):
        return []
    wanted = ["SPECIAL-USE"] if session.has("SPECIAL-USE") else []
    return [*wanted, f"STATUS ({' '.join(items)})"] if items and session.has("LIST-STATUS") else wanted


def _role(ref: str, flags: list[str]) -> Role | None:
    return Role.INBOX if ref.upper() == "INBOX" else special_use(flags)


def _told_apart(folders: list[Folder]) -> list[Folder]:
    """Where two would be shown alike (one of them is outside the prefix), one keeps the name, and others are shown by
    their refs. The one whose ref is exactly that name keeps it, else the one with a role."""
    by_right = sorted(folders, key=lambda folder: (folder.ref == folder.name, folder.role is not None))
    owners = {folder.name: folder.ref for folder in by_right}
    return [folder if owners[folder.name] == folder.ref else replace(folder, name=folder.ref) for folder in folders]


def _with_named_roles(folders: list[Folder]) -> list[Folder]:
    """A name gives a role only where the server assigned it to no folder, and to the topmost folder of that name.

    Where two on a level would do, Drafts is preferred to its translations: most programs create that one themselves.
    """
    taken = {folder.role for folder in folders if folder.role}
    for folder in sorted(folders, key=lambda folder: (folder.name.count("/"), folder.name.casefold() not in _PLAIN)):
        role = role_by_name(folder.name)
        if role and role not in taken and folder.role is None:
            taken.add(role)
            folders[folders.index(folder)] = replace(folder, role=role, is_guess=True)
    return folders


def _counts(session: Session, statuses: Sequence[wire.Raw]) -> dict[str, dict[str, int]]:
    return {ref: _numbers(status) for ref, status in _statuses(session, statuses).items()}


def _numbers(status: dict[str, str]) -> dict[str, int]:
    return {name: wire.number(value.encode()) for name, value in status.items()}


def _statuses(session: Session, lines: Sequence[wire.Raw]) -> dict[str, dict[str, str]]:
    """By ref of the folder."""
    found = {}
    for group in wire.responses(lines):
        tokens = wire.read_tokens(group)
        if len(tokens) > 1 and isinstance(tokens[1], list):
            found[session.read_name(tokens[0])] = wire.read_status(tokens[1])
    return found


def _with_counts(session: Session, folder: Folder, counts: dict[str, int] | None) -> Folder:
    if counts is None:
        counts = {}
        with unless_refused():  # how many there are in one says nothing about the others
            counts = session.status(folder.ref, "MESSAGES", "UNSEEN")
    return replace(folder, total=counts.get("MESSAGES"), unread=counts.get("UNSEEN"))


def folder_with(folders: list[Folder], role: Role) -> Folder:
    found = next((folder for folder in folders if folder.role == role), None)
    if found is None:
        raise NotFound(
            f"This account has no {role.value.title()} folder. Call list_folders to see the folders.",
            reason="folder_role_missing",
            details={"role": role.value},
        )
    return found


def create_folder(session: Session, name: str) -> Folder:
    folders, tree = _listed(session, counted=False)
    levels = [unicodedata.normalize("NFC", level.strip()) for level in name.split("/")]
    check_folder_name("/".join(levels))
    if levels[0].upper() == "INBOX":  # the one name whose case means nothing: the server lists it in capitals
        levels[0] = "INBOX"
    ref = tree.written("/".join(levels))
    if any(folder.ref == ref for folder in folders) or ref.upper() == "INBOX":
        raise Conflict(
            "A folder with that name already exists.", reason="already_exists", details={"name": tree.shown(ref)}
        )
    there = {folder.ref for folder in folders}
    for depth in range(1, len(levels) + 1):
        level = tree.written("/".join(levels[:depth]))
        if level not in there and level.upper() != "INBOX":
            session.create_folder(level)
            with suppress(PostroomError):  # it is there, whichever programs show it
                session.subscribe(level)
    return Folder(ref, tree.shown(ref), None, 0, 0)


def delete_folder(session: Session, ref: str) -> None:
    """Only an empty one without children: its content would be lost."""
    folders, tree = _listed(session, counted=False)
    folder = next((folder for folder in folders if folder.ref == ref), None)
    if folder is None:
        raise NotFound("This folder no longer exists. Call list_folders to see the folders.")
    has_children = any(other.ref.startswith(ref + tree.separator) for other in folders if tree.separator)
    if folder.role or has_children or session.status(ref, "MESSAGES").get("MESSAGES", 0):
        raise Conflict("The folder is not empty or is a system folder. Only empty folders can be removed.")
    session.leave(ref)
    session.delete_folder(ref)


def rename_folder(session: Session, ref: str, level: str) -> RenamedFolder:
    """RENAME takes the folders below along (RFC 9051, 6.3.6), but not what is subscribed to."""
    level = check_level(level)
    folders, tree = _listed(session, counted=False)
    folder = next((folder for folder in folders if folder.ref == ref), None)
    if folder is None:
        raise NotFound("This folder no longer exists. Call list_folders to see the folders.")
    check_renaming(folders, folder, level)
    new = tree.renamed(ref, level)
    below = [one.ref for one in folders if tree.separator and one.ref.startswith(ref + tree.separator)]
    refs = {old: new + old[len(ref) :] for old in (ref, *below)}
    for old in refs:
        session.leave(old)
    session.rename_folder(ref, new)
    for old, changed in refs.items():
        with suppress(PostroomError):  # it is renamed, whichever programs show it
            session.subscribe(changed)
            session.unsubscribe(old)
    return RenamedFolder(replace(folder, ref=new, name=tree.shown(new)), refs)


def found_renamed(session: Session, ref: str, level: str) -> RenamedFolder | None:
    """After a lost response: the folder by its new name, if it has it and the old one is free. Refs of messages name
    their folder's UIDVALIDITY too, so one that was made by that name in the meantime gives nobody another mail."""
    folders, tree = _listed(session, counted=False)
    new = tree.renamed(ref, check_level(level))
    by_ref = {folder.ref: folder for folder in folders}
    if ref in by_ref or new not in by_ref:
        return None
    below = [one for one in by_ref if tree.separator and one.startswith(new + tree.separator)]
    return RenamedFolder(by_ref[new], {ref + one[len(new) :]: one for one in (new, *below)})
