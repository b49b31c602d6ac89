"""Idempotency keys: one key of one tool on one account stands for one send, for as long as the key is kept.

A key is taken when the send is put before a person or reserved, in the same transaction. It is freed when the provider
refuses the send for good or nobody approved it in time; it stays with a send that somebody stopped and with one that
may have been sent, and a repeated call returns that one. A caller may set how long the key of a finished send is kept
(`NewSend.key_seconds`); this is stored with the key, because several dialects may share one state file. The outcome of
the send is read from its outbox row: there is no second copy that could disagree.
"""

from __future__ import annotations

import sqlite3

from postroom.model.errors import Conflict
from postroom.store.clock import Clock, Moment
from postroom.store.database import Database
from postroom.store.sends.send_rows import Send, load
from postroom.store.sends.states import FINISHED, State
from postroom.store.settled_time import SettledTime

DEFAULT_SECONDS = 30 * 86_400.0
LEAST_SECONDS = 600.0
_RETRY_SECONDS = 5.0
_NOTABLE_SECONDS = 60.0  # clocks are corrected by less all the time

# Some process may be working on it now; in all other states a repeated call returns the send as it is.
_IN_PROGRESS = frozenset({State.RESERVED, State.STAGED, State.SENDING})


class Keys:
    def __init__(self, database: Database, clock: Clock, settled: SettledTime, kept_seconds: float) -> None:
        self._database = database
        self._clock = clock
        self._settled = settled
        self._kept_seconds = max(kept_seconds, LEAST_SECONDS)

    def look_up(self, account: str, tool: str, key: str, content_sha256: str) -> Send | None:
        """The send this key stands for, or None when it is free.

        Conflict when it stands for other content, or (with `retry_after`) for a send still in progress.
        """
        with self._database.read() as connection:
            return self.judge(connection, account, tool, key, content_sha256)

    def holder(self, account: str, tool: str, key: str) -> Send | None:
        """The send this key stands for, whatever its content."""
        with self._database.read() as connection:
            return self._held(connection, account, tool, key)

    def held_by_call(self, tool: str, key: str, call_sha256: str) -> list[Send]:
        """The sends, one for each account at most, that this key stands for and that a call with these arguments asked
        for."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT * FROM keys WHERE tool = ? AND key = ?", (tool, key)).fetchall()
            held = [self._holder(connection, row) for row in rows]
        return [send for send in held if send is not None and send.call_sha256 == call_sha256]

    def judge(
        self, connection: sqlite3.Connection, account: str, tool: str, key: str, content_sha256: str
    ) -> Send | None:
        holder = self._held(connection, account, tool, key)
        if holder is None:
            return None
        if holder.content_sha256 != content_sha256:
            raise Conflict(
                "This idempotency_key was used for a different email. Use a new key for a new email, or repeat the "
                "call with exactly the content of the first one.",
                reason="idempotency_key_reused",
                details={"send_id": holder.send_id},
            )
        if holder.state in _IN_PROGRESS and holder.owner is not None:
            raise Conflict(
                "A send with this idempotency_key is in progress. Do not send it again under another key: repeat the "
                "same call in a few seconds to get its result.",
                reason="idempotency_key_in_progress",
                details={"send_id": holder.send_id, "state": holder.state.value},
                retry_after=_RETRY_SECONDS,
            )
        return holder

    def take(self, connection: sqlite3.Connection, send: Send) -> None:
        """After `judge` answered None, in the same transaction."""
        now = self._clock.now()
        connection.execute(
            "INSERT OR REPLACE INTO keys (account, tool, key, send_id, wall, boottime, boot_id, kept_seconds)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(send.account, send.tool, send.idempotency_key, send.send_id),
                *(now.wall, now.boottime, now.boot_id, send.key_seconds),
            ),
        )

    def free(self, connection: sqlite3.Connection, send_id: str) -> None:
        connection.execute("DELETE FROM keys WHERE send_id = ?", (send_id,))

    def prune(self, connection: sqlite3.Connection) -> None:
        self._date_again(connection)
        for row in connection.execute("SELECT * FROM keys").fetchall():
            if self._holder(connection, row) is None:
                self.free(connection, row["send_id"])

    def _date_again(self, connection: sqlite3.Connection) -> None:
        """Those of this boot by the clock as it is now: it may have been behind when they were taken, and after the
        next boot nothing else tells how old they are."""
        now = self._clock.now()
        connection.execute(
            "UPDATE keys SET wall = ? + boottime WHERE boot_id = ? AND boot_id != '' AND wall < ? + boottime",
            (now.wall - now.boottime, now.boot_id, now.wall - now.boottime - _NOTABLE_SECONDS),
        )

    def _held(self, connection: sqlite3.Connection, account: str, tool: str, key: str) -> Send | None:
        row = connection.execute(
            "SELECT * FROM keys WHERE account = ? AND tool = ? AND key = ?", (account, tool, key)
        ).fetchone()
        return self._holder(connection, row) if row is not None else None

    def _holder(self, connection: sqlite3.Connection, row: sqlite3.Row) -> Send | None:
        """The key's send; None once a finished one's key has aged out."""
        send = load(connection, row["send_id"])
        age = self._settled.age(connection, Moment(row["wall"], row["boottime"], row["boot_id"]))
        kept = self._kept_seconds if row["kept_seconds"] is None else max(row["kept_seconds"], LEAST_SECONDS)
        return None if send.state in FINISHED and age > kept else send
