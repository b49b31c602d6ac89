"""The folders of an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace

from postroom.model.errors import Conflict, NotFound
from postroom.model.folder import (
    Folder,
    RenamedFolder,
    Role,
    at_or_below,
    check_level,
    check_renaming,
    match_folder,
    renamed_path,
)
from postroom.sqlite.database import remembered

_ORDER = "role IS NULL, iif(role IS NULL, name, id)"


def list_folders(connection: sqlite3.Connection) -> list[Folder]:
    """Those with a role first, in the order they were created, then the others by name."""
    return list(remembered(connection, _folders))


def _folders(connection: sqlite3.Connection) -> list[Folder]:
    rows = connection.execute(f"SELECT ref, name, role, total, unread FROM folder ORDER BY {_ORDER}")  # noqa: S608
    return [Folder(ref, name, Role(role) if role else None, total, unread) for ref, name, role, total, unread in rows]


def numbered_folders(connection: sqlite3.Connection) -> tuple[list[Folder], Mapping[str, int], frozenset[int]]:
    """`list_folders`, their numbers by name, and those that have messages which are shown in another folder: what every
    search needs to know, in one query."""
    folders, numbers, shared = remembered(connection, _numbered)
    return list(folders), numbers, shared


def _numbered(connection: sqlite3.Connection) -> tuple[list[Folder], Mapping[str, int], frozenset[int]]:
    shares = "EXISTS (SELECT 1 FROM mail_folder WHERE mail_folder.folder = folder.id)"
    rows = connection.execute(
        f"SELECT ref, name, role, total, unread, id, {shares} FROM folder ORDER BY {_ORDER}"  # noqa: S608
    ).fetchall()
    folders = [Folder(ref, name, Role(role) if role else None, *counts) for ref, name, role, *counts, _, _ in rows]
    return folders, {row[1]: row[5] for row in rows}, frozenset([row[5] for row in rows if row[6]])


def folder_id(connection: sqlite3.Connection, ref: str) -> int:
    row = connection.execute("SELECT id FROM folder WHERE ref = ?", (ref,)).fetchone()
    if row is None:
        raise unknown_folder(ref)
    return int(row[0])


def folder_ids(connection: sqlite3.Connection) -> dict[str, int]:
    """By name."""
    return dict(connection.execute("SELECT name, id FROM folder"))


def revisions(connection: sqlite3.Connection) -> dict[str, int]:
    """By name; a number that grows with every change in the folder."""
    return dict(connection.execute("SELECT name, revision FROM folder"))


def add_folder(connection: sqlite3.Connection, name: str, *, ref: str = "", role: Role | None = None) -> Folder:
    """Conflict if there is one of that name, ignoring case. Without a `ref`, the name is used as the ref."""
    if any(name.casefold() == folder.name.casefold() for folder in list_folders(connection)):
        raise Conflict(
            f"A folder named {name!r} already exists. Use it or choose another name.", reason="already_exists"
        )
    connection.execute("INSERT INTO folder (ref, name, role) VALUES (?, ?, ?)", (ref or name, name, role))
    return Folder(ref or name, name, role, 0, 0)


def remove_folder(connection: sqlite3.Connection, ref: str) -> None:
    """Only an empty one without a role and without folders below it."""
    number = folder_id(connection, ref)
    name, role, total = connection.execute("SELECT name, role, total FROM folder WHERE id = ?", (number,)).fetchone()
    below = any(folder.name.startswith(f"{name}/") for folder in list_folders(connection))
    if role or total or below:
        reason = "is required by the mailbox" if role else "is not empty"
        raise Conflict(f"The folder {name!r} {reason}; only an empty folder can be removed.")
    connection.execute("DELETE FROM folder WHERE id = ?", (number,))


def rename_folder(connection: sqlite3.Connection, ref: str, level: str) -> RenamedFolder:
    """With those below it. Refs are names here, so that the old name is free for another folder."""
    level = check_level(level)
    folders = list_folders(connection)
    folder = next((one for one in folders if one.ref == ref), None)
    if folder is None:
        raise unknown_folder(ref)
    check_renaming(folders, folder, level)
    new = renamed_path(folder.name, level)
    names = {one.name: new + one.name[len(folder.name) :] for one in at_or_below(folders, folder)}
    for old in sorted(names, reverse=True):
        connection.execute(
            "UPDATE folder SET ref = ?, name = ?, revision = revision + 1 WHERE name = ?", (names[old], names[old], old)
        )
    refs = {one.ref: names[one.name] for one in folders if one.name in names}
    return RenamedFolder(replace(folder, ref=new, name=new), refs)


def find_folder(folders: list[Folder], wanted: str) -> Folder:
    """By name or role, as people write it."""
    folder = match_folder(folders, wanted)
    if folder is None:
        raise unknown_folder(wanted)
    return folder


def unknown_folder(name: str) -> NotFound:
    return NotFound(
        f"There is no folder {name[:80]!r}. Call list_folders to see the names.",
        reason="folder_unknown",
        details={"field": "folder"},
    )
