"""Files from before ``ß`` was indexed as ``ss``: their entries with it are indexed again."""

from __future__ import annotations

import sqlite3

from postroom.index import state
from postroom.index.schema import FURTHER_FOLDERS_TABLE
from postroom.index.writing import stored_words, write_words

_PLAIN = (
    (
        "UPDATE OR IGNORE person SET email = replace(email, 'ß', 'ss'), name = replace(name, 'ß', 'ss')"
        " WHERE instr(email || name, 'ß')"
    ),
    (
        "UPDATE mail_people SET sender = replace(sender, 'ß', 'ss'), receiver = replace(receiver, 'ß', 'ss'),"
        " cc = replace(cc, 'ß', 'ss') WHERE instr(sender || receiver || cc, 'ß')"
    ),
    "UPDATE attachment SET name = replace(name, 'ß', 'ss') WHERE instr(name, 'ß')",
)


def fold_sharp_s(connection: sqlite3.Connection) -> None:
    connection.execute(FURTHER_FOLDERS_TABLE)  # of a later version, needed by `state`
    for statement in _PLAIN:
        connection.execute(statement)
    for (key,) in connection.execute("SELECT id FROM mail_text ORDER BY id").fetchall():
        words = stored_words(connection, key)
        if any("ß" in text for text in words):
            folded = tuple(text.replace("ß", "ss") for text in words)
            write_words(connection, key, folded)
            now = state.state_of(connection, key)
            connection.execute(state.DROP, (key, *words, now))  # subjects are marked by a later version
            connection.execute(state.ADD, (key, *folded, now))
