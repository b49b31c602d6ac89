"""Labels: any number per message, one spelling per name."""

from __future__ import annotations

import sqlite3

from postroom.index.words import storable
from postroom.model.errors import InvalidRequest

MAX_NAME = 100
FORWARDED = "$Forwarded"  # IMAP's name for it: a mark that is stored like a label but not shown as one


def list_labels(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM label WHERE name != ? ORDER BY folded", (FORWARDED,))
    return [name for (name,) in names]


def label_key(name: str) -> str:
    """The same for all spellings of one label."""
    return storable(name).casefold()


def label_id(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute("SELECT id FROM label WHERE folded = ?", (label_key(name),)).fetchone()
    return None if row is None else int(row[0])


def forget_label(connection: sqlite3.Connection, name: str) -> None:
    connection.execute(
        "DELETE FROM label WHERE folded = ? AND id NOT IN (SELECT label FROM mail_label)", (label_key(name),)
    )


def make_label(connection: sqlite3.Connection, name: str) -> int:
    """Its number, whether it is new or not; the first spelling stays."""
    connection.execute("INSERT OR IGNORE INTO label (name, folded) VALUES (?, ?)", (name, label_key(name)))
    return label_id(connection, name) or 0


def check_label_name(name: str) -> None:
    if not name or name != name.strip() or len(name) > MAX_NAME or not all(char.isprintable() for char in name):
        raise InvalidRequest(
            f"A label is 1 to {MAX_NAME} printable characters, with no space at either end.", details={"field": "label"}
        )
    if label_key(name) == label_key(FORWARDED):
        raise InvalidRequest(
            f"{FORWARDED} is not a label: it marks a message as forwarded. Choose another name.",
            details={"field": "label"},
        )
