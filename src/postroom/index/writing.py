"""Adding messages to an index, changing and removing them. Each function is part of its caller's transaction.

The full text is written last and in one batch, in ascending key order: it buffers its input, and a descending key or a
statement with a trigger in between makes it flush what it has so far (five times slower for a batch).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime

from postroom.index import state
from postroom.index.entry import Entry, packed, texts_of
from postroom.index.folders import folder_ids, unknown_folder
from postroom.index.keys import UNDATED, free_key
from postroom.index.labels import FORWARDED, check_label_name, label_id, make_label
from postroom.index.packing import decompressed
from postroom.index.people import People, add_parts
from postroom.index.rows import INSERT, chunks, marks, row_of
from postroom.index.threads import thread_of
from postroom.index.words import storable
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.message import Envelope
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag

SETTABLE: tuple[Flag, ...] = ("unread", "read", "starred", "unstarred", "answered", "forwarded")

_WORDS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
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
    by_date = sorted(entries, key=lambda entry: _moment(entry.envelope.date))
    rows = _add_rows(connection, by_date)
    add_parts(connection, [(row.key, row.envelope) for row in rows])
    connection.executemany(
        "INSERT INTO mail_text (id, words, body) VALUES (?, ?, ?)",
        [(row.key, _json(row.words[:-1]), row.packed_body) for row in rows],
    )
    connection.executemany(
        "INSERT INTO attachment (mail, name) VALUES (?, ?)", [(row.key, name) for row in rows for name in row.filenames]
    )
    connection.executemany(
        "INSERT INTO mail_label (label, mail) VALUES (?, ?)", [(label, row.key) for row in rows for label in row.labels]
    )
    connection.executemany(
        "INSERT INTO mail_folder (mail, folder) VALUES (?, ?)",
        [(row.key, folder) for row in rows for folder in row.further_folders],
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


@dataclass(frozen=True, slots=True)
class _Row:
    """A message that is in the table, and what goes into the other tables."""

    key: int
    envelope: Envelope
    words: state.Words
    packed_body: bytes
    filenames: tuple[str, ...]
    labels: tuple[int, ...]
    further_folders: tuple[int, ...]
    state: str


def _add_rows(connection: sqlite3.Connection, entries: Sequence[Entry]) -> list[_Row]:
    places, people = folder_ids(connection), People(connection)
    names = dict.fromkeys(name for entry in entries for name in _kept(entry.envelope))
    labels = {name: make_label(connection, name) for name in names}
    return [_add_row(connection, entry, places, people, labels) for entry in entries]


def _add_row(
    connection: sqlite3.Connection, entry: Entry, places: dict[str, int], people: People, labels: dict[str, int]
) -> _Row:
    envelope = entry.envelope
    shown, *further = _numbers(envelope.folders, places)
    key = free_key(connection, envelope.date)
    connection.execute(INSERT, row_of(key, thread_of(connection, envelope), shown, envelope))
    texts = entry.texts or texts_of(envelope.subject, entry.body, entry.filenames)
    groups = ((envelope.sender,), envelope.to, envelope.cc, envelope.bcc)
    labelled = tuple(sorted({labels[name] for name in _kept(envelope)}))
    flags = (envelope.unread, envelope.starred, envelope.answered, envelope.draft)
    return _Row(
        key,
        envelope,
        (texts.subject, *map(people.words, groups), texts.body),
        texts.packed_body,
        texts.filenames,
        labelled,
        tuple(further),
        state.state_text((shown, *further), envelope.has_attachments, flags, labelled),
    )


def _numbers(names: Sequence[str], places: dict[str, int]) -> list[int]:
    """Each once."""
    for name in names:
        if name not in places:
            raise unknown_folder(name)
    return list(dict.fromkeys(places[name] for name in names))


def _kept(envelope: Envelope) -> tuple[str, ...]:
    """Its labels, and what is stored like one."""
    return (*envelope.labels, FORWARDED) if envelope.forwarded else envelope.labels


def stored_words(connection: sqlite3.Connection, key: int) -> state.Words:
    """What the full text was given."""
    words, body = connection.execute("SELECT words, body FROM mail_text WHERE id = ?", (key,)).fetchone()
    if body is None:
        return tuple(json.loads(decompressed(words)))
    return (*json.loads(words), decompressed(body).decode())


def write_words(connection: sqlite3.Connection, key: int, words: state.Words) -> None:
    """New words for a message whose old ones were removed from the full text."""
    body = packed(words[-1])
    connection.execute("UPDATE mail_text SET words = ?, body = ? WHERE id = ?", (_json(words[:-1]), body, key))


def _json(words: state.Words) -> bytes:
    return _WORDS.encode(words).encode()


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


def _moment(date: datetime | None) -> float:
    return UNDATED if date is None else date.timestamp()
