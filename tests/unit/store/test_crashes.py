"""The promise, tried by killing the process between any two steps: nothing lost, nothing sent twice.

One order is carried out by a small worker whose wire is a file. The worker is killed at one step, its successor at
another, and a third brings the order to its end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.store.kit import WORK, a_send

from postroom.store import AuditEntry, RateLimit, Send, State, Store, open_store

ORDER = a_send(idempotency_key="order-1")
STEPS = 9  # of an order that nothing disturbs
Tick = Callable[[], None]


class Worker:
    """What a server does with an order, with a tick after each thing that outlives it."""

    def __init__(self, path: Path, wire: Path, tick: Tick) -> None:
        self.store: Store = open_store(path, limit=RateLimit(1))
        self.wire = wire
        self.tick = tick

    def work(self) -> None:
        self.store.worklist.recover()
        self.tick()
        for send in self.store.worklist.due():
            self.tick()
            self.carry_on(send)
        if self.store.keys.look_up(WORK, ORDER.tool, ORDER.idempotency_key, ORDER.content_sha256) is None:
            send = self.store.outbox.prepare(ORDER)
            self.tick()
            send = self.store.outbox.reserve(send.send_id).send
            self.tick()
            self.carry_on(send)

    def carry_on(self, send: Send) -> None:
        while send.state is not State.DONE:
            to = self.next_of(send)
            send = self.store.outbox.advance(send.send_id, expect=send.state, to=to)
            self.tick()
            if to is State.SENDING:
                self.submit(send)

    def next_of(self, send: Send) -> State:
        if send.state is State.RECONCILING:
            return State.ACCEPTED if send.send_id in self.wire.read_text() else State.RETRYABLE
        return {
            State.RESERVED: State.STAGED,
            State.STAGED: State.SENDING,
            State.RETRYABLE: State.SENDING,
            State.SENDING: State.ACCEPTED,
            State.UNKNOWN: State.RECONCILING,
            State.ACCEPTED: State.DONE,
        }[send.state]

    def submit(self, send: Send) -> None:
        with self.wire.open("ab", buffering=0) as wire:
            wire.write(f"{send.send_id}\n".encode())
        self.tick()


def run(path: Path, wire: Path, killed_at: int) -> int:
    """In a process of its own; answers the signal that ended it."""
    child = os.fork()
    if child == 0:
        left = [killed_at]

        def tick() -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            Worker(path, wire, tick).work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WTERMSIG(status)


@pytest.mark.parametrize("first", range(1, STEPS + 1))
@pytest.mark.parametrize("second", range(1, STEPS + 1, 2))
def test_an_order_is_carried_out_once_wherever_its_workers_are_killed(
    path: Path, tmp_path: Path, first: int, second: int
) -> None:
    wire = tmp_path / "wire"
    wire.touch()
    assert run(path, wire, first) == (signal.SIGKILL if first < STEPS else 0)
    run(path, wire, second)
    assert run(path, wire, 0) == 0
    store = open_store(path)
    [done] = store.outbox.list(states=[State.DONE]).items
    assert wire.read_text() == f"{done.send_id}\n"
    assert store.outbox.list(states=set(State) - {State.DONE, State.CANCELLED}).total == 0
    assert store.rate.status(WORK).used == 1
    store.close()


@pytest.mark.parametrize("killed_at", range(1, STEPS))
def test_what_may_have_left_was_on_disk_as_sending_before(path: Path, tmp_path: Path, killed_at: int) -> None:
    wire = tmp_path / "wire"
    wire.touch()
    run(path, wire, killed_at)
    store = open_store(path)
    for send_id in wire.read_text().split():
        assert State.SENDING in {event.state for event in store.outbox.events(send_id)}
    recovered = {send.state for send in store.worklist.recover()}
    assert State.SENDING not in recovered
    assert store.outbox.list(states=[State.SENDING]).total == 0
    store.close()


def test_a_transaction_cut_off_by_death_never_was(path: Path) -> None:
    store = open_store(path)
    store.audit.append(AuditEntry("send_email", "success"))
    child = os.fork()
    if child == 0:
        doomed = open_store(path)
        with doomed._database.transaction() as connection:
            connection.execute("DELETE FROM audit")
            connection.execute("INSERT INTO recipients VALUES ('work', 'bob@example.org')")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert store.audit.verify().ok
    assert store.recipients.known(WORK, ["bob@example.org"]) == set()
    assert store.audit.append(AuditEntry("send_email", "success")) == 2
    store.close()
