"""A saved draft goes into one send at a time, and what became of that is found."""

from __future__ import annotations

from typing import NoReturn

import pytest
from tests.unit.store.kit import A_DAY, WORK, a_send, brought_to

from postroom.model.errors import Conflict, InternalError
from postroom.store import State, Store
from postroom.store.sends.states import FINISHED

DRAFT = "draft-1"
ON_ITS_WAY = sorted(frozenset(State) - FINISHED - {State.PREPARED})
NEVER_SENT = {State.PREPARED, State.CANCELLED, State.EXPIRED, State.REJECTED}


@pytest.mark.parametrize("state", ON_ITS_WAY)
def test_a_draft_on_its_way_is_neither_reserved_nor_asked_about_again(store: Store, state: State) -> None:
    first = brought_to(store, state, a_send("now", draft_ref=DRAFT))
    second = store.outbox.prepare(a_send("later", draft_ref=DRAFT))
    for attempt in (
        lambda: store.outbox.reserve(second.send_id),
        lambda: store.approvals.request(second.send_id, expires_at=first.created_at + A_DAY),
    ):
        with pytest.raises(Conflict, match=f"already in the outbox as {first.send_id} \\({state.value}\\)") as refusal:
            attempt()
        assert refusal.value.reason == "draft_on_its_way"
        assert refusal.value.details == {"send_id": first.send_id, "state": state.value}
    assert store.outbox.get(second.send_id).state is State.PREPARED


@pytest.mark.parametrize("state", sorted(FINISHED | {State.PREPARED}))
def test_a_draft_whose_send_is_over_or_was_never_begun_is_free(store: Store, state: State) -> None:
    brought_to(store, state, a_send("now", draft_ref=DRAFT))
    second = store.outbox.prepare(a_send("later", draft_ref=DRAFT))
    assert store.outbox.reserve(second.send_id).send.state is State.RESERVED


def test_other_drafts_and_other_accounts_keep_nothing_waiting(store: Store) -> None:
    brought_to(store, State.HELD, a_send("now", draft_ref=DRAFT, account="home"))
    brought_to(store, State.HELD, a_send("now", draft_ref="draft-2"))
    second = store.outbox.prepare(a_send("later", draft_ref=DRAFT))
    assert store.outbox.reserve(second.send_id).send.state is State.RESERVED


@pytest.mark.parametrize("state", sorted(State))
def test_another_send_of_the_draft_that_may_have_gone_out_is_found(store: Store, state: State) -> None:
    first = brought_to(store, state, a_send("now", draft_ref=DRAFT))
    second = store.outbox.prepare(a_send("later", draft_ref=DRAFT))
    found = store.outbox.last_of_draft(WORK, DRAFT, without=second.send_id)
    assert found == (None if state in NEVER_SENT else first)


def test_of_several_the_last_is_found_and_none_of_another_draft_or_account(store: Store) -> None:
    sends = [brought_to(store, State.DONE, a_send(str(number), draft_ref=DRAFT)) for number in range(2)]
    brought_to(store, State.DONE, a_send("now", draft_ref="draft-2"))
    brought_to(store, State.DONE, a_send("now", draft_ref=DRAFT, account="home"))
    store.outbox.prepare(a_send("later", draft_ref=DRAFT))
    assert store.outbox.last_of_draft(WORK, DRAFT) == sends[1]
    assert store.outbox.last_of_draft(WORK, DRAFT, without=sends[1].send_id) == sends[0]
    assert store.outbox.of_draft(WORK, DRAFT) is None


def test_a_draft_that_another_process_has_in_hand_goes_into_no_send(store: Store, other: Store) -> None:
    assert other.draft_holds.take(WORK, [DRAFT, "draft-2"]) == frozenset()
    assert store.draft_holds.take(WORK, [DRAFT, "draft-3"]) == {DRAFT}
    assert other.draft_holds.take("home", [DRAFT]) == frozenset()
    prepared = store.outbox.prepare(a_send("now", draft_ref=DRAFT))
    for attempt in (
        lambda: store.outbox.reserve(prepared.send_id),
        lambda: store.approvals.request(prepared.send_id, expires_at=prepared.created_at + A_DAY),
    ):
        with pytest.raises(Conflict, match="by another process at this moment") as refusal:
            attempt()
        assert refusal.value.retry_after == 5.0
    assert other.draft_holds.take(WORK, ["draft-3"]) == {"draft-3"}
    other.draft_holds.drop(WORK, [DRAFT, "draft-2", "draft-3"])
    assert other.draft_holds.take(WORK, ["draft-3"]) == {"draft-3"}
    assert store.outbox.reserve(prepared.send_id).send.state is State.RESERVED


def test_a_draft_that_this_process_has_in_hand_can_be_sent_off(store: Store) -> None:
    store.draft_holds.take(WORK, [DRAFT])
    prepared = store.outbox.prepare(a_send("now", draft_ref=DRAFT))
    assert store.outbox.reserve(prepared.send_id).send.state is State.RESERVED


def test_what_a_process_died_over_is_free_and_forgotten(store: Store, other: Store) -> None:
    other.draft_holds.take(WORK, [DRAFT, "draft-2"])
    store.draft_holds.take(WORK, ["draft-3"])
    other.close()
    assert store.draft_holds.take(WORK, [DRAFT]) == frozenset()
    store.prune()
    with store._database.read() as connection:
        rows = connection.execute("SELECT draft_ref, owner FROM draft_holds ORDER BY 1").fetchall()
    assert list(map(tuple, rows)) == [(DRAFT, store._owner.name), ("draft-3", store._owner.name)]


@pytest.mark.parametrize("by_itself", [False, True])
def test_a_hold_that_could_not_be_dropped_is_dropped_with_the_next_or_within_the_hour(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch, by_itself: bool
) -> None:
    store.draft_holds.take(WORK, [DRAFT])
    with monkeypatch.context() as full:
        full.setattr(store._database, "transaction", failing)
        with pytest.raises(InternalError):
            store.draft_holds.drop(WORK, [DRAFT])
    assert other.draft_holds.take(WORK, [DRAFT]) == {DRAFT}
    if by_itself:
        store.prune()
    else:
        store.draft_holds.take(WORK, ["draft-2"])
        store.draft_holds.drop(WORK, ["draft-2"])
    assert other.draft_holds.take(WORK, [DRAFT]) == frozenset()


def failing(**_: object) -> NoReturn:
    raise InternalError("The disk is full.")
