"""The one function that changes a send's state, with everything that must change in the same instant."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from postroom.model.errors import Conflict
from postroom.store.clock import Clock
from postroom.store.sends import send_rows
from postroom.store.sends.idempotency import Keys
from postroom.store.sends.rate import Rate
from postroom.store.sends.send_rows import Send
from postroom.store.sends.states import ALLOWED, BY_A_PERSON, FINISHED, OWNED, UNSENT, State


class Changes(TypedDict, total=False):
    """What may change along with the state."""

    outcome: Mapping[str, Any]
    wake_at: float
    not_before: float | None
    staged_ref: str


class Transitions:
    """Called inside a transaction, which makes each move a compare-and-swap."""

    def __init__(self, clock: Clock, owner: str, keys: Keys, rate: Rate) -> None:
        self._clock = clock
        self._owner = owner
        self._keys = keys
        self._rate = rate
        self.own: set[str] = set()  # unfinished sends that this store has seen from their beginning

    def move(
        self,
        connection: sqlite3.Connection,
        send_id: str,
        expect: Collection[State],
        to: State,
        changes: Changes | None = None,
        *,
        by_a_person: bool = False,
        withdrawn: bool = False,
    ) -> Send:
        """Conflict, and no change at all, when the send is elsewhere or the way does not exist.

        `withdrawn`: nobody was promised anything, so its key is free for the next try.
        """
        assert (changes or {}).keys() <= Changes.__annotations__.keys(), "frozen fields never change"
        send = send_rows.load(connection, send_id)
        ways = BY_A_PERSON if by_a_person else ALLOWED
        if send.state not in expect or to not in ways.get(send.state, ()):
            raise refused(send, to)
        self._settle(connection, send, to, withdrawn)
        self._write(connection, send, to, dict(changes or {}))
        if to in FINISHED:
            self.own.discard(send.send_id)
        return send_rows.load(connection, send.send_id)

    def _settle(self, connection: sqlite3.Connection, send: Send, to: State, withdrawn: bool) -> None:
        """What the new state means for the token, the key, the bytes and the approval.

        A key stays with what somebody decided to stop: the same call again returns that decision.
        """
        if to is State.SENDING:
            if (send.not_before or 0.0) > self._clock.wall():
                raise refused(send, to)  # nothing is sent before its time
            self._rate.take(connection, send.account, send.send_id)
        if (withdrawn or to in (State.REJECTED, State.EXPIRED)) and not send.may_have_left:
            self._keys.free(connection, send.send_id)
        if to in UNSENT and send.attempt == 0:
            self._rate.give_back(connection, send.send_id)
        if to in FINISHED:
            if to is State.DONE or not send_rows.may_be_staged(connection, send):
                send_rows.drop_bytes(connection, send.send_id)  # else they tell ours from what somebody changed
            connection.execute("DELETE FROM unwritten_letters WHERE approval_id = ?", (send.approval_id,))
            connection.execute(
                "UPDATE approvals SET state = 'expired' WHERE send_id = ? AND state IN ('pending', 'approved')",
                (send.send_id,),
            )

    def _write(self, connection: sqlite3.Connection, send: Send, to: State, changes: dict[str, Any]) -> None:
        at = self._clock.wall()
        if "outcome" in changes:
            changes["outcome"] = json.dumps(dict(changes["outcome"]))
        columns = {
            "wake_at": (send.not_before or 0.0) if to is State.HELD else 0.0,
            "doubtful": send.doubtful or (send.state is State.RECONCILING and to is State.NEEDS_HUMAN),
            **changes,
            "state": to,
            "attempt": send.attempt + (to is State.SENDING),
            "owner": self._owner if to in OWNED else None,
            "updated_at": at,
        }
        settings = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(f"UPDATE outbox SET {settings} WHERE send_id = ?", (*columns.values(), send.send_id))  # noqa: S608 (names are ours)
        send_rows.record(connection, send.send_id, to, at, columns["attempt"])


_IS = {
    State.PREPARED: "is not confirmed yet",
    State.AWAITING_APPROVAL: "is waiting for approval",
    State.RESERVED: "is waiting to be sent",
    State.STAGED: "is waiting to be sent",
    State.SENDING: "is being sent",
    State.ACCEPTED: "has already been sent",
    State.DONE: "has already been sent",
    State.RETRYABLE: "is waiting to be retried",
    State.UNKNOWN: "may have been sent",
    State.RECONCILING: "may have been sent",
    State.NEEDS_HUMAN: "needs a decision by a person",
    State.CANCELLED: "has already been cancelled",
    State.EXPIRED: "expired without approval",
}
_MADE = {
    State.APPROVED: "approved",
    State.SENDING: "sent now",
    State.ACCEPTED: "marked as sent",
    State.RETRYABLE: "sent again",
    State.CANCELLED: "cancelled",
    State.DROPPED: "dropped",
}


def refused(send: Send, to: State) -> Conflict:
    return Conflict(
        f"The send {send.send_id} cannot be {_MADE.get(to, f'moved to {to.value}')}: "
        f"it {_IS.get(send.state, f'is {send.state.value}')}. Call list_outbox to see its state.",
        details={"send_id": send.send_id, "state": send.state.value},
    )
