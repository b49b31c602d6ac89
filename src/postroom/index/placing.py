"""Which folders messages are in. Each function is part of its caller's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from postroom.index import state
from postroom.index.folders import folder_id
from postroom.index.writing import found_rows, results
from postroom.model.folder import Role
from postroom.model.outcome import ItemResult

LEAVING_ALL = (Role.TRASH, Role.JUNK)  # a discarded message is in no other folder


def move(connection: sqlite3.Connection, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
    """From the folder a message is shown in to this one; on a move to Trash or Junk, from all folders."""
    new = folder_id(connection, folder_ref)
    (role,) = connection.execute("SELECT role FROM folder WHERE id = ?", (new,)).fetchone()
    found = found_rows(connection, refs, "folder")
    wanted = {}
    for key, shown in found.values():
        further = _further(connection, key)
        kept = [] if role in LEAVING_ALL else further
        if shown != new or kept != further:
            wanted[key] = [new, *kept]
    _lay(connection, wanted)
    return results(refs, found)


def put(connection: sqlite3.Connection, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
    """Into exactly these folders, shown in the first."""
    folders = [folder_id(connection, ref) for ref in folder_refs]
    found = found_rows(connection, refs, "folder")
    _lay(connection, {key: folders for key, _ in found.values()})
    return results(refs, found)


def _further(connection: sqlite3.Connection, key: int) -> list[int]:
    rows = connection.execute("SELECT folder FROM mail_folder WHERE mail = ? ORDER BY folder", (key,))
    return [folder for (folder,) in rows]


def _lay(connection: sqlite3.Connection, wanted: Mapping[int, Sequence[int]]) -> None:
    """Messages by key into their folders. The full text last and in one batch (see `writing`)."""
    exchanged = [(key, *_lay_one(connection, key, folders)) for key, folders in sorted(wanted.items())]
    for key, left, entered in exchanged:
        state.exchange(connection, [key], drop=_tokens(left), add=_tokens(entered))


def _lay_one(connection: sqlite3.Connection, key: int, folders: Sequence[int]) -> tuple[set[int], set[int]]:
    """The folders that the message left and those it entered."""
    (shown,) = connection.execute("SELECT folder FROM mail WHERE id = ?", (key,)).fetchone()
    before, after = {shown, *_further(connection, key)}, set(folders)
    connection.execute("DELETE FROM mail_folder WHERE mail = ?", (key,))
    connection.execute("UPDATE mail SET folder = ? WHERE id = ?", (folders[0], key))
    connection.executemany(
        "INSERT INTO mail_folder (mail, folder) VALUES (?, ?)", [(key, folder) for folder in after - {folders[0]}]
    )
    return before - after, after - before


def _tokens(folders: set[int]) -> str:
    return " ".join(state.folder_token(folder) for folder in sorted(folders))
