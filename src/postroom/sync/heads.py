"""While a mailbox without numbers is filled: the newest part of a folder, which the mirror has already.

A folder is listed from its newest message downwards, so down to some second everything is there, and a page that ends
above it needs no server. Below it the server is asked alone: it could be searched for what is older, but a message in
several folders would be found on both sides.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from postroom.index.rows import marks
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import After, In, Query
from postroom.sync.coverage import coverage_of_folders, folders_concerned
from postroom.sync.lookup import Lookup
from postroom.sync.trust import Trust

_STATES = """SELECT low, is_filled, server_total
    FROM folder JOIN mirrored_folder ON mirrored_folder.number = folder.id"""


class Head:
    """Of one folder, as its pages come in. Everything dated at `since` or later, in seconds, has been on them."""

    def __init__(self) -> None:
        self.since = 0
        self._last: Sequence[Envelope] = ()
        self._is_clear = True

    def goes_on_with(self, rows: Sequence[Envelope]) -> bool:
        """False once a page does not overlap the one before, or is not in the order of dates: something may be
        missing."""
        seen = {row.ref for row in self._last}
        overlaps = not seen or any(row.ref in seen for row in rows)
        moments = [*map(_moment, self._last[-1:]), *(_moment(row) for row in rows if row.ref not in seen)]
        self._is_clear = self._is_clear and bool(rows) and overlaps and moments == sorted(moments, reverse=True)
        if self._is_clear:
            self.since, self._last = int(_moment(rows[-1])) + 1, rows
        return self._is_clear


def _moment(row: Envelope) -> float:
    return row.date.timestamp() if row.date else 0.0


def page_of_head(
    connection: sqlite3.Connection, trust: Trust, lookup: Lookup, query: Query, *, limit: int, offset: int
) -> Page[Envelope] | None:
    """None where it goes further down than the mirror does, or concerns a folder that is not begun."""
    concerned = sorted(folders_concerned(connection, query) or ())
    coverage = coverage_of_folders(connection, concerned)
    if coverage.leaves_out or not trust.accepts(coverage, whole=False):
        return None
    states = connection.execute(f"{_STATES} WHERE ref IN ({marks(concerned)})", concerned).fetchall()
    lows = [0 if is_filled else low for low, is_filled, _ in states]
    if None in lows:
        return None
    page = lookup.search(connection, query.narrowed(After(datetime.fromtimestamp(max(lows), UTC))), limit, offset)
    if not page.has_more:
        return None
    total = (states[0][2] or None) if isinstance(query.node, In) else None
    return replace(page, total=total, as_of=coverage.as_of, complete=True)
