"""The pieces that a full text consists of: one for each transaction, and larger ones that were merged from those.

Merging takes a fifth of writing. During a first fill it is put off, so that everything is found sooner; a search has
more pieces to look into meanwhile.
"""

from __future__ import annotations

import sqlite3
from typing import Final

MERGED_AT_ONCE: Final = 16  # as in the schema, where the reason is

_MOST: Final = 64  # pieces of one size, even while merging is put off
_PAGES: Final = 250  # merged in one step: a few hundredths of a second
_DONE: Final = 2  # changes of a step that found nothing to do: the command itself


def put_off(connection: sqlite3.Connection) -> None:
    """Until `merge_some` has made up for it."""
    _set(connection, automerge=0, crisismerge=_MOST, usermerge=MERGED_AT_ONCE)


def merge_some(connection: sqlite3.Connection) -> bool:
    """Of what was put off. False: nothing is left, and from now on it is merged as usual."""
    if connection.execute("SELECT v FROM words_config WHERE k = 'automerge'").fetchone() != (0,):
        return False
    before = connection.total_changes
    _set(connection, merge=_PAGES)
    if connection.total_changes - before >= _DONE:
        return True
    _set(connection, automerge=MERGED_AT_ONCE, crisismerge=MERGED_AT_ONCE)
    return False


def _set(connection: sqlite3.Connection, **options: int) -> None:
    for name, value in options.items():
        connection.execute("INSERT INTO words (words, rank) VALUES (?, ?)", (name, value))
