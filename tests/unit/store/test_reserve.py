"""Reserving: the token, the key and the approval in one transaction, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.kit import A_DAY, WORK, FakeTime, a_send, brought_to, sha

from postroom.model.errors import Conflict, PermissionDenied, RateLimited
from postroom.store import NewSend, RateLimit, Send, State, Store, open_store

KEYED = a_send(idempotency_key="key-1")


def reserve(store: Store, new: NewSend) -> tuple[Send, bool]:
    reservation = store.outbox.reserve(store.outbox.prepare(new).send_id)
    return reservation.send, reservation.replayed


def test_a_reservation_takes_one_token(store: Store) -> None:
    send, replayed = reserve(store, a_send())
    assert (send.state, replayed) == (State.RESERVED, False)
    assert store.rate.status(WORK).used == 1


@pytest.mark.parametrize("state", sorted(set(State) - {State.PREPARED, State.APPROVED}))
def test_only_prepared_and_approved_sends_are_reserved(store: Store, state: State) -> None:
    send = brought_to(store, state)
    with pytest.raises(Conflict, match="cannot become reserved"):
        store.outbox.reserve(send.send_id)
    assert store.outbox.get(send.send_id) == send


def test_without_a_key_the_same_mail_is_sent_as_often_as_asked(store: Store) -> None:
    assert [reserve(store, a_send())[1] for _ in range(3)] == [False, False, False]


@pytest.mark.parametrize("state", [State.HELD, State.ACCEPTED, State.DONE, State.NEEDS_HUMAN])
def test_a_repeated_key_answers_with_the_first_send(store: Store, other: Store, state: State) -> None:
    first = brought_to(store, state, KEYED)
    repeated = other.outbox.prepare(KEYED)
    assert other.outbox.reserve(repeated.send_id).send == first
    assert other.outbox.get(repeated.send_id).state is State.CANCELLED
    assert store.rate.status(WORK).used == 1
    assert other.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) == first


@pytest.mark.parametrize(
    "state",
    [State.RESERVED, State.STAGED, State.SENDING, State.RETRYABLE, State.UNKNOWN, State.RECONCILING],
)
def test_a_key_whose_send_is_in_progress_is_a_conflict_for_now(store: Store, other: Store, state: State) -> None:
    first = brought_to(store, state, KEYED)
    repeated = other.outbox.prepare(KEYED)
    with pytest.raises(Conflict, match="in progress") as caught:
        other.outbox.reserve(repeated.send_id)
    assert caught.value.retry_after
    assert caught.value.details["send_id"] == first.send_id
    assert other.outbox.get(repeated.send_id) == repeated
    assert store.rate.status(WORK).used == 1


@pytest.mark.parametrize("state", [State.RESERVED, State.HELD, State.DONE])
def test_a_key_with_other_content_is_a_conflict_for_good(store: Store, state: State) -> None:
    brought_to(store, state, KEYED)
    changed = store.outbox.prepare(a_send("other words", idempotency_key="key-1"))
    with pytest.raises(Conflict, match="different email") as caught:
        store.outbox.reserve(changed.send_id)
    assert caught.value.retry_after is None
    with pytest.raises(Conflict, match="different email"):
        store.keys.look_up(WORK, "send_email", "key-1", sha("other words"))
    assert store.outbox.get(changed.send_id) == changed


def test_a_key_belongs_to_its_account_and_tool(store: Store) -> None:
    brought_to(store, State.DONE, KEYED)
    for fields in ({"account": "home"}, {"tool": "reply_email"}, {"idempotency_key": "key-2"}):
        assert not reserve(store, a_send(**({"idempotency_key": "key-1"} | fields)))[1]


@pytest.mark.parametrize("end", [State.REJECTED, State.CANCELLED])
def test_a_key_whose_send_never_went_out_is_free_again(store: Store, end: State) -> None:
    send = brought_to(store, State.SENDING if end is State.REJECTED else State.HELD, KEYED)
    store.outbox.advance(send.send_id, expect=send.state, to=end)
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) is None
    assert not reserve(store, KEYED)[1]


def test_keys_survive_a_restart_for_thirty_days(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock())
    first = brought_to(store, State.DONE, KEYED)
    store.close()
    time.passes(30 * A_DAY)
    time.reboots()
    store = open_store(path, clock=time.clock())
    assert reserve(store, KEYED) == (first, True)
    time.passes(1)
    assert not reserve(store, KEYED)[1]
    store.close()


def test_keys_are_kept_ten_minutes_even_when_told_otherwise(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock(), key_seconds=0)
    brought_to(store, State.DONE, KEYED)
    time.passes(600)
    time.is_set(40 * A_DAY)
    store.prune()
    assert reserve(store, KEYED)[1]
    time.passes(1)
    assert not reserve(store, KEYED)[1]
    store.close()


def test_a_key_is_kept_as_long_as_its_send_is_open(store: Store, time: FakeTime) -> None:
    held = brought_to(store, State.HELD, KEYED)
    time.passes(99 * A_DAY)
    store.prune()
    assert reserve(store, KEYED) == (held, True)


def test_an_approval_is_used_up_with_the_reservation(store: Store) -> None:
    send = brought_to(store, State.APPROVED)
    assert store.outbox.reserve(send.send_id).send.state is State.RESERVED
    assert store.approvals.get(send.approval_id).state == "consumed"
    assert not store.approvals.consume(send.approval_id, send.content_sha256)


def test_a_used_approval_reserves_nothing_more(store: Store) -> None:
    send = brought_to(store, State.APPROVED)
    assert store.approvals.consume(send.approval_id, send.content_sha256)
    with pytest.raises(PermissionDenied, match="Nothing was sent"):
        store.outbox.reserve(send.send_id)
    assert store.outbox.get(send.send_id).state is State.APPROVED
    assert store.rate.status(WORK).used == 0


def test_a_full_window_takes_neither_key_nor_approval(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock(), limit=RateLimit(1))
    reserve(store, a_send("first"))
    send = brought_to(store, State.APPROVED, KEYED)
    with pytest.raises(RateLimited) as caught:
        store.outbox.reserve(send.send_id)
    assert store.outbox.get(send.send_id) == send
    assert store.approvals.get(send.approval_id).state == "approved"
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) is None
    assert caught.value.retry_after
    time.passes(caught.value.retry_after)
    assert store.outbox.reserve(send.send_id).send.state is State.RESERVED
    store.close()


def test_an_approved_repeat_of_a_finished_send_leaves_no_approval_behind(store: Store) -> None:
    first = brought_to(store, State.DONE, KEYED)
    repeated = brought_to(store, State.APPROVED, KEYED)
    assert store.outbox.reserve(repeated.send_id).send == first
    assert store.approvals.get(repeated.approval_id).state == "expired"
