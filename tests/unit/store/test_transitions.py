"""Every way between two states, and every refusal in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.store.kit import FakeTime, a_send, brought_to
from tests.unit.store.test_states import WAYS as TABLE

from postroom.model.errors import Conflict
from postroom.store import RateLimit, Send, State, Store, open_store
from postroom.store.sends.transitions import refused

WAYS = {(line.split()[0], to) for line in TABLE.split("\n") if line for to in line.split()[1:]}
WHY_NOT = {
    State.SENDING: "is being sent",
    State.ACCEPTED: "has already been sent",
    State.DONE: "has already been sent",
    State.UNKNOWN: "may have been sent",
    State.RECONCILING: "may have been sent",
    State.NEEDS_HUMAN: "needs a decision by a person",
    State.CANCELLED: "has already been cancelled",
    State.EXPIRED: "expired without approval",
}
IS = WHY_NOT | {
    State.PREPARED: "is not confirmed yet",
    State.AWAITING_APPROVAL: "is waiting for approval",
    State.RESERVED: "is waiting to be sent",
    State.STAGED: "is waiting to be sent",
    State.RETRYABLE: "is waiting to be retried",
}
MADE = {
    State.APPROVED: "approved",
    State.SENDING: "sent now",
    State.ACCEPTED: "marked as sent",
    State.RETRYABLE: "sent again",
    State.CANCELLED: "cancelled",
    State.DROPPED: "dropped",
}


@pytest.fixture
def store(path: Path, time: FakeTime) -> Iterator[Store]:
    opened = open_store(path, clock=time.clock(), limit=RateLimit(1000))
    yield opened
    opened.close()


def moved(store: Store, send: Send, to: State) -> Send:
    with store._database.transaction() as connection:
        return store.outbox._transitions.move(connection, send.send_id, set(State), to)


@pytest.mark.parametrize("state", State)
def test_every_way_of_the_table_is_open_and_every_other_is_closed(store: Store, state: State) -> None:
    for to in State:
        send = brought_to(store, state)
        assert send.state is state
        if (state.value, to.value) in WAYS:
            assert moved(store, send, to) == store.outbox.get(send.send_id)
            assert store.outbox.get(send.send_id).state is to
        else:
            events = store.outbox.events(send.send_id)
            with pytest.raises(Conflict) as refusal:
                moved(store, send, to)
            assert refusal.value.details == {"send_id": send.send_id, "state": state.value}
            assert (store.outbox.get(send.send_id), store.outbox.events(send.send_id)) == (send, events)


def test_a_refusal_says_what_cannot_be_done_and_where_the_send_is(store: Store) -> None:
    send = store.outbox.prepare(a_send())
    for state in State:
        made, at = MADE.get(state, f"moved to {state.value}"), IS.get(state, f"is {state.value}")
        refusal = refused(replace(send, state=state), state)
        assert refusal.message == (
            f"The send {send.send_id} cannot be {made}: it {at}. Call list_outbox to see its state."
        )


@pytest.mark.parametrize("state", State)
def test_what_no_schedule_holds_back_rests_in_no_state(store: Store, state: State) -> None:
    assert brought_to(store, state).wake_at == 0


@pytest.mark.parametrize("to", [State.ACCEPTED, State.RETRYABLE, State.NEEDS_HUMAN])
def test_a_doubt_is_left_only_where_looking_for_the_message_settled_nothing(store: Store, to: State) -> None:
    send = brought_to(store, State.RECONCILING)
    assert store.outbox.advance(send.send_id, expect=State.RECONCILING, to=to).doubtful is (to is State.NEEDS_HUMAN)
