"""The saved draft that a send came from. It is sent once: while one send of it is on its way or before a person, no
other gets there. And for as long as one process has it in hand, to change it, take it away or send it off, no other
process does."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from postroom.model.errors import Conflict
from postroom.store.database import Database
from postroom.store.sends import send_rows
from postroom.store.sends.owner import Owner
from postroom.store.sends.send_rows import Send, among
from postroom.store.sends.states import FINISHED, UNSENT, State

_RETRY_SECONDS = 5.0


class DraftHolds:
    """Between processes; within one, whoever takes a hold sees to it that nobody else there has it. A hold ends with
    its process."""

    def __init__(self, database: Database, owner: Owner) -> None:
        self._database = database
        self._owner = owner
        self._held: set[tuple[str, str]] = set()

    def take(self, account: str, draft_refs: Collection[str]) -> frozenset[str]:
        """All of them but those that are returned: another process has them in hand."""
        with self._database.transaction(durable=False) as connection:
            busy = self._elsewhere(connection, account, draft_refs)
            taken = [(account, ref) for ref in set(draft_refs) - busy]
            self._held.update(taken)
            connection.executemany(
                "INSERT OR REPLACE INTO draft_holds (account, draft_ref, owner) VALUES (?, ?, ?)",
                [(*one, self._owner.name) for one in taken],
            )
        return busy

    def drop(self, account: str, draft_refs: Collection[str]) -> None:
        """And what could not be dropped before, on a full disk, say."""
        self._held.difference_update((account, ref) for ref in draft_refs)
        with self._database.transaction(durable=False) as connection:
            self._forget(connection)

    def check_free(self, connection: sqlite3.Connection, send: Send) -> None:
        """Within the transaction that takes a prepared send further: two calls may have looked before in one moment."""
        if not send.draft_ref:
            return
        other = on_their_way(connection, send.account, [send.draft_ref]).get(send.draft_ref)
        if other is not None:
            raise taken(other)
        if self._elsewhere(connection, send.account, [send.draft_ref]):
            raise in_hand("This draft")

    def prune(self, connection: sqlite3.Connection) -> None:
        """Those of dead processes keep nobody waiting, but they are left behind; and what could not be dropped."""
        self._forget(connection)
        for row in connection.execute("SELECT DISTINCT owner FROM draft_holds").fetchall():
            if not self._owner.is_alive(row["owner"]):
                connection.execute("DELETE FROM draft_holds WHERE owner = ?", (row["owner"],))

    def _forget(self, connection: sqlite3.Connection) -> None:
        """Our own that are over."""
        rows = connection.execute(
            "SELECT account, draft_ref FROM draft_holds WHERE owner = ?", (self._owner.name,)
        ).fetchall()
        connection.executemany(
            "DELETE FROM draft_holds WHERE account = ? AND draft_ref = ?",
            [one for one in map(tuple, rows) if one not in self._held],
        )

    def _elsewhere(self, connection: sqlite3.Connection, account: str, draft_refs: Collection[str]) -> frozenset[str]:
        rows = connection.execute(
            "SELECT draft_ref, owner FROM draft_holds WHERE account = ? AND owner != ?"
            " AND draft_ref IN (SELECT value FROM json_each(?))",
            (account, self._owner.name, json.dumps(list(draft_refs))),
        ).fetchall()
        return frozenset(row["draft_ref"] for row in rows if self._owner.is_alive(row["owner"]))


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


def in_hand(named: str) -> Conflict:
    return Conflict(
        f"{named} is being changed, moved or sent by another process at this moment. Nothing was done. Repeat the call "
        "in a few seconds.",
        retry_after=_RETRY_SECONDS,
    )
