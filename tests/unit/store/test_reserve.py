"""Reserving: the token, the key and the approval in one transaction, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.kit import A_DAY, WORK, FakeTime, a_send, brought_to, forget, sha

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
    with pytest.raises(Conflict, match="cannot be moved to reserved"):
        store.outbox.reserve(send.send_id)
    assert store.outbox.get(send.send_id) == send


def test_without_a_key_the_same_mail_is_sent_as_often_as_asked(store: Store) -> None:
    assert [reserve(store, a_send())[1] for _ in range(3)] == [False, False, False]


def test_a_reservation_takes_the_preview_it_rests_on_and_another_comes_too_late(store: Store, other: Store) -> None:
    first, second = (each.outbox.prepare(a_send()) for each in (store, other))
    store.previews.remember(WORK, sha("hello"))
    reserved = store.outbox.reserve(first.send_id, takes_preview=True)
    assert (reserved.send.state, reserved.is_late) == (State.RESERVED, False)
    late = other.outbox.reserve(second.send_id, takes_preview=True)
    assert (late.send.send_id, late.send.state, late.is_late) == (second.send_id, State.CANCELLED, True)
    assert store.rate.status(WORK).used == 1


def test_a_preview_stays_where_nothing_is_reserved_or_nothing_rests_on_it(store: Store) -> None:
    held = brought_to(store, State.HELD, KEYED)
    store.previews.remember(WORK, sha("hello"))
    again = store.outbox.reserve(store.outbox.prepare(KEYED).send_id, takes_preview=True)
    assert (again.send, again.replayed) == (held, True)
    store.outbox.reserve(store.outbox.prepare(a_send()).send_id)
    while not store.rate.status(WORK).retry_after:
        store.outbox.reserve(store.outbox.prepare(a_send("other")).send_id)
    with pytest.raises(RateLimited):
        store.outbox.reserve(store.outbox.prepare(a_send()).send_id, takes_preview=True)
    assert store.previews.is_valid(WORK, sha("hello"))


ANSWERED = [State.HELD, State.ACCEPTED, State.DONE, State.RETRYABLE, State.UNKNOWN, State.RECONCILING]


@pytest.mark.parametrize("state", [*ANSWERED, State.NEEDS_HUMAN, State.DROPPED])
def test_a_repeated_key_answers_with_the_first_send(store: Store, other: Store, state: State) -> None:
    first = brought_to(store, state, KEYED)
    repeated = other.outbox.prepare(KEYED)
    assert other.outbox.reserve(repeated.send_id).send == first
    assert other.outbox.get(repeated.send_id).state is State.CANCELLED
    assert store.rate.status(WORK).used == 1
    assert other.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) == first


@pytest.mark.parametrize("state", [State.RESERVED, State.STAGED, State.SENDING])
def test_a_key_whose_send_is_in_progress_is_a_conflict_for_now(store: Store, other: Store, state: State) -> None:
    first = brought_to(store, state, KEYED)
    repeated = other.outbox.prepare(KEYED)
    with pytest.raises(Conflict, match="in progress") as caught:
        other.outbox.reserve(repeated.send_id)
    assert caught.value.retry_after == 5
    assert caught.value.details == {"send_id": first.send_id, "state": state.value}
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


@pytest.mark.parametrize("end", [State.REJECTED, State.EXPIRED])
def test_a_key_whose_send_was_refused_or_never_approved_is_free_again(store: Store, end: State) -> None:
    brought_to(store, end, KEYED)
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) is None
    assert not reserve(store, KEYED)[1]


def test_a_key_stays_with_a_send_that_may_have_left_although_a_later_attempt_was_refused(store: Store) -> None:
    send = brought_to(store, State.NEEDS_HUMAN, KEYED)
    store.outbox.resolve(send.send_id, "resend")
    for before, to in ((State.RETRYABLE, State.SENDING), (State.SENDING, State.REJECTED)):
        send = store.outbox.advance(send.send_id, expect=before, to=to)
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) == send
    assert reserve(store, KEYED) == (send, True)


@pytest.mark.parametrize("state", [State.HELD, State.AWAITING_APPROVAL, State.APPROVED, State.RETRYABLE])
def test_a_key_stays_with_a_send_that_somebody_stopped(store: Store, state: State) -> None:
    send = brought_to(store, state, KEYED)
    stopped = store.outbox.cancel(send.send_id)
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) == stopped
    assert reserve(store, KEYED) == (stopped, True)


@pytest.mark.parametrize("state", [State.AWAITING_APPROVAL, State.RESERVED, State.STAGED])
def test_a_key_whose_send_was_withdrawn_is_free_again(store: Store, state: State) -> None:
    send = brought_to(store, state, KEYED)
    assert store.outbox.withdraw(send.send_id).state is State.CANCELLED
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) is None


BEFORE_SENDING = {State.PREPARED, State.AWAITING_APPROVAL, State.RESERVED, State.STAGED}


@pytest.mark.parametrize("state", sorted(set(State) - BEFORE_SENDING))
def test_what_was_promised_is_not_withdrawn(store: Store, state: State) -> None:
    send = brought_to(store, state)
    with pytest.raises(Conflict):
        store.outbox.withdraw(send.send_id)
    assert store.outbox.get(send.send_id) == send


def test_a_send_that_nobody_works_on_answers_for_its_key(store: Store) -> None:
    send = brought_to(store, State.RESERVED, KEYED)
    store.worklist.release(send.send_id, wake_at=store.clock.wall() + 60, reason="dev mode")
    found = store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256)
    assert found is not None
    assert (found.send_id, found.outcome) == (send.send_id, {"reason": "dev mode"})


def test_an_undo_window_begins_with_the_reservation_and_a_schedule_needs_none(store: Store, time: FakeTime) -> None:
    plain, scheduled = store.outbox.prepare(a_send()), store.outbox.prepare(a_send(not_before=time.wall + 900))
    time.passes(300)
    assert store.outbox.reserve(plain.send_id, hold_until=time.wall + 30).send.not_before == time.wall + 30
    assert store.outbox.reserve(scheduled.send_id, hold_until=time.wall + 30).send.not_before == time.wall + 600


def test_keys_survive_a_restart_for_thirty_days(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock())
    first = brought_to(store, State.DONE, KEYED)
    store.close()
    time.passes(30 * A_DAY)
    time.reboots()
    store = open_store(path, clock=time.clock())
    forget(store, time)
    assert reserve(store, KEYED) == (first, True)
    forget(store, time)
    assert not reserve(store, KEYED)[1]
    store.close()


def test_a_key_is_kept_for_thirty_days_to_the_second(store: Store, time: FakeTime) -> None:
    first = brought_to(store, State.DONE, KEYED)
    time.passes(30 * A_DAY)
    assert reserve(store, KEYED) == (first, True)
    time.passes(1)
    assert not reserve(store, KEYED)[1]


def test_a_reboot_with_a_clock_set_forward_frees_no_key(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock())
    first = brought_to(store, State.DONE, KEYED)
    store.close()
    time.reboots()
    time.is_set(40 * A_DAY)
    store = open_store(path, clock=time.clock())
    store.prune()
    time.passes(3000)
    assert reserve(store, KEYED) == (first, True)
    time.is_set(-40 * A_DAY)  # somebody has corrected it
    time.passes(28 * A_DAY)
    forget(store, time)
    assert reserve(store, KEYED) == (first, True)
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


def test_a_key_is_kept_as_long_as_its_own_send_says_whoever_clears_up(path: Path, time: FakeTime) -> None:
    """Two dialects on one state file: ten minutes for one of them, a month for the other."""
    store, usual = open_store(path, clock=time.clock()), open_store(path, clock=time.clock())
    brought_to(store, State.DONE, a_send(idempotency_key="short", key_seconds=600.0))
    kept = brought_to(usual, State.DONE, a_send(idempotency_key="long"))
    time.passes(600)
    assert reserve(usual, a_send(idempotency_key="short"))[1]
    time.passes(1)
    for one in (store, usual):
        one.prune()
    assert not reserve(usual, a_send(idempotency_key="short"))[1]
    assert reserve(store, a_send(idempotency_key="long", key_seconds=600.0)) == (kept, True)
    store.close()
    usual.close()


def test_no_send_can_have_its_key_forgotten_before_ten_minutes(store: Store, time: FakeTime) -> None:
    brought_to(store, State.DONE, a_send(idempotency_key="k", key_seconds=1.0))
    time.passes(600)
    assert reserve(store, a_send(idempotency_key="k"))[1]


def test_a_key_is_kept_as_long_as_its_send_is_open(store: Store, time: FakeTime) -> None:
    held = brought_to(store, State.HELD, KEYED)
    time.passes(99 * A_DAY)
    forget(store, time)
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


def test_a_full_window_changes_nothing(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock(), limit=RateLimit(1))
    reserve(store, a_send("first"))
    send = brought_to(store, State.APPROVED, KEYED)
    with pytest.raises(RateLimited) as caught:
        store.outbox.reserve(send.send_id)
    assert store.outbox.get(send.send_id) == send
    assert store.approvals.get(send.approval_id).state == "approved"
    assert store.keys.look_up(WORK, "send_email", "key-1", KEYED.content_sha256) == send
    assert caught.value.retry_after
    time.passes(caught.value.retry_after)
    assert store.outbox.reserve(send.send_id).send.state is State.RESERVED
    store.close()


@pytest.mark.parametrize("state", [State.AWAITING_APPROVAL, State.DONE])
@pytest.mark.parametrize("content", ["hello", "other words"])
def test_nobody_is_asked_about_a_key_that_stands_for_another_send(store: Store, state: State, content: str) -> None:
    first = brought_to(store, state, KEYED)
    repeated = store.outbox.prepare(a_send(content, idempotency_key="key-1"))
    with pytest.raises(Conflict):
        store.approvals.request(repeated.send_id, expires_at=store.clock.wall() + A_DAY)
    assert store.outbox.get(repeated.send_id) == repeated
    assert store.keys.holder(WORK, "send_email", "key-1") == first
