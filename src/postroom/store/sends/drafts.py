"""The saved draft that a send came from. It is sent once: while one send of it is on its way or before a person, no
other gets there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from postroom.model.errors import Conflict
from postroom.store.sends import send_rows
from postroom.store.sends.send_rows import Send, among
from postroom.store.sends.states import FINISHED, UNSENT, State


def on_their_way(connection: sqlite3.Connection, account: str, draft_refs: Collection[str]) -> dict[str, Send]:
    """Those of the drafts that belong to a send on its way or before a person, and to which: they went into it, or
    staging made them for it."""
    wanted = {ref for ref in draft_refs if ref}
    rows = connection.execute(
        "SELECT * FROM outbox WHERE account = ?1 AND (draft_ref IN (SELECT value FROM json_each(?2))"
        " OR staged_ref IN (SELECT value FROM json_each(?2)))"
        " AND state NOT IN (SELECT value FROM json_each(?3))",
        (account, json.dumps(list(wanted)), among(FINISHED | {State.PREPARED})),
    ).fetchall()
    sends = [send_rows.from_row(row) for row in rows]
    return {ref: send for send in sends for ref in (send.staged_ref, send.draft_ref) if ref in wanted}


def check_free(connection: sqlite3.Connection, send: Send) -> None:
    """Within the transaction that takes a prepared send further: two calls may have looked before in one moment."""
    if send.draft_ref:
        other = on_their_way(connection, send.account, [send.draft_ref]).get(send.draft_ref)
        if other is not None:
            raise taken(other)


def last_sent(connection: sqlite3.Connection, account: str, draft_ref: str, without: str) -> Send | None:
    """The last send of the draft, other than the one `without`, that went out or may have."""
    row = connection.execute(
        "SELECT * FROM outbox WHERE account = ? AND draft_ref = ? AND send_id != ?"
        " AND (doubtful OR state NOT IN (SELECT value FROM json_each(?))) ORDER BY rowid DESC LIMIT 1",
        (account, draft_ref, without, among(UNSENT | {State.PREPARED})),
    ).fetchone()
    return None if row is None else send_rows.from_row(row)


def taken(send: Send) -> Conflict:
    return Conflict(
        f"This draft is already in the outbox as {send.send_id} ({send.state.value}), for another time or with "
        "other options. Nothing was sent. Call cancel_send to stop that send, and then send it differently.",
        reason="draft_on_its_way",
        details={"send_id": send.send_id, "state": send.state.value},
    )
