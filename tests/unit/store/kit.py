"""What the store's tests share: a clock that obeys, and sends to move about."""

from __future__ import annotations

import hashlib
from typing import Any

from postroom.store import NewSend, Send, State, Store
from postroom.store.clock import Clock

WORK = "work"
A_DAY = 86_400.0

# One way to each state; every step but the guarded ones is an `advance`.
PATHS: dict[State, tuple[State, ...]] = {
    State.PREPARED: (),
    State.AWAITING_APPROVAL: (State.AWAITING_APPROVAL,),
    State.APPROVED: (State.AWAITING_APPROVAL, State.APPROVED),
    State.EXPIRED: (State.AWAITING_APPROVAL, State.EXPIRED),
    State.RESERVED: (State.RESERVED,),
    State.HELD: (State.RESERVED, State.HELD),
    State.CANCELLED: (State.CANCELLED,),
    State.STAGED: (State.RESERVED, State.STAGED),
}
_SENDING = (State.RESERVED, State.STAGED, State.SENDING)
PATHS |= {
    State.SENDING: _SENDING,
    State.ACCEPTED: (*_SENDING, State.ACCEPTED),
    State.DONE: (*_SENDING, State.ACCEPTED, State.DONE),
    State.REJECTED: (*_SENDING, State.REJECTED),
    State.RETRYABLE: (*_SENDING, State.RETRYABLE),
    State.UNKNOWN: (*_SENDING, State.UNKNOWN),
    State.RECONCILING: (*_SENDING, State.UNKNOWN, State.RECONCILING),
    State.NEEDS_HUMAN: (*_SENDING, State.UNKNOWN, State.RECONCILING, State.NEEDS_HUMAN),
    State.DROPPED: (*_SENDING, State.UNKNOWN, State.RECONCILING, State.NEEDS_HUMAN, State.DROPPED),
}


class FakeTime:
    """Both clocks, moved by hand."""

    def __init__(self) -> None:
        self.wall = 1_800_000_000.0
        self.boottime = 1_000.0
        self.boots = 1

    def clock(self) -> Clock:
        """As a process sees it that starts in the current boot."""
        return Clock(lambda: self.wall, lambda: self.boottime, f"boot-{self.boots}")

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.boottime += seconds

    def is_set(self, seconds: float) -> None:
        """Someone sets the wall clock; no time passes."""
        self.wall += seconds

    def reboots(self) -> None:
        self.boots += 1
        self.boottime = 5.0


def forget(store: Store, time: FakeTime) -> None:
    """What is past its time now. It is forgotten a day later: see `postroom.store.settled_time`."""
    store.prune()
    time.passes(A_DAY)
    store.prune()


def a_send(content: str = "hello", **fields: Any) -> NewSend:
    given: dict[str, Any] = {
        "account": WORK,
        "tool": "send_email",
        "kind": "email_send",
        "content_sha256": sha(content),
        "raw": b"Subject: hi\r\n\r\n" + content.encode(),
        "sender": "alice@example.com",
        "recipients": ("bob@example.org",),
        "message_id": "<1@example.com>",
    }
    return NewSend(**(given | fields))


def sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def brought_to(store: Store, state: State, new: NewSend | None = None) -> Send:
    """A send that has come to this state by the proper doors."""
    send = store.outbox.prepare(new or a_send())
    for step in PATHS[state]:
        one_step(store, send.send_id, step)
    return store.outbox.get(send.send_id)


def one_step(store: Store, send_id: str, to: State) -> None:
    send = store.outbox.get(send_id)
    if to is State.AWAITING_APPROVAL:
        store.approvals.request(send_id, expires_at=store.clock.wall() + A_DAY)
    elif to is State.APPROVED:
        store.approvals.approve(send.approval_id, who="pat", how="cli")
    elif to is State.EXPIRED:
        with store._database.transaction() as connection:
            connection.execute("UPDATE approvals SET expires_at = 0 WHERE send_id = ?", (send_id,))
        store.approvals.expire()
    elif to is State.RESERVED:
        assert not store.outbox.reserve(send_id).replayed
    elif to is State.DROPPED:
        store.outbox.resolve(send_id, "drop")
    else:
        store.outbox.advance(send_id, expect=send.state, to=to)
