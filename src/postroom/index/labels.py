"""Labels: any number per mail, one spelling per name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from postroom.index.words import storable
from postroom.model.errors import InvalidRequest

MAX_NAME = 100


def list_labels(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM label ORDER BY folded")]


def label_key(name: str) -> str:
    """What two spellings of one label share."""
    return storable(name).casefold()


def label_id(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute("SELECT id FROM label WHERE folded = ?", (label_key(name),)).fetchone()
    return None if row is None else int(row[0])


def attach(connection: sqlite3.Connection, key: int, names: Iterable[str]) -> None:
    """Put labels on the mail with that key; one that is there already stays as it is."""
    for name in names:
        connection.execute("INSERT OR IGNORE INTO label (name, folded) VALUES (?, ?)", (name, label_key(name)))
        number = label_id(connection, name)
        connection.execute("INSERT OR IGNORE INTO mail_label (label, mail) VALUES (?, ?)", (number, key))


def detach(connection: sqlite3.Connection, key: int, name: str) -> None:
    connection.execute("DELETE FROM mail_label WHERE mail = ? AND label = ?", (key, label_id(connection, name)))


def check_label_name(name: str) -> None:
    if not name or name != name.strip() or len(name) > MAX_NAME or not all(char.isprintable() for char in name):
        raise InvalidRequest(
            f"A label is 1 to {MAX_NAME} printable characters without blanks around them.", details={"field": "label"}
        )
