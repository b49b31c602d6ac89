from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.kit import A_DAY, PATHS, WORK, FakeTime, a_send, brought_to, forget, one_step, sha
from tests.unit.store.test_transitions import IS, WAYS, WHY_NOT

from postroom.model.errors import Conflict, InternalError, InvalidRequest, NotFound
from postroom.model.ids import Kind, is_handle
from postroom.store import RateLimit, Send, State, Store, open_store


@pytest.fixture
def store(path: Path, time: FakeTime) -> Iterator[Store]:
    opened = open_store(path, clock=time.clock(), limit=RateLimit(1000))
    yield opened
    opened.close()


@pytest.mark.parametrize("state", State)
def test_the_events_tell_the_whole_way(store: Store, state: State) -> None:
    send = brought_to(store, state)
    assert [event.state for event in store.outbox.events(send.send_id)] == [State.PREPARED, *PATHS[state]]


def test_a_prepared_send_is_frozen_as_it_was_given(store: Store, time: FakeTime) -> None:
    new = a_send(idempotency_key="k", not_before=time.wall + 60, thread_ref="t1", save_to_sent=False)
    send = store.outbox.prepare(new)
    assert is_handle(send.send_id, Kind.SEND)
    for name in ("account", "tool", "kind", "content_sha256", "sender", "recipients", "message_id", "thread_ref"):
        assert getattr(send, name) == getattr(new, name)
    assert (send.save_to_sent, send.not_before, send.idempotency_key) == (False, time.wall + 60, "k")
    assert (send.state, send.attempt, send.outcome, send.created_at) == (State.PREPARED, 0, None, time.wall)
    request = store.outbox.request(send.send_id)
    assert (request.raw, request.message_id, request.attempt_id) == (new.raw, new.message_id, send.send_id)
    assert (request.envelope.sender, request.envelope.recipients) == (new.sender, new.recipients)
    assert (request.thread_ref, request.draft_ref, request.save_to_sent) == ("t1", "", False)


def test_advance_wants_the_send_where_it_is_expected(store: Store) -> None:
    send = brought_to(store, State.STAGED)
    with pytest.raises(Conflict, match="cannot be sent now: it is waiting to be sent"):
        store.outbox.advance(send.send_id, expect=State.RETRYABLE, to=State.SENDING)
    assert store.outbox.advance(send.send_id, expect={State.RETRYABLE, State.STAGED}, to=State.SENDING).attempt == 1


@pytest.mark.parametrize("to", [State.AWAITING_APPROVAL, State.APPROVED, State.RESERVED, State.EXPIRED])
def test_advance_opens_no_door_past_a_reservation_or_a_person(store: Store, to: State) -> None:
    for state in State:
        send = brought_to(store, state)
        with pytest.raises(InternalError, match=f"A send cannot be moved to {to.value} by advance"):
            store.outbox.advance(send.send_id, expect=state, to=to)
        assert store.outbox.get(send.send_id) == send


def test_what_was_frozen_cannot_be_changed_on_the_way(store: Store) -> None:
    send = brought_to(store, State.RESERVED)
    with pytest.raises(AssertionError):
        store.outbox.advance(send.send_id, expect=State.RESERVED, to=State.STAGED, recipients="[]")  # type: ignore[call-arg]
    assert store.outbox.get(send.send_id) == send


def test_what_a_step_learns_is_kept_with_it(store: Store, time: FakeTime) -> None:
    send = brought_to(store, State.RESERVED)
    store.outbox.advance(send.send_id, expect=State.RESERVED, to=State.STAGED, staged_ref="d7")
    store.outbox.advance(send.send_id, expect=State.STAGED, to=State.SENDING)
    time.passes(3)
    outcome = {"accepted": ["bob@example.org"], "message_ref": "9"}
    accepted = store.outbox.advance(send.send_id, expect=State.SENDING, to=State.ACCEPTED, outcome=outcome)
    assert (accepted.staged_ref, accepted.outcome) == ("d7", outcome)
    assert accepted.updated_at == send.updated_at + 3
    done = store.outbox.advance(send.send_id, expect=State.ACCEPTED, to=State.DONE)
    assert done.outcome == outcome


def test_each_submission_counts_as_an_attempt(store: Store) -> None:
    send = brought_to(store, State.RETRYABLE)
    again = store.outbox.advance(send.send_id, expect=State.RETRYABLE, to=State.SENDING)
    assert again.attempt == 2
    assert [event.attempt for event in store.outbox.events(send.send_id)] == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize("state", State)
def test_the_bytes_are_kept_while_they_may_still_leave_and_no_longer(store: Store, state: State) -> None:
    send = brought_to(store, state)
    if state in FORGOTTEN:
        with pytest.raises(Conflict, match=f"cannot be sent now: it {IS.get(state, f'is {state.value}')}"):
            store.outbox.request(send.send_id)
    else:
        assert store.outbox.request(send.send_id).raw == a_send().raw


def brought_along(store: Store, words: str, **fields: Any) -> Send:
    """Along the states of these words, the last of which it was stopped in; with * it is staged and its ref known."""
    send = store.outbox.prepare(a_send(**fields))
    for word in words.split():
        if word in ("drop", "resend"):
            store.outbox.resolve(send.send_id, word)  # type: ignore[arg-type]
        elif word == "*":
            store.outbox.note_staged(send.send_id, "d7")
        else:
            one_step(store, send.send_id, State(word))
    return store.outbox.get(send.send_id)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("words", "is_left"),
    [
        ("cancelled", False),
        ("reserved cancelled", False),
        ("reserved staged cancelled", True),
        ("reserved staged needs_human drop", True),
        ("reserved needs_human drop", False),
        ("reserved needs_human resend cancelled", True),
        ("reserved needs_human resend needs_human drop", True),
        ("reserved needs_human resend sending rejected", False),
        ("reserved staged sending rejected", False),
        ("reserved staged sending retryable cancelled", False),
        ("reserved staged sending retryable needs_human drop", False),
        ("reserved staged sending unknown reconciling needs_human drop", False),
        ("reserved staged sending unknown reconciling needs_human resend cancelled", True),
    ],
)
def test_a_send_that_was_stopped_when_it_could_be_staged_is_looked_after_until_it_is_not(
    store: Store, words: str, is_left: bool, native: bool
) -> None:
    is_left &= not native
    send = brought_along(store, words, native=native)
    assert store.outbox.may_be_staged(send.send_id) is is_left
    assert [left.send_id for left in store.outbox.left_staged()] == [send.send_id] * is_left
    if is_left:
        assert store.outbox.request(send.send_id).raw == a_send().raw
    store.outbox.nothing_staged(send.send_id)
    assert store.outbox.left_staged() == []
    with pytest.raises(Conflict):
        store.outbox.request(send.send_id)


@pytest.mark.parametrize(
    "words",
    [
        "reserved staged * cancelled",
        "reserved staged * sending rejected",
        "reserved staged * sending retryable cancelled",
        "reserved staged * sending unknown reconciling needs_human drop",
    ],
)
def test_what_is_known_to_be_staged_is_looked_after_with_its_bytes(store: Store, words: str) -> None:
    send = brought_along(store, words)
    assert [(left.send_id, left.staged_ref) for left in store.outbox.left_staged()] == [(send.send_id, "d7")]
    assert store.outbox.request(send.send_id).raw == a_send().raw
    store.outbox.nothing_staged(send.send_id)
    assert (store.outbox.left_staged(), store.outbox.get(send.send_id).staged_ref) == ([], "")


def test_what_is_staged_after_its_send_was_over_is_looked_after_too(store: Store) -> None:
    send = brought_along(store, "reserved staged cancelled")
    store.outbox.nothing_staged(send.send_id)
    store.outbox.note_staged(send.send_id, "d7")
    assert [left.staged_ref for left in store.outbox.left_staged()] == ["d7"]


@pytest.mark.parametrize(("verdict", "ref"), [("resend", ""), ("sent", "d7"), ("drop", "d7")])
def test_what_is_staged_for_a_send_is_looked_for_anew_only_when_it_is_to_be_sent_again(
    store: Store, verdict: str, ref: str
) -> None:
    send = brought_along(store, "reserved staged * sending unknown reconciling needs_human")
    resolved = store.outbox.resolve(send.send_id, verdict)  # type: ignore[arg-type]
    assert (resolved.staged_ref, store.outbox.may_be_staged(send.send_id)) == (ref, True)


def test_what_was_sent_is_cleared_by_nobody(store: Store) -> None:
    send = brought_along(store, "reserved staged * sending accepted done")
    assert store.outbox.left_staged() == []
    with pytest.raises(Conflict):
        store.outbox.request(send.send_id)


def test_what_could_not_be_cleared_is_put_off_and_only_so_many_are_looked_after_at_once(
    store: Store, time: FakeTime
) -> None:
    sends = [store.outbox.cancel(brought_to(store, State.STAGED).send_id) for _ in range(12)]
    assert len(store.outbox.left_staged()) == 10
    assert len(store.outbox.left_staged(limit=11)) == 11
    for send in sends:
        store.outbox.put_off_clearing(send.send_id, send.updated_at + 5)
    time.passes(4.5)
    assert store.outbox.left_staged() == []
    time.passes(0.5)
    assert len(store.outbox.left_staged(limit=20)) == 12


@pytest.mark.parametrize("state", State)
def test_a_send_is_cancelled_unless_it_may_have_left(store: Store, state: State) -> None:
    send = brought_to(store, state)
    if (state.value, "cancelled") in WAYS:
        assert store.outbox.cancel(send.send_id).state is State.CANCELLED
    else:
        with pytest.raises(Conflict, match=f"cannot be cancelled: it {WHY_NOT.get(state, f'is {state.value}')}"):
            store.outbox.cancel(send.send_id)
        assert store.outbox.get(send.send_id) == send


@pytest.mark.parametrize(
    ("verdict", "state"), [("sent", State.ACCEPTED), ("resend", State.RETRYABLE), ("drop", State.DROPPED)]
)
def test_a_person_settles_what_nobody_else_could(store: Store, verdict: str, state: State) -> None:
    send = brought_to(store, State.NEEDS_HUMAN)
    resolved = store.outbox.resolve(send.send_id, verdict)  # type: ignore[arg-type]
    assert (resolved.state, resolved.outcome, resolved.doubtful) == (state, {"decided": verdict}, True)


def test_what_surely_did_not_leave_is_cancelled_when_a_person_drops_it(store: Store) -> None:
    held = brought_to(store, State.HELD)
    told = {"reason": "no longer allowed"}
    asked = store.outbox.advance(held.send_id, expect=State.HELD, to=State.NEEDS_HUMAN, outcome=told)
    assert not asked.doubtful
    assert store.outbox.request(held.send_id).raw == a_send().raw
    assert store.outbox.resolve(held.send_id, "drop").state is State.CANCELLED


def test_what_some_have_got_is_not_called_unsent_when_a_person_drops_it(store: Store) -> None:
    send = brought_to(store, State.RETRYABLE)
    got = {"accepted": ["bob@example.org"]}
    store.outbox.advance(send.send_id, expect=State.RETRYABLE, to=State.NEEDS_HUMAN, outcome=got)
    assert store.outbox.resolve(send.send_id, "drop").state is State.DROPPED


def test_a_doubt_stays_with_a_send_whatever_comes_after(store: Store) -> None:
    send = brought_to(store, State.NEEDS_HUMAN, a_send(idempotency_key="k"))
    store.outbox.resolve(send.send_id, "resend")
    stopped = store.outbox.cancel(send.send_id)
    assert (stopped.state, stopped.doubtful, stopped.may_have_left) == (State.CANCELLED, True, True)
    assert store.outbox.latest(WORK, "send_email", sha("hello")) == stopped
    assert store.keys.look_up(WORK, "send_email", "k", sha("hello")) == stopped


def test_what_did_not_leave_is_listed_for_a_week_unless_somebody_stopped_it(store: Store, time: FakeTime) -> None:
    sends = {state: brought_to(store, state) for state in State}
    in_part = brought_to(store, State.SENDING)
    told = {"accepted": ["a@example.org"], "refused": {"b@example.org": "550"}}
    store.outbox.advance(in_part.send_id, expect=State.SENDING, to=State.ACCEPTED, outcome=told)
    store.outbox.advance(in_part.send_id, expect=State.ACCEPTED, to=State.DONE)
    open_ids = {send.send_id for state, send in sends.items() if state not in FORGOTTEN}
    ended = {sends[state].send_id for state in (State.REJECTED, State.EXPIRED, State.DROPPED)} | {in_part.send_id}
    assert {send.send_id for send in store.outbox.list_open(limit=99).items} == open_ids | ended
    time.passes(7 * A_DAY - 1)
    assert {send.send_id for send in store.outbox.list_open(limit=99).items} == open_ids | ended
    time.passes(1)
    page = store.outbox.list_open(limit=5)
    assert (page.total, len(page.items), page.has_more) == (len(open_ids), 5, True)
    assert store.outbox.list_open(account="nobody").total == 0


def test_a_draft_that_went_into_a_send_is_known_until_the_send_is_over(store: Store) -> None:
    assert store.outbox.of_draft(WORK, "") is None
    for state in State:
        send = brought_to(store, state, a_send(draft_ref=state.value))
        on_its_way = state not in (State.PREPARED, *FORGOTTEN)
        assert store.outbox.of_draft(WORK, state.value) == (send if on_its_way else None)
        assert store.outbox.of_draft("home", state.value) is None


def test_a_question_is_found_again_by_content_and_key_while_it_waits(store: Store) -> None:
    asked = store.outbox.prepare(a_send(idempotency_key="k"))
    find = store.outbox.asked_about
    assert find(WORK, "send_email", sha("hello"), "k") == asked
    assert find(WORK, "send_email", sha("hello"), "") is None
    assert find(WORK, "send_email", sha("other"), "k") is None
    assert find(WORK, "reply_email", sha("hello"), "k") is None
    assert find("home", "send_email", sha("hello"), "k") is None
    store.outbox.withdraw(asked.send_id)
    assert find(WORK, "send_email", sha("hello"), "k") is None


def test_of_two_open_questions_about_the_same_the_newer_is_found_by_time_and_then_by_order(
    store: Store, time: FakeTime
) -> None:
    store.outbox.prepare(a_send())
    second = store.outbox.prepare(a_send())
    find = store.outbox.asked_about
    assert find(WORK, "send_email", sha("hello"), "") == second
    time.wall -= 10  # a clock that was set back
    store.outbox.prepare(a_send())
    assert find(WORK, "send_email", sha("hello"), "") == second


@pytest.mark.parametrize("state", sorted(set(State) - {State.NEEDS_HUMAN}))
def test_a_person_settles_nothing_else(store: Store, state: State) -> None:
    send = brought_to(store, state)
    with pytest.raises(Conflict, match="cannot be marked as sent: it "):
        store.outbox.resolve(send.send_id, "sent")
    assert store.outbox.get(send.send_id) == send


def test_what_one_process_asked_about_is_reserved_once_by_whichever_hears_the_answer(
    store: Store, other: Store
) -> None:
    prepared = store.outbox.prepare(a_send())
    assert other.outbox.reserve(prepared.send_id).send.state is State.RESERVED
    with pytest.raises(Conflict):
        store.outbox.reserve(prepared.send_id)


def test_a_send_another_worker_holds_is_left_to_it(store: Store, other: Store) -> None:
    send = brought_to(store, State.STAGED)
    with pytest.raises(Conflict, match="Another process"):
        other.outbox.advance(send.send_id, expect=State.STAGED, to=State.SENDING)
    approved = brought_to(store, State.APPROVED)
    assert [due.send_id for due in store.worklist.due()] == [approved.send_id]
    with pytest.raises(Conflict, match="Another process"):
        other.outbox.reserve(approved.send_id)
    assert other.outbox.cancel(send.send_id).state is State.CANCELLED
    with pytest.raises(Conflict):
        store.outbox.advance(send.send_id, expect=State.STAGED, to=State.SENDING)


def test_unknown_sends_say_where_to_look(store: Store) -> None:
    for call in (store.outbox.get, store.outbox.request, store.outbox.events, store.outbox.cancel):
        with pytest.raises(NotFound, match="list_outbox"):
            call("s0123456789")
        with pytest.raises(InvalidRequest, match="is an email id"):
            call("e0123456789")


def test_sends_are_listed_newest_first_by_account_and_state(store: Store, time: FakeTime) -> None:
    made = []
    for number in range(5):
        made.append(store.outbox.prepare(a_send(str(number), account="home" if number == 2 else WORK)).send_id)
        time.passes(number % 2)  # some share a second
    store.outbox.cancel(made[1])
    everything = store.outbox.list()
    assert [send.send_id for send in everything.items] == made[::-1]
    assert (everything.total, everything.has_more) == (5, False)
    page = store.outbox.list(account=WORK, states=[State.PREPARED], limit=2, offset=1)
    assert [send.send_id for send in page.items] == [made[3], made[0]]
    assert (page.total, page.has_more) == (3, False)
    assert store.outbox.list(limit=2).has_more


def test_the_latest_send_of_some_content_is_found_unless_it_never_went_out(store: Store, time: FakeTime) -> None:
    assert store.outbox.latest(WORK, "send_email", sha("hello")) is None
    first = brought_to(store, State.DONE)
    time.passes(1)
    second = brought_to(store, State.AWAITING_APPROVAL)
    assert store.outbox.latest(WORK, "send_email", sha("hello")) == second
    store.outbox.cancel(second.send_id)
    assert store.outbox.latest(WORK, "send_email", sha("hello")) == first
    assert store.outbox.latest(WORK, "reply_email", sha("hello")) is None
    assert store.outbox.latest("home", "send_email", sha("hello")) is None


def test_of_two_sends_of_one_content_the_newer_is_the_latest_by_time_and_then_by_order(
    store: Store, time: FakeTime
) -> None:
    brought_to(store, State.DONE)
    second = brought_to(store, State.DONE)
    assert store.outbox.latest(WORK, "send_email", sha("hello")) == second
    time.is_set(-10)
    brought_to(store, State.DONE)
    assert store.outbox.latest(WORK, "send_email", sha("hello")) == second


@pytest.mark.parametrize("state", State)
def test_an_open_question_and_what_ended_unsent_are_no_earlier_send(store: Store, state: State) -> None:
    send = brought_to(store, state)
    never = {State.PREPARED, State.REJECTED, State.CANCELLED, State.EXPIRED}
    assert store.outbox.latest("work", "send_email", send.content_sha256) == (None if state in never else send)


def test_finished_sends_are_forgotten_after_thirty_days_and_open_ones_never(store: Store, time: FakeTime) -> None:
    kept = [brought_to(store, state) for state in State if state not in (State.PREPARED, *FORGOTTEN)]
    gone = [brought_to(store, state) for state in (State.PREPARED, *FORGOTTEN)]
    time.passes(30 * A_DAY)
    forget(store, time)
    assert store.outbox.list(limit=0).total == len(State)
    time.passes(1)
    forget(store, time)
    assert {send.send_id for send in store.outbox.list(limit=99).items} == {send.send_id for send in kept}
    with store._database.read() as connection:
        for table in ("outbox_raw", "outbox_events", "approvals"):
            rows = {row["send_id"] for row in connection.execute(f"SELECT send_id FROM {table}")}
            assert not rows & {send.send_id for send in gone}


FORGOTTEN = (State.DONE, State.REJECTED, State.CANCELLED, State.EXPIRED, State.DROPPED)


def test_a_finished_send_is_kept_as_long_as_a_key_stands_for_it(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock(), key_seconds=90 * A_DAY)
    send = brought_to(store, State.DONE, a_send(idempotency_key="k"))
    time.passes(60 * A_DAY)
    forget(store, time)
    assert store.keys.look_up(WORK, "send_email", "k", send.content_sha256) == send
    time.passes(30 * A_DAY)
    forget(store, time)
    assert store.keys.look_up(WORK, "send_email", "k", send.content_sha256) is None
    with pytest.raises(NotFound):
        store.outbox.get(send.send_id)
    store.close()


def test_the_kit_knows_a_way_to_every_state(store: Store) -> None:
    assert set(PATHS) == set(State)
    send = store.outbox.prepare(a_send())
    one_step(store, send.send_id, State.RESERVED)
    assert store.outbox.get(send.send_id).state is State.RESERVED


def test_a_page_holds_twenty_unless_more_are_asked_for(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock(), limit=RateLimit(99))
    for number in range(21):
        brought_to(store, State.HELD, a_send(str(number)))
    for page in (store.outbox.list(), store.outbox.list_open()):
        assert (len(page.items), page.total, page.limit, page.offset, page.has_more) == (20, 21, 20, 0, True)
    store.close()


def test_what_other_sends_of_the_account_became_is_known_by_the_providers_refs(store: Store) -> None:
    def accepted(ref: str, **fields: Any) -> Send:
        send = brought_to(store, State.SENDING, a_send(ref, **fields))
        told = {"message_ref": ref}
        return store.outbox.advance(send.send_id, expect=State.SENDING, to=State.ACCEPTED, outcome=told)

    own = accepted("own")
    accepted("second")
    accepted("")
    accepted("elsewhere", account="home")
    assert store.outbox.sent_refs(WORK, without=own.send_id) == {"second"}
