"""While a mailbox without numbers is filled: the newest part of a folder, which the mirror has already.

A folder is listed from its newest message downwards, so down to some second everything is there, and a page that ends
above it needs no server. Below it the server is asked alone: it could be searched for what is older, but a message in
several folders would be found on both sides.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

from postroom.index.rows import marks
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import After, In, Query
from postroom.sync.answering.coverage import coverage_of_folders, folders_concerned
from postroom.sync.answering.lookup import Lookup
from postroom.sync.answering.trust import Trust

_STATES = """SELECT low, is_filled, server_total
    FROM folder JOIN mirrored_folder ON mirrored_folder.number = folder.id"""


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
