"""Adding messages to an index, changing and removing them. Each function is part of its caller's transaction.

The full text is written last and in one batch, in ascending key order: it buffers its input, and a descending key or a
statement with a trigger in between makes it flush what it has so far (five times slower for a batch).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Sequence
from itertools import chain
from json.encoder import encode_basestring
from typing import NamedTuple

from postroom.index import state
from postroom.index.entry import Entry, packed
from postroom.index.folders import folder_ids, unknown_folder
from postroom.index.keys import UNDATED, FreeKeys
from postroom.index.labels import FORWARDED, check_label_name, label_id, make_label
from postroom.index.packing import decompressed
from postroom.index.people import People, add_parts
from postroom.index.records import INSERT, Record, record_of
from postroom.index.rows import chunks, marks
from postroom.index.threads import Joining
from postroom.index.words import storable
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag

SETTABLE: tuple[Flag, ...] = ("unread", "read", "starred", "unstarred", "answered", "forwarded")

_HAS_LABEL = "EXISTS (SELECT 1 FROM mail_label WHERE mail_label.mail = mail.id AND mail_label.label = {})"
_TABLES = (
    ("mail_text", "id"),
    ("mail_people", "id"),
    ("attachment", "mail"),
    ("mail_label", "mail"),
    ("mail_folder", "mail"),
    ("mail", "id"),
)


def add(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Folders must exist; refs must be new."""
    add_records(connection, [record_of(entry) for entry in entries])


def add_records(connection: sqlite3.Connection, records: Sequence[Record]) -> None:
    rows = _numbered(connection, sorted(records, key=_moment))
    connection.executemany(
        INSERT, [(row.key, row.record.ref, row.thread, row.folders[0], *row.record.values) for row in rows]
    )
    add_parts(connection, [(row.key, row.record.parts) for row in rows])
    connection.executemany(
        "INSERT INTO mail_text (id, words, body) VALUES (?, ?, ?)",
        [(row.key, _json(row.words[:-1]), row.kept_body) for row in rows],
    )
    connection.executemany(
        "INSERT INTO attachment (mail, name) VALUES (?, ?)",
        [(row.key, name) for row in rows for name in row.record.texts.filenames],
    )
    connection.executemany(
        "INSERT INTO mail_label (label, mail) VALUES (?, ?)", [(label, row.key) for row in rows for label in row.labels]
    )
    connection.executemany(
        "INSERT INTO mail_folder (mail, folder) VALUES (?, ?)",
        [(row.key, folder) for row in rows for folder in row.folders[1:]],
    )
    state.add_words(connection, [(row.key, row.words, row.state) for row in rows])


def replace(connection: sqlite3.Connection, entry: Entry) -> None:
    """Replaces the message of that ref: its words, its date, everything except the ref."""
    remove(connection, [entry.envelope.ref])
    add(connection, [entry])


def remove(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    """Unknown refs are skipped."""
    keys = sorted(key for key, _ in found_rows(connection, refs).values())
    state.drop_words(connection, [(key, stored_words(connection, key)) for key in keys])
    for table, column in _TABLES:
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key in keys])  # noqa: S608


def set_flags(connection: sqlite3.Connection, refs: Sequence[str], flags: Sequence[Flag]) -> list[ItemResult]:
    for flag in flags:
        if flag not in SETTABLE:
            raise InvalidRequest(
                f"{str(flag)[:40]!r} cannot be set. Use one of: {', '.join(SETTABLE)}.", details={"field": "flag"}
            )
    if "forwarded" in flags:
        _label(connection, refs, FORWARDED)
    for flag in flags:
        if flag != "forwarded":
            _set_flag(connection, refs, *state.CLAIMS[flag])
    return results(refs, found_rows(connection, refs))


def apply_label(connection: sqlite3.Connection, refs: Sequence[str], label: str) -> list[ItemResult]:
    check_label_name(label)
    return _label(connection, refs, label)


def _label(connection: sqlite3.Connection, refs: Sequence[str], label: str) -> list[ItemResult]:
    number = make_label(connection, label)
    found = found_rows(connection, refs, _HAS_LABEL.format(number))
    labelling = [key for key, has_it in found.values() if not has_it]
    connection.executemany("INSERT INTO mail_label (label, mail) VALUES (?, ?)", [(number, key) for key in labelling])
    state.exchange(connection, labelling, add=state.label_token(number))
    return results(refs, found)


def remove_label(connection: sqlite3.Connection, refs: Sequence[str], label: str) -> list[ItemResult]:
    """Removing a label that a message does not have, or that does not exist, succeeds."""
    number = label_id(connection, label) or 0
    found = found_rows(connection, refs, _HAS_LABEL.format(number))
    labelled = [key for key, has_it in found.values() if has_it]
    connection.executemany("DELETE FROM mail_label WHERE label = ? AND mail = ?", [(number, key) for key in labelled])
    state.exchange(connection, labelled, drop=state.label_token(number))
    return results(refs, found)


def gone() -> NotFound:
    return NotFound(
        "This message no longer exists, or its id is out of date. List or search again.", reason="email_gone"
    )


class _Row(NamedTuple):
    """A record with the numbers that it has in this file."""

    record: Record
    key: int
    thread: str
    folders: list[int]
    labels: tuple[int, ...]
    words: state.Words
    state: str

    @property
    def kept_body(self) -> bytes | str:
        packed_body = self.record.texts.packed_body
        return self.words[-1] if packed_body is None else packed_body


def _numbered(connection: sqlite3.Connection, records: Sequence[Record]) -> list[_Row]:
    places, people = folder_ids(connection), People(connection)
    keys = FreeKeys(connection, [one.moment for one in records])
    numbers = {name: make_label(connection, name) for name in dict.fromkeys(chain(*[one.labels for one in records]))}
    joining = Joining(connection, chain(*[one.links for one in records]))
    threads = [joining.join(one.links, one.thread_ref) for one in records]
    joining.write()
    rows = []
    for record, thread in zip(records, threads, strict=True):
        folders = _folder_numbers(record.folders, places)
        labels = tuple(sorted({numbers[name] for name in record.labels}))
        texts = record.texts
        rows.append(
            _Row(
                record,
                keys.next(record.moment),
                joining.current(thread),
                folders,
                labels,
                (texts.subject, *map(people.words, record.people), texts.body),
                state.state_text(folders, *record.marks, labels),
            )
        )
    return rows


def _folder_numbers(names: Sequence[str], places: dict[str, int]) -> list[int]:
    """Each once."""
    for name in names:
        if name not in places:
            raise unknown_folder(name)
    return list(dict.fromkeys(places[name] for name in names))


def stored_words(connection: sqlite3.Connection, key: int) -> state.Words:
    """What the full text was given."""
    words, body = connection.execute("SELECT words, body FROM mail_text WHERE id = ?", (key,)).fetchone()
    if body is None:
        return tuple(json.loads(decompressed(words)))
    return (*json.loads(words), body if isinstance(body, str) else decompressed(body).decode())


def stored_subject(connection: sqlite3.Connection, key: int) -> str:
    """The first of `stored_words`, mostly without unpacking the others."""
    (words,) = connection.execute(
        "SELECT words FROM mail_text WHERE id = ? AND body IS NOT NULL", (key,)
    ).fetchone() or (None,)
    return str(json.loads(words)[0]) if words is not None else stored_words(connection, key)[0]


def write_words(connection: sqlite3.Connection, key: int, words: state.Words) -> None:
    """New words for a message whose old ones were removed from the full text."""
    body = packed(words[-1])
    connection.execute("UPDATE mail_text SET words = ?, body = ? WHERE id = ?", (_json(words[:-1]), body, key))


def pack_words(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    """Of messages that were added without that. Unknown refs are skipped, and what is packed stays as it is."""
    for chunk in chunks(refs):
        rows = connection.execute(
            f"SELECT body, mail_text.id FROM mail JOIN mail_text USING (id) WHERE ref IN ({marks(chunk)})"  # noqa: S608
            " AND typeof(body) = 'text'",
            chunk,
        ).fetchall()
        connection.executemany(
            "UPDATE mail_text SET body = ? WHERE id = ?", [(packed(body), key) for body, key in rows]
        )


def _json(words: state.Words) -> bytes:
    """As `json.dumps` without spaces, which prepares an encoder for each call: that takes five times as long."""
    return f"[{','.join(map(encode_basestring, words))}]".encode()


def _set_flag(connection: sqlite3.Connection, refs: Sequence[str], column: str, value: bool) -> None:
    found = found_rows(connection, refs, column)
    changing = [key for key, is_set in found.values() if bool(is_set) != value]
    connection.executemany(f"UPDATE mail SET {column} = ? WHERE id = ?", [(value, key) for key in changing])  # noqa: S608
    token = state.FLAGS[column]
    state.exchange(connection, changing, **{"add" if value else "drop": token})


def found_rows(connection: sqlite3.Connection, refs: Sequence[str], column: str = "0") -> dict[str, tuple[int, int]]:
    """ref -> (key, the column's value) of those that exist."""
    found: dict[str, tuple[int, int]] = {}
    for chunk in chunks(refs):
        rows = connection.execute(f"SELECT ref, id, {column} FROM mail WHERE ref IN ({marks(chunk)})", chunk)  # noqa: S608
        found.update((ref, (key, value)) for ref, key, value in rows)
    return found


def results(refs: Sequence[str], found: Container[str]) -> list[ItemResult]:
    return [ItemResult(ref, None if storable(ref) in found else gone()) for ref in refs]


def _moment(record: Record) -> float:
    return UNDATED if record.moment is None else record.moment
