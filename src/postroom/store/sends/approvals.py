"""A person's decision on a send: asked for, given or refused once, used once, for the content asked about."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from postroom.model.errors import Conflict, RateLimited
from postroom.model.ids import Kind, new_handle
from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.handles import checked, unknown
from postroom.store.sends import send_rows
from postroom.store.sends.drafts import DraftHolds
from postroom.store.sends.idempotency import Keys
from postroom.store.sends.send_rows import Send
from postroom.store.sends.states import State
from postroom.store.sends.transitions import Transitions

MAX_PENDING = 100  # of one account: more than a person reads in a day, and less than a flood


class ApprovalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    CONSUMED = "consumed"
    EXPIRED = "expired"  # never given in time, or its send ended otherwise


@dataclass(frozen=True, slots=True)
class Approval:
    """`who` decided and `how` (page, command line, vault, ...). `source` names what was shown as proof, usable once."""

    approval_id: str
    send_id: str
    content_sha256: str
    state: ApprovalState
    who: str
    how: str
    source: str | None
    asked: str  # fingerprint of what was put before the person
    created_at: float
    expires_at: float
    decided_at: float | None
    consumed_at: float | None
    boottime: float  # of `created_at`, and of which boot
    boot_id: str


# By either clock, so that a wall clock set back revives nothing; after a reboot only the wall clock is left.
_LATE = "(expires_at <= ? OR (boot_id = ? AND boot_id != '' AND ? - boottime >= expires_at - created_at))"


@dataclass(frozen=True, slots=True)
class Letter:
    """An approval file on its way to the vault."""

    approval_id: str
    name: str
    content: bytes


NewLetter = Callable[[str], tuple[str, bytes]]  # name and content of the file, once its approval_id is known


class Approvals:
    def __init__(
        self, database: Database, clock: Clock, keys: Keys, draft_holds: DraftHolds, transitions: Transitions
    ) -> None:
        self._database = database
        self._clock = clock
        self._keys = keys
        self._draft_holds = draft_holds
        self._transitions = transitions

    def request(
        self,
        send_id: str,
        *,
        expires_at: float,
        asked: str = "",
        letter: NewLetter | None = None,
        is_only: bool = False,
    ) -> Approval:
        """Ask a person about a prepared send, which then waits and holds its key. A send is asked about once, and
        where `is_only` so is its content.

        `letter` is what the person will read: kept until `written`, so that no crash leaves a send nobody can approve.
        """
        approval_id, now = new_handle(Kind.APPROVAL), self._clock.now()
        with self._database.transaction() as connection:
            prepared = send_rows.load(connection, send_id)
            self._check_room(connection, prepared)
            if is_only:
                _check_not_asked(connection, prepared)
            self._take_key(connection, prepared)
            self._draft_holds.check_free(connection, prepared)
            send = self._transitions.move(connection, send_id, {State.PREPARED}, State.AWAITING_APPROVAL)
            connection.execute("UPDATE outbox SET approval_id = ? WHERE send_id = ?", (approval_id, send.send_id))
            connection.execute(
                "INSERT INTO approvals (approval_id, send_id, content_sha256, state, who, how, asked, created_at,"
                " expires_at, boottime, boot_id) VALUES (?, ?, ?, 'pending', '', '', ?, ?, ?, ?, ?)",
                (
                    approval_id,
                    send.send_id,
                    send.content_sha256,
                    asked,
                    now.wall,
                    expires_at,
                    now.boottime,
                    now.boot_id,
                ),
            )
            if letter is not None:
                connection.execute(
                    "INSERT INTO unwritten_letters VALUES (?, ?, ?)", (approval_id, *letter(approval_id))
                )
            return _load(connection, approval_id)

    def unwritten(self) -> list[Letter]:
        """Letters that a process died over before they was in the vault."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT approval_id, name, content FROM unwritten_letters").fetchall()
        return [Letter(*row) for row in rows]

    def written(self, approval_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM unwritten_letters WHERE approval_id = ?", (approval_id,))

    def _check_room(self, connection: sqlite3.Connection, send: Send) -> None:
        waiting = connection.execute(
            "SELECT count(*) FROM outbox WHERE account = ? AND state = ?", (send.account, State.AWAITING_APPROVAL)
        ).fetchone()[0]
        if waiting >= MAX_PENDING:
            raise RateLimited(
                f"{waiting} messages of this account are already waiting for approval; no more can be added. "
                "Nothing was sent. Ask the user to approve or reject some. Call cancel_send to stop some.",
                details={"waiting": waiting},
            )

    def _take_key(self, connection: sqlite3.Connection, send: Send) -> None:
        if not send.idempotency_key:
            return
        if self._keys.judge(connection, send.account, send.tool, send.idempotency_key, send.content_sha256) is not None:
            raise _in_progress(send.send_id)
        self._keys.take(connection, send)

    def approve(self, approval_id: str, *, who: str, how: str, source: str | None = None) -> Approval:
        """The send becomes due for any running server. Conflict when it was decided already or came too late.

        A `source` (the fingerprint of a hand-written approval, say) approves one send, whoever else sees it.
        """
        self.expire()
        with self._database.transaction() as connection:
            if _is_used(connection, source):
                raise Conflict("This approval has already been used for another send. Ask a person for a new one.")
            approval = self._decide(connection, approval_id, ApprovalState.APPROVED, who, how)
            connection.execute("UPDATE approvals SET source = ? WHERE approval_id = ?", (source, approval.approval_id))
            self._transitions.move(connection, approval.send_id, {State.AWAITING_APPROVAL}, State.APPROVED)
            return _load(connection, approval.approval_id)

    def reject(self, approval_id: str, *, who: str, how: str) -> Approval:
        """The send is cancelled. Conflict when it was decided already or came too late."""
        self.expire()
        with self._database.transaction() as connection:
            approval = self._decide(connection, approval_id, ApprovalState.REJECTED, who, how)
            self._transitions.move(
                connection,
                approval.send_id,
                {State.AWAITING_APPROVAL},
                State.CANCELLED,
                {"outcome": {"decided": "refused"}},
            )
            return _load(connection, approval.approval_id)

    def check_undecided(self, approval_id: str) -> None:
        """Conflict when it was decided already or came too late."""
        self.expire()
        _check_undecided(self.get(approval_id))

    def consume(self, approval_id: str, content_sha256: str) -> bool:
        """True exactly once, and only for the approved content. `Outbox.reserve` does this by itself."""
        with self._database.transaction() as connection:
            return consume(connection, checked(approval_id, Kind.APPROVAL), content_sha256, self._clock.wall())

    def expire(self) -> list[Approval]:
        """End the approvals never given in time, and their sends; returns those it ended."""
        question = f"SELECT approval_id, send_id FROM approvals WHERE state = 'pending' AND {_LATE}"  # noqa: S608 (ours)
        with self._database.read() as connection:
            if connection.execute(question, self._moment()).fetchone() is None:
                return []
        with self._database.transaction() as connection:
            late = connection.execute(question, self._moment()).fetchall()
            for row in late:
                self._transitions.move(connection, row["send_id"], {State.AWAITING_APPROVAL}, State.EXPIRED)
            return [_load(connection, row["approval_id"]) for row in late]

    def get(self, approval_id: str) -> Approval:
        with self._database.read() as connection:
            return _load(connection, approval_id)

    def pending(self, limit: int = -1) -> list[Approval]:
        """What waits for a person, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT * FROM approvals WHERE state = 'pending' AND NOT {_LATE}"  # noqa: S608 (ours)
                " ORDER BY created_at, approval_id LIMIT ?",
                (*self._moment(), limit),
            )
            return [_from_row(row) for row in rows]

    def pending_ids(self) -> frozenset[str]:
        """Of what waits for a person; asked every second, so without the rest of it."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT approval_id FROM approvals WHERE state = 'pending' AND NOT {_LATE}",  # noqa: S608 (ours)
                self._moment(),
            )
            return frozenset(row["approval_id"] for row in rows)

    def _moment(self) -> tuple[float, str, float]:
        """What `_LATE` asks for."""
        now = self._clock.now()
        return now.wall, now.boot_id, now.boottime

    def _decide(
        self, connection: sqlite3.Connection, approval_id: str, state: ApprovalState, who: str, how: str
    ) -> Approval:
        approval = _load(connection, approval_id)
        _check_undecided(approval)
        connection.execute(
            "UPDATE approvals SET state = ?, who = ?, how = ?, decided_at = ? WHERE approval_id = ?",
            (state, who, how, self._clock.wall(), approval.approval_id),
        )
        return approval


def _check_not_asked(connection: sqlite3.Connection, send: Send) -> None:
    """Two processes may be called in the same moment, and who finds two files might approve both."""
    row = connection.execute(
        "SELECT send_id FROM outbox WHERE account = ? AND tool = ? AND content_sha256 = ? AND state = ?",
        (send.account, send.tool, send.content_sha256, State.AWAITING_APPROVAL),
    ).fetchone()
    if row is not None:
        raise _in_progress(row["send_id"])


def _in_progress(send_id: str) -> Conflict:
    return Conflict("The same call is already in progress. Repeat it to get its result.", details={"send_id": send_id})


def consume(connection: sqlite3.Connection, approval_id: str, content_sha256: str, at: float) -> bool:
    used = connection.execute(
        "UPDATE approvals SET state = 'consumed', consumed_at = ?"
        " WHERE approval_id = ? AND content_sha256 = ? AND state = 'approved'",
        (at, approval_id, content_sha256),
    )
    return used.rowcount == 1


def _load(connection: sqlite3.Connection, approval_id: str) -> Approval:
    wanted = checked(approval_id, Kind.APPROVAL)
    row = connection.execute("SELECT * FROM approvals WHERE approval_id = ?", (wanted,)).fetchone()
    if row is None:
        raise unknown(approval_id, Kind.APPROVAL)
    return _from_row(row)


def _from_row(row: sqlite3.Row) -> Approval:
    return Approval(**{**dict(row), "state": ApprovalState(row["state"])})


def _is_used(connection: sqlite3.Connection, source: str | None) -> bool:
    """What has no source is not found: NULL equals nothing."""
    return connection.execute("SELECT 1 FROM approvals WHERE source = ?", (source,)).fetchone() is not None


def _check_undecided(approval: Approval) -> None:
    if approval.state is not ApprovalState.PENDING:
        raise Conflict(
            f"The approval {approval.approval_id} is already {approval.state.value} and cannot be decided again. "
            f"postroom outbox show {approval.send_id} says what became of the message.",
            details={"approval_id": approval.approval_id, "state": approval.state.value},
        )
