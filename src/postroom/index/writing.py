"""Adding mails to an index, changing and removing them. Each function is part of its caller's transaction.

The full text is written last and in one go, keys rising: it gathers what it is given, and falling keys or a statement
with a trigger in between make it write what it has gathered so far (five times slower for a batch).
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Container, Sequence
from datetime import datetime

from postroom.index.entry import Entry
from postroom.index.folders import folder_id, folder_ids, unknown_folder
from postroom.index.keys import UNDATED, free_key
from postroom.index.labels import attach, check_label_name, detach
from postroom.index.matching import place
from postroom.index.people import add_people
from postroom.index.rows import INSERT, chunks, marks, row_of
from postroom.index.threads import thread_of
from postroom.index.words import normal, storable
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.outcome import ItemResult
from postroom.model.query import Flag
from postroom.model.words import folded

_ADD_WORDS = (
    "INSERT INTO words (rowid, subject, sender, receiver, cc, bcc, body, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_DROP_WORDS = (
    "INSERT INTO words (words, rowid, subject, sender, receiver, cc, bcc, body, place)"
    " VALUES ('delete', ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NO_WORDS = ("",) * 6
_SETTING: dict[Flag, tuple[str, bool]] = {
    "unread": ("unread", True),
    "read": ("unread", False),
    "starred": ("starred", True),
    "unstarred": ("starred", False),
    "answered": ("answered", True),
}


def add(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Folders must exist; refs must be new."""
    places = folder_ids(connection)
    by_date = sorted(entries, key=lambda entry: _moment(entry.envelope.date))
    words = [_add_row(connection, entry, places) for entry in by_date]
    connection.executemany(_ADD_WORDS, words)


def replace(connection: sqlite3.Connection, entry: Entry) -> None:
    """The mail of that ref, anew: its words, its date, everything but the ref."""
    remove(connection, [entry.envelope.ref])
    add(connection, [entry])


def remove(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    """Refs that are not there are passed over."""
    keys = sorted(_keys(connection, refs).values())
    connection.executemany(_DROP_WORDS, [_words_of(connection, key, folder) for key, folder in keys])
    for table, column in (
        ("mail_text", "id"),
        ("mail_people", "id"),
        ("attachment", "mail"),
        ("mail_label", "mail"),
        ("mail", "id"),
    ):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key, _ in keys])  # noqa: S608


def move(connection: sqlite3.Connection, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
    """In the full text only the token for the place is exchanged: it lies there independently of the mail's words."""
    new = folder_id(connection, folder_ref)
    keys = _keys(connection, refs)
    moving = sorted((key, old) for key, old in keys.values() if old != new)
    connection.executemany("UPDATE mail SET folder = ? WHERE id = ?", [(new, key) for key, _ in moving])
    for key, old in moving:
        connection.execute(_DROP_WORDS, (key, *_NO_WORDS, place(old)))
        connection.execute(_ADD_WORDS, (key, *_NO_WORDS, place(new)))
    return _results(refs, keys)


def set_flags(connection: sqlite3.Connection, refs: Sequence[str], flags: Sequence[Flag]) -> list[ItemResult]:
    changes = [_setting(flag) for flag in flags]

    def change(key: int, _folder: int) -> None:
        for column, value in changes:
            connection.execute(
                f"UPDATE mail SET {column} = ? WHERE id = ? AND {column} <> ?",  # noqa: S608
                (value, key, value),
            )

    return _each(connection, refs, change)


def apply_label(connection: sqlite3.Connection, refs: Sequence[str], label: str) -> list[ItemResult]:
    check_label_name(label)
    return _each(connection, refs, lambda key, _folder: attach(connection, key, [label]))


def remove_label(connection: sqlite3.Connection, refs: Sequence[str], label: str) -> list[ItemResult]:
    return _each(connection, refs, lambda key, _folder: detach(connection, key, label))


def gone() -> NotFound:
    return NotFound("This mail is gone: it was deleted, or its id is out of date. List or search again.")


def _add_row(connection: sqlite3.Connection, entry: Entry, places: dict[str, int]) -> tuple[int | str, ...]:
    """Everything but the full text; answers what it is to be given."""
    envelope = entry.envelope
    folder = places.get(envelope.folder)
    if folder is None:
        raise unknown_folder(envelope.folder)
    key = free_key(connection, envelope.date)
    connection.execute(INSERT, row_of(key, thread_of(connection, envelope), folder, envelope))
    words = (normal(envelope.subject), *add_people(connection, key, envelope), normal(entry.body))
    packed = zlib.compress(json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode(), 1)
    connection.execute("INSERT INTO mail_text (id, words) VALUES (?, ?)", (key, packed))
    connection.executemany(
        "INSERT INTO attachment (mail, name) VALUES (?, ?)",
        [(key, folded(storable(name))) for name in entry.filenames],
    )
    attach(connection, key, envelope.labels)
    return (key, *words, place(folder))


def _words_of(connection: sqlite3.Connection, key: int, folder: int) -> tuple[int | str, ...]:
    """What the full text was given."""
    (packed,) = connection.execute("SELECT words FROM mail_text WHERE id = ?", (key,)).fetchone()
    return (key, *json.loads(zlib.decompress(packed)), place(folder))


def _each(connection: sqlite3.Connection, refs: Sequence[str], change: Callable[[int, int], None]) -> list[ItemResult]:
    keys = _keys(connection, refs)
    for key, folder in sorted(keys.values()):
        change(key, folder)
    return _results(refs, keys)


def _results(refs: Sequence[str], keys: Container[str]) -> list[ItemResult]:
    return [ItemResult(ref, None if storable(ref) in keys else gone()) for ref in refs]


def _keys(connection: sqlite3.Connection, refs: Sequence[str]) -> dict[str, tuple[int, int]]:
    """ref -> (key, folder) of those that are there."""
    found: dict[str, tuple[int, int]] = {}
    for chunk in chunks(refs):
        rows = connection.execute(f"SELECT ref, id, folder FROM mail WHERE ref IN ({marks(chunk)})", chunk)  # noqa: S608
        found.update((ref, (key, folder)) for ref, key, folder in rows)
    return found


def _setting(flag: Flag) -> tuple[str, bool]:
    if flag not in _SETTING:
        raise InvalidRequest(
            f"{str(flag)[:40]!r} cannot be set. Use one of: {', '.join(_SETTING)}.", details={"field": "flag"}
        )
    return _SETTING[flag]


def _moment(date: datetime | None) -> float:
    return UNDATED if date is None else date.timestamp()
