"""Labels that are folders (Gmail). One that gets another name, or is deleted, does so on every message that has it, and
none of these is reported as changed: the listed folders alone tell."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from postroom.index import placing, state
from postroom.index.folders import list_folders
from postroom.index.labels import FORWARDED, label_id, label_key
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.query.tree import And, In, Leaf, Node, Not, Query
from postroom.sqlite.database import remembered
from postroom.sync.file.status import fact, note_fact
from postroom.sync.tables.places import Place

_ARE_FOLDERS = "labels_are_folders"


def take_over(connection: sqlite3.Connection, before: Sequence[Place], folders: Sequence[Folder]) -> None:
    """After the folders were taken over; `before` is how they were."""
    if not any(folder.is_label for folder in folders):
        return
    if not are_folders(connection):
        note_fact(connection, _ARE_FOLDERS, "1")
    now = {folder.ref: folder.name for folder in folders if folder.role is None}
    own = [place for place in before if place.role is None and not place.is_gone]
    renamed = [place for place in own if now.get(place.ref, place.name) != place.name]
    _drop(connection, [place.name for place in own if place.ref not in now])
    _rename(connection, {place.name: now[place.ref] for place in renamed})
    _spell(connection, now.values())
    _show_in_first(connection, [place.number for place in renamed])


def are_folders(connection: sqlite3.Connection) -> bool:
    return bool(fact(connection, _ARE_FOLDERS))


def labels_of(connection: sqlite3.Connection, key: int) -> set[str]:
    rows = connection.execute(
        "SELECT name FROM label JOIN mail_label ON label = label.id WHERE mail = ? AND name != ?", (key, FORWARDED)
    )
    return {name for (name,) in rows}


def as_gmail_reads(connection: sqlite3.Connection, query: Query) -> Query:
    """The archive has whatever is in no other place of Gmail's own, also what is shown under its labels."""
    if not query.names_folder or not remembered(connection, are_folders):
        return query
    folders = list_folders(connection)
    elsewhere = And(tuple(Not(In(folder.name)) for folder in folders if folder.role not in (None, Role.ARCHIVE)))

    def read(leaf: Leaf) -> Node:
        found = match_folder(folders, leaf.folder) if isinstance(leaf, In) else None
        return elsewhere if found is not None and found.role == Role.ARCHIVE else leaf

    return query.mapped(read)


def without_folder(connection: sqlite3.Connection) -> list[str]:
    """The refs of messages with a label that no folder has the name of: it was renamed while nobody followed, or
    deleted when somebody had just been given it here."""
    if not are_folders(connection):
        return []
    rows = connection.execute(
        "SELECT DISTINCT ref FROM label JOIN mail_label ON label = label.id JOIN mail ON mail.id = mail"
        " WHERE label.name != ? AND label.name NOT IN"
        " (SELECT name FROM folder JOIN mirrored_folder ON number = folder.id WHERE NOT is_gone)",
        (FORWARDED,),
    )
    return [ref for (ref,) in rows]


def _drop(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """From every message, and from the list."""
    for name in names:
        if (number := _number(connection, name)) is not None:
            keys = [key for (key,) in connection.execute("SELECT mail FROM mail_label WHERE label = ?", (number,))]
            connection.execute("DELETE FROM mail_label WHERE label = ?", (number,))
            connection.execute("DELETE FROM label WHERE id = ?", (number,))
            state.exchange(connection, keys, drop=state.label_token(number))


def _rename(connection: sqlite3.Connection, renamed: Mapping[str, str]) -> None:
    """First all of them to names that no label has: two may have exchanged theirs. What has one of the new names then
    is left over from a label that is gone."""
    numbers = {old: number for old in renamed if (number := _number(connection, old)) is not None}
    for number in numbers.values():
        connection.execute("UPDATE label SET name = ?1, folded = ?1 WHERE id = ?2", (f"\x01{number}", number))
    _drop(connection, renamed.values())
    for old, number in numbers.items():
        new = renamed[old]
        connection.execute("UPDATE label SET name = ?, folded = ? WHERE id = ?", (new, label_key(new), number))


def _number(connection: sqlite3.Connection, name: str) -> int | None:
    """Not that of the mark, which is no label and is never renamed."""
    return None if label_key(name) == label_key(FORWARDED) else label_id(connection, name)


def _spell(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """As the server does: a label is known here by whichever spelling came first."""
    rows = connection.execute("SELECT id, name, folded FROM label")
    known = {folded: (number, name) for number, name, folded in rows}
    for name in names:
        number, spelt = known.get(label_key(name), (0, name))
        if spelt not in (name, FORWARDED):
            connection.execute("UPDATE label SET name = ? WHERE id = ?", (name, number))


def _show_in_first(connection: sqlite3.Connection, renamed: Iterable[int]) -> None:
    """Messages with one of these labels and others, and in no folder of another kind: see `Folder.is_label`."""
    shown: dict[int, tuple[str, str]] = {}
    for number in renamed:
        rows = connection.execute(
            "SELECT mail.id, mail.ref, folder.ref FROM mail JOIN folder ON folder.id = mail.folder AND role IS NULL"
            " WHERE mail.folder = ?1 AND EXISTS (SELECT 1 FROM mail_folder WHERE mail = mail.id)"
            " OR mail.id IN (SELECT mail FROM mail_folder WHERE mail_folder.folder = ?1)",
            (number,),
        )
        shown.update((key, (ref, folder)) for key, ref, folder in rows)
    for key, (ref, folder) in sorted(shown.items()):
        if (wanted := _in_order(connection, key))[0] != folder:
            placing.put(connection, [ref], wanted)


def _in_order(connection: sqlite3.Connection, key: int) -> list[str]:
    rows = connection.execute(
        "SELECT is_gone, name, ref FROM folder JOIN mirrored_folder ON number = folder.id WHERE folder.id IN"
        " (SELECT folder FROM mail WHERE id = ?1 UNION SELECT folder FROM mail_folder WHERE mail = ?1)",
        (key,),
    ).fetchall()
    return [ref for _, _, ref in sorted((is_gone, name.casefold(), ref) for is_gone, name, ref in rows)]
