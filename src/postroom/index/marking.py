"""Files from before the words of subjects were indexed for themselves (see `state`): theirs are added."""

from __future__ import annotations

import sqlite3

from postroom.index import state
from postroom.index.writing import stored_subject


def mark_subjects(connection: sqlite3.Connection) -> None:
    """In ascending order: the full text then collects them in memory (see `writing`)."""
    for (key,) in connection.execute("SELECT id FROM mail_text ORDER BY id").fetchall():
        state.exchange(connection, [key], add=state.marked(stored_subject(connection, key)))
