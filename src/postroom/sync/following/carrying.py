"""Handles survive a mirror that is thrown away: what it knew is carried over into the new one.

Most messages are found again under their old refs, and need nothing. Of the others it is known only when everything is
there again whether they are in another place now: a message that was there all the time is a copy, not where one went.
What a mirror that is thrown away before that has come upon was not there all the time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from postroom.model.errors import PostroomError
from postroom.sync.file.limits import is_of
from postroom.sync.tables import identity
from postroom.sync.tables.changing import note_renamed
from postroom.sync.tables.identity import Former

if TYPE_CHECKING:
    from postroom.sync.file.mirror import Mirror

Known = tuple[str, str, int]  # as a row of `carried`
Renamed = tuple[str, str]

_AT_ONCE = 5_000
_KNOWN = (
    "SELECT ref, identity, coalesce("  # noqa: S608
    " (SELECT resets FROM carried WHERE carried.ref = known.ref), (SELECT max(resets) + 1 FROM carried), 0)"
    f" FROM (SELECT ref, iif(identity = '{identity.PENDING}', '', identity) AS identity FROM mirrored"
    " UNION ALL SELECT ref, identity FROM former UNION ALL SELECT ref, identity FROM carried) AS known"
)


def take_over(mirror: Mirror, owner: str) -> None:
    """From the file that was replaced, which is removed then. What cannot be written now stays there."""
    with closing(_batches(mirror, owner)) as batches:
        for known, renamed in batches:
            with mirror.transaction() as connection:
                connection.executemany("INSERT OR IGNORE INTO carried (ref, identity, resets) VALUES (?, ?, ?)", known)
                for old, new in renamed:
                    note_renamed(connection, old, new)
    mirror.forget_before()


def _batches(mirror: Mirror, owner: str) -> Generator[tuple[list[Known], list[Renamed]], None, None]:
    """A file that cannot be read is lost, like a damaged one; one of another mailbox has nothing to say here."""
    with suppress(PostroomError), mirror.before() as before:
        if before is not None and is_of(before, owner):
            known = before.execute(_KNOWN)
            while rows := known.fetchmany(_AT_ONCE):
                yield rows, []
            yield [], before.execute("SELECT old, new FROM renamed ORDER BY id").fetchall()


def is_open(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM carried LIMIT 1").fetchone() is not None


def settle(connection: sqlite3.Connection, now: float) -> None:
    """Once everything is there again, and is identified. The others are remembered like messages that disappeared."""
    _set_aside_others(connection)
    rows = connection.execute(
        "SELECT ref, identity, resets FROM carried WHERE identity != '' AND NOT EXISTS"
        " (SELECT 1 FROM mirrored WHERE mirrored.ref = carried.ref) ORDER BY ref"
    ).fetchall()
    found: dict[tuple[str, int], list[str]] = {}
    left = []
    for ref, known, resets in rows:
        if (known, resets) not in found:
            found[known, resets] = _moved_to(connection, known, resets)
        if found[known, resets]:
            note_renamed(connection, ref, found[known, resets].pop(0))
        else:
            left.append(Former(ref, known))
    identity.remember(connection, left, now)
    connection.execute("DELETE FROM carried")


def _set_aside_others(connection: sqlite3.Connection) -> None:
    """Those in whose place there is another message now."""
    rows = connection.execute(
        "SELECT ref, carried.identity, mirrored.identity FROM carried JOIN mirrored USING (ref) ORDER BY ref"
    ).fetchall()
    for ref, was, now in rows:
        if identity.is_another(was, now):
            connection.execute("UPDATE carried SET ref = ? WHERE ref = ?", (ref + identity.REPLACED, ref))
            note_renamed(connection, ref, ref + identity.REPLACED)


def _moved_to(connection: sqlite3.Connection, known: str, resets: int) -> list[str]:
    """The messages with that content that were not there before."""
    rows = connection.execute(
        "SELECT ref FROM mirrored WHERE identity = ? AND NOT EXISTS"
        " (SELECT 1 FROM carried WHERE carried.ref = mirrored.ref AND carried.resets <= ?) ORDER BY id",
        (known, resets),
    )
    return identity.that_may_be_it(known, [ref for (ref,) in rows])
