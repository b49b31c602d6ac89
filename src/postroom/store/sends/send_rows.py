"""A send as a row of the outbox: its frozen content, and its state."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from postroom.model.ids import Kind
from postroom.store.handles import checked, unknown
from postroom.store.sends.states import State

SendKind = Literal["email_send", "email_reply", "email_forward", "unsubscribe", "vacation"]
# No pause of ours is longer than a day: one that seems to be was begun by a clock that has been put right since.
LONGEST_REST = 86_400.0


@dataclass(frozen=True, slots=True)
class NewSend:
    """What is fixed when a send is prepared; nothing of it ever changes.

    `send_at` is the schedule that was asked for, in the words that the content digest covers.

    `content_sha256` covers what a person is asked about; `raw` is what is sent, byte for byte; where `native`, it is
    the frozen form of an action that the provider carries out by itself.
    """

    account: str
    tool: str
    kind: SendKind
    content_sha256: str
    raw: bytes
    sender: str
    recipients: tuple[str, ...]
    message_id: str
    thread_ref: str = ""
    draft_ref: str = ""
    save_to_sent: bool = True
    idempotency_key: str = ""
    not_before: float | None = None  # wall clock of that schedule
    send_at: str = ""
    subject: str = ""  # for lists
    answers_ref: str = ""  # the handle or the Message-ID of the message it answers or forwards
    native: bool = False
    key_seconds: float | None = None  # how long its key is kept once it is finished; None: the store's own time
    call_sha256: str = ""  # of the arguments of the call that asked for it


@dataclass(frozen=True, slots=True)
class Send:
    """One row, without its bytes (see `Outbox.request`). `wake_at` is when a worker looks at it next.

    `doubtful`: an attempt may have reached the recipients, and nobody could find out. `not_before` is the schedule, or
    the end of the undo window. `staged_ref`: what the provider holds of it ahead of the submission.
    """

    send_id: str
    account: str
    tool: str
    kind: SendKind
    state: State
    content_sha256: str
    sender: str
    recipients: tuple[str, ...]
    message_id: str
    thread_ref: str
    draft_ref: str
    save_to_sent: bool
    idempotency_key: str
    not_before: float | None
    wake_at: float
    attempt: int
    outcome: dict[str, Any] | None
    approval_id: str
    owner: str | None
    created_at: float
    updated_at: float
    send_at: str
    doubtful: bool
    answers_ref: str
    subject: str
    staged_ref: str
    native: bool
    key_seconds: float | None
    call_sha256: str

    @property
    def may_have_left(self) -> bool:
        """Whether anyone may have received it: such a send is never reported as unsent."""
        return self.doubtful or bool((self.outcome or {}).get("accepted"))


@dataclass(frozen=True, slots=True)
class SendEvent:
    state: State
    at: float
    attempt: int


def load(connection: sqlite3.Connection, send_id: str) -> Send:
    wanted = checked(send_id, Kind.SEND)
    row = connection.execute("SELECT * FROM outbox WHERE send_id = ?", (wanted,)).fetchone()
    if row is None:
        raise unknown(send_id, Kind.SEND)
    return from_row(row)


def from_row(row: sqlite3.Row) -> Send:
    fields = dict(row)
    fields["state"] = State(row["state"])
    fields["recipients"] = tuple(json.loads(row["recipients"]))
    fields["save_to_sent"] = bool(row["save_to_sent"])
    fields["doubtful"] = bool(row["doubtful"])
    fields["native"] = bool(row["native"])
    fields["outcome"] = None if row["outcome"] is None else json.loads(row["outcome"])
    return Send(**fields)


def insert(connection: sqlite3.Connection, send_id: str, new: NewSend, *, owner: str, at: float) -> Send:
    connection.execute(
        "INSERT INTO outbox (send_id, account, tool, kind, state, content_sha256, sender, recipients, message_id,"
        " thread_ref, draft_ref, save_to_sent, idempotency_key, not_before, send_at, answers_ref, subject, native,"
        " key_seconds, call_sha256, wake_at, attempt, approval_id, owner, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '', ?, ?, ?)",
        (
            *(send_id, new.account, new.tool, new.kind, State.PREPARED, new.content_sha256, new.sender),
            *(json.dumps(new.recipients), new.message_id, new.thread_ref, new.draft_ref, new.save_to_sent),
            *(new.idempotency_key, new.not_before, new.send_at, new.answers_ref, new.subject, new.native),
            *(new.key_seconds, new.call_sha256, owner, at, at),
        ),
    )
    connection.execute("INSERT INTO outbox_raw (send_id, raw) VALUES (?, ?)", (send_id, new.raw))
    record(connection, send_id, State.PREPARED, at, 0)
    return load(connection, send_id)


def record(connection: sqlite3.Connection, send_id: str, state: State, at: float, attempt: int) -> None:
    connection.execute("INSERT INTO outbox_events VALUES (?, ?, ?, ?)", (send_id, state, at, attempt))


def drop_bytes(connection: sqlite3.Connection, send_id: str) -> None:
    connection.execute("DELETE FROM outbox_raw WHERE send_id = ?", (send_id,))


def among(states: Iterable[State]) -> str:
    """For ``state IN (SELECT value FROM json_each(?))``."""
    return json.dumps(sorted(states))


def may_be_staged(connection: sqlite3.Connection, send: Send) -> bool:
    """Whether the provider may hold a copy of it, also one whose ref nobody has heard of: it was stopped after staging
    began, for the first time or after a person had it sent again, and before it was submitted."""
    rows = connection.execute("SELECT state FROM outbox_events WHERE send_id = ? ORDER BY rowid DESC", (send.send_id,))
    states = [State(row["state"]) for row in rows]
    for state, before in pairwise(states):
        if state is State.SENDING:
            break
        if state is State.STAGED or (state is State.RETRYABLE and before is State.NEEDS_HUMAN):
            return not send.native
    return bool(send.staged_ref)
