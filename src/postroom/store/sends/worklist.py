"""What is left to do in the outbox, shared out among processes: each piece of work to exactly one, none lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.sends import send_rows
from postroom.store.sends.owner import Owner
from postroom.store.sends.send_rows import LONGEST_REST, Send, among
from postroom.store.sends.states import WORKABLE, State
from postroom.store.sends.transitions import Transitions

_DUE = (
    "FROM outbox WHERE state IN (SELECT value FROM json_each(?1)) AND owner IS NULL"
    " AND (wake_at <= ?2 OR wake_at > ?3 AND coalesce(not_before, 0) <= ?2)"
    " ORDER BY wake_at, created_at LIMIT ?4"
)

_HELD_SINCE = "(SELECT at FROM outbox_events WHERE send_id = outbox.send_id ORDER BY rowid DESC LIMIT 1)"


QUESTION_SECONDS = 900.0  # how long a question through the client can be answered
_UNSURE_SECONDS = 60.0  # by which a clock is set back every now and then to be right


class WorkList:
    def __init__(self, database: Database, clock: Clock, owner: Owner, transitions: Transitions) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner
        self._transitions = transitions

    def due(self, now: float | None = None, *, limit: int = 10) -> list[Send]:
        """Claim sends that wait for a worker and whose time has come; no other process gets them.

        The state says what is to be done: reserve an APPROVED one, go on from RESERVED, HELD, STAGED or RETRYABLE,
        reconcile an UNKNOWN or RECONCILING one, settle an ACCEPTED one. What cannot be done now is `release`d.
        """
        now = self._clock.wall() if now is None else now
        question = (among(WORKABLE), now, now + LONGEST_REST, limit)
        with self._database.read() as connection:  # polling an empty outbox takes no lock
            if connection.execute(f"SELECT 1 {_DUE}", question).fetchone() is None:
                return []
        with self._database.transaction() as connection:
            rows = connection.execute(f"SELECT send_id {_DUE}", question).fetchall()
            connection.executemany(
                "UPDATE outbox SET owner = ? WHERE send_id = ?", [(self._owner.name, row["send_id"]) for row in rows]
            )
            return [send_rows.load(connection, row["send_id"]) for row in rows]

    def release(self, send_id: str, *, wake_at: float = 0.0, reason: str = "") -> None:
        """Put a claimed send back, for any worker to take up from `wake_at` on. Only the claimer's call counts.

        A SENDING one stays ours: its bytes may have been sent, and only `recover` handles that.
        """
        with self._database.transaction() as connection:
            send = send_rows.load(connection, send_id)
            told = json.dumps({**(send.outcome or {}), "reason": reason}) if reason else None
            wake_at = min(wake_at, self._clock.wall() + LONGEST_REST)
            connection.execute(
                "UPDATE outbox SET owner = NULL, wake_at = ?, outcome = coalesce(?, outcome)"
                " WHERE send_id = ? AND owner = ? AND state != ?",
                (wake_at, told, send.send_id, self._owner.name, State.SENDING),
            )

    def restart_windows(self) -> None:
        """An undo window that began in the clock's future would end there, too: it begins anew, for nobody knows how
        much of it is over. A schedule that somebody asked for stays as it is."""
        now = self._clock.wall()
        ahead = (State.HELD, now + _UNSURE_SECONDS)
        where = f"FROM outbox WHERE state = ? AND owner IS NULL AND send_at = '' AND {_HELD_SINCE} > ?"
        with self._database.read() as connection:
            if connection.execute(f"SELECT 1 {where}", ahead).fetchone() is None:
                return
        with self._database.transaction() as connection:
            found = connection.execute(f"SELECT send_id, not_before - {_HELD_SINCE} AS hold {where}", ahead).fetchall()
            for row in found:
                until = now + max(row["hold"], 0.0)
                connection.execute(
                    "UPDATE outbox SET not_before = ?, wake_at = ? WHERE send_id = ?", (until, until, row["send_id"])
                )
                send_rows.record(connection, row["send_id"], State.HELD, now, 0)

    def expire_questions(self) -> None:
        """Withdraw what a person was asked about through the client and never answered: nothing was promised, and no
        key taken. What is from the clock's future was asked before somebody set it back: nobody knows how long ago."""
        now = self._clock.wall()
        stale = (State.PREPARED, now - QUESTION_SECONDS, now + _UNSURE_SECONDS)
        question = "SELECT send_id FROM outbox WHERE state = ? AND NOT created_at BETWEEN ? AND ?"
        with self._database.read() as connection:
            if connection.execute(question, stale).fetchone() is None:
                return
        with self._database.transaction() as connection:
            for row in connection.execute(question, stale).fetchall():
                self._transitions.move(connection, row["send_id"], {State.PREPARED}, State.CANCELLED)

    def recover(self, abandoned: Collection[str] = ()) -> list[Send]:
        """Free what dead processes held; returns those sends as they are now. Rows of live ones are not touched, except
        for those of ours that we have `abandoned`: nobody works on them any more.

        SENDING becomes UNKNOWN: the bytes may have been sent. PREPARED is cancelled: nobody was told it was accepted.
        """
        with self._database.read() as connection:
            rows = connection.execute("SELECT owner FROM outbox WHERE owner IS NOT NULL").fetchall()
        dead = [owner for owner in {row["owner"] for row in rows} if not self._owner.is_alive(owner)]
        if not dead and not abandoned:
            return []
        with self._database.transaction() as connection:
            held = connection.execute(
                "SELECT * FROM outbox WHERE owner IN (SELECT value FROM json_each(?1))"
                " OR owner = ?2 AND send_id IN (SELECT value FROM json_each(?3))",
                (json.dumps(dead), self._owner.name, json.dumps(sorted(abandoned))),
            ).fetchall()
            return [self._freed(connection, send_rows.from_row(row)) for row in held]

    def _freed(self, connection: sqlite3.Connection, send: Send) -> Send:
        if send.state is State.SENDING:
            return self._transitions.move(connection, send.send_id, {State.SENDING}, State.UNKNOWN)
        if send.state is State.PREPARED:
            return self._transitions.move(connection, send.send_id, {State.PREPARED}, State.CANCELLED)
        connection.execute("UPDATE outbox SET owner = NULL WHERE send_id = ?", (send.send_id,))
        return send_rows.load(connection, send.send_id)
