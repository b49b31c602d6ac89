from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.kit import A_DAY, FakeTime, a_send, brought_to

from postroom.model.errors import Conflict, NotFound
from postroom.store import RateLimit, State, Store, open_store

WAITING = {State.APPROVED, State.HELD, State.RETRYABLE, State.UNKNOWN}
HELD_BY_A_WORKER = {State.RESERVED, State.STAGED, State.RECONCILING, State.ACCEPTED}


def claimed(store: Store, now: float | None = None) -> set[str]:
    return {send.send_id for send in store.worklist.due(now, limit=99)}


@pytest.mark.parametrize("state", State)
def test_only_what_waits_for_a_worker_is_claimed(store: Store, other: Store, state: State) -> None:
    send = brought_to(store, state)
    assert claimed(other) == ({send.send_id} if state in WAITING else set())
    assert claimed(store) == set()
    assert store.outbox.get(send.send_id).state is state


def test_a_held_send_is_due_when_its_time_has_come(store: Store, time: FakeTime) -> None:
    later = brought_to(store, State.HELD, a_send(not_before=time.wall + 60))
    assert claimed(store) == set()
    assert claimed(store, now=time.wall + 59.9) == set()
    time.passes(60)
    assert claimed(store) == {later.send_id}
    assert later.wake_at == later.not_before


def test_nothing_leaves_before_its_time(store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.STAGED, a_send(not_before=time.wall + 60))
    with pytest.raises(Conflict):
        store.outbox.advance(send.send_id, expect=State.STAGED, to=State.SENDING)
    assert store.outbox.get(send.send_id) == send
    time.passes(60)
    assert store.outbox.advance(send.send_id, expect=State.STAGED, to=State.SENDING).attempt == 1


def test_the_step_itself_may_say_when_to_look_again(store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.SENDING)
    store.outbox.advance(send.send_id, expect=State.SENDING, to=State.RETRYABLE, wake_at=time.wall + 30)
    assert claimed(store) == set()
    time.passes(30)
    assert claimed(store) == {send.send_id}


def test_the_longest_waiting_come_first_and_not_all_at_once(store: Store, time: FakeTime) -> None:
    sends = [brought_to(store, State.HELD, a_send(not_before=time.wall + delay)).send_id for delay in (30, 10, 20)]
    time.passes(60)
    assert [send.send_id for send in store.worklist.due(limit=2)] == [sends[1], sends[2]]
    assert [send.send_id for send in store.worklist.due(limit=2)] == [sends[0]]


def test_a_claimed_send_can_be_put_back_for_later(store: Store, other: Store, time: FakeTime) -> None:
    send = brought_to(store, State.APPROVED)
    assert claimed(store) == {send.send_id}
    other.worklist.release(send.send_id)
    assert claimed(other) == set()
    store.worklist.release(send.send_id, wake_at=time.wall + 5)
    assert store.outbox.get(send.send_id).outcome is None
    assert claimed(other) == set()
    time.passes(5)
    assert claimed(other) == {send.send_id}
    with pytest.raises(NotFound):
        store.worklist.release("s0123456789")


def test_of_equally_urgent_ones_the_oldest_comes_first(store: Store, time: FakeTime) -> None:
    sends = []
    for _ in range(3):
        sends.append(brought_to(store, State.APPROVED).send_id)
        time.passes(1)
    assert [send.send_id for send in store.worklist.due()] == sends


def test_a_send_that_is_put_back_at_once_keeps_its_place(store: Store, time: FakeTime) -> None:
    older = brought_to(store, State.APPROVED).send_id
    time.passes(1)
    newer = brought_to(store, State.APPROVED).send_id
    assert [send.send_id for send in store.worklist.due(limit=1)] == [older]
    store.worklist.release(older)
    assert [send.send_id for send in store.worklist.due()] == [older, newer]


def test_ten_are_claimed_at_a_time(store: Store) -> None:
    for number in range(11):
        brought_to(store, State.APPROVED, a_send(str(number)))
    assert len(store.worklist.due()) == 10
    assert len(store.worklist.due()) == 1


def test_a_send_that_is_leaving_is_not_put_back(store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.SENDING)
    store.worklist.release(send.send_id, wake_at=time.wall + 5)
    assert store.outbox.get(send.send_id) == send
    assert store.worklist.recover() == []
    assert [freed.state for freed in store.worklist.recover({send.send_id})] == [State.UNKNOWN]


def test_what_was_abandoned_is_freed_and_what_others_hold_is_not(store: Store, other: Store) -> None:
    ours, kept, theirs = (brought_to(one, State.RESERVED, a_send(str(number)))
                          for number, one in enumerate((store, store, other)))  # fmt: skip
    freed = store.worklist.recover({ours.send_id, theirs.send_id})
    assert [send.send_id for send in freed] == [ours.send_id]
    assert claimed(other) == {ours.send_id}
    assert store.outbox.get(kept.send_id) == kept


def test_work_of_the_living_is_not_recovered(store: Store, other: Store) -> None:
    before = [brought_to(store, state, a_send(account=state.value)) for state in State]
    assert other.worklist.recover() == []
    assert store.worklist.recover() == []
    assert [store.outbox.get(send.send_id) for send in before] == before


@pytest.fixture
def dead(path: Path, time: FakeTime, store: Store) -> dict[State, str]:
    """One send in every state, and their worker gone."""
    worker = open_store(path, clock=time.clock(), limit=RateLimit(99))
    sends = {state: brought_to(worker, state, a_send(state.value, idempotency_key=state.value)) for state in State}
    worker.close()
    return {state: send.send_id for state, send in sends.items()}


def test_after_a_death_every_send_under_way_is_unknown_and_the_rest_stands(
    store: Store, dead: dict[State, str]
) -> None:
    recovered = {send.send_id for send in store.worklist.recover()}
    assert recovered == {dead[state] for state in HELD_BY_A_WORKER | {State.SENDING, State.PREPARED}}
    for state, send_id in dead.items():
        now = {State.SENDING: State.UNKNOWN, State.PREPARED: State.CANCELLED}.get(state, state)
        assert store.outbox.get(send_id).state is now
    assert store.worklist.recover() == []


def test_after_a_death_the_work_goes_to_the_next_who_asks(store: Store, dead: dict[State, str]) -> None:
    store.worklist.recover()
    assert claimed(store) == {dead[state] for state in HELD_BY_A_WORKER | WAITING | {State.SENDING}}


def test_a_claimer_that_died_loses_its_claim(path: Path, store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.APPROVED)
    worker = open_store(path, clock=time.clock())
    assert claimed(worker) == {send.send_id}
    worker.close()
    assert claimed(store) == set()
    assert [freed.send_id for freed in store.worklist.recover()] == [send.send_id]
    assert claimed(store) == {send.send_id}


def test_a_dead_preparers_key_and_token_were_never_taken(store: Store, dead: dict[State, str]) -> None:
    store.worklist.recover()
    assert store.keys.look_up("work", "send_email", State.PREPARED.value, "x") is None


def test_a_schedule_of_years_does_not_block_what_comes_now(store: Store, time: FakeTime) -> None:
    brought_to(store, State.HELD, a_send(not_before=time.wall + 3650 * A_DAY))
    soon = brought_to(store, State.HELD)
    assert claimed(store) == {soon.send_id}


def test_a_question_can_be_answered_for_a_quarter_of_an_hour(store: Store, time: FakeTime) -> None:
    asked = store.outbox.prepare(a_send())
    time.passes(900)
    store.worklist.expire_questions()
    assert store.outbox.get(asked.send_id).state is State.PREPARED
    time.passes(1)
    store.worklist.expire_questions()
    assert store.outbox.get(asked.send_id).state is State.CANCELLED


def test_no_send_rests_longer_than_a_day_whatever_it_was_told(store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.RESERVED, a_send())
    store.worklist.release(send.send_id, wake_at=time.wall + 9 * 86_400)
    assert store.outbox.get(send.send_id).wake_at == time.wall + 86_400
    assert claimed(store) == set()
    time.passes(86_400)
    assert claimed(store) == {send.send_id}


def test_a_rest_begun_by_a_wrong_clock_is_over_and_a_schedule_is_kept_to_the_second(
    store: Store, time: FakeTime
) -> None:
    soon = brought_to(store, State.RESERVED)
    later = brought_to(store, State.RESERVED, a_send(not_before=time.wall + 60))
    time.is_set(99 * A_DAY)
    for send in (soon, later):
        store.worklist.release(send.send_id, wake_at=time.wall + 5)
    time.is_set(-99 * A_DAY)
    assert claimed(store) == {soon.send_id}
    assert claimed(store, now=time.wall + 59.9) == set()
    assert claimed(store, now=time.wall + 60) == {later.send_id}


def test_a_send_that_is_put_back_keeps_what_was_said_of_it_beside_the_new_reason(store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.SENDING)
    told = {"reason": "first", "login_refused": True}
    store.outbox.advance(send.send_id, expect=State.SENDING, to=State.RETRYABLE, outcome=told, wake_at=time.wall)
    assert claimed(store) == {send.send_id}
    store.worklist.release(send.send_id, wake_at=time.wall + 5, reason="second")
    assert store.outbox.get(send.send_id).outcome == {"reason": "second", "login_refused": True}
