"""How long an account rests whose login was refused, and what wakes it."""

from __future__ import annotations

import pytest
from tests.unit.store.kit import WORK, FakeTime, a_send, brought_to

from postroom.store import Send, State, Store
from postroom.store.sends.pauses import Pause


def waiting(store: Store, until: float, account: str = WORK) -> Send:
    send = brought_to(store, State.SENDING, a_send(account, account=account))
    return store.outbox.advance(send.send_id, expect=State.SENDING, to=State.RETRYABLE, wake_at=until)


def due(store: Store) -> list[str]:
    return [send.send_id for send in store.worklist.due()]


def test_a_refused_login_pauses_its_account_and_no_other(store: Store, other: Store, time: FakeTime) -> None:
    pause = store.pauses.login_refused(WORK, "535 no")
    assert pause == Pause(WORK, "535 no", time.wall, 1, time.wall + 900)
    assert other.pauses.of(WORK) == pause
    assert other.pauses.of("home") is None


def test_what_another_process_paused_and_resumed_is_noticed_by_the_next_look(store: Store, other: Store) -> None:
    assert [store.pauses.all(waits=False) for _ in range(2)] == [(), ()]
    other.pauses.login_refused(WORK, "535 no")
    assert [pause.account for pause in store.pauses.all(waits=False)] == [WORK]
    store.pauses.login_refused("home", "535 no")
    assert {pause.account for pause in store.pauses.all(waits=False)} == {WORK, "home"}
    other.pauses.login_worked(WORK)
    assert [pause.account for pause in store.pauses.all(waits=False)] == ["home"]


def test_each_refusal_doubles_the_pause_up_to_six_hours(store: Store, time: FakeTime) -> None:
    pauses = [store.pauses.login_refused(WORK, "535 no").probe_at - time.wall for _ in range(7)]
    assert pauses == [900, 1800, 3600, 7200, 14_400, 21_600, 21_600]


@pytest.mark.parametrize(("left", "lasts"), [(-1, False), (0, False), (1, True), (21_600, True), (21_601, False)])
def test_a_pause_lasts_until_its_end_and_never_longer_than_any_is(left: float, lasts: bool) -> None:
    assert Pause(WORK, "535 no", 1000.0, 1, 5000.0 + left).lasts(5000.0) is lasts


def test_many_refusals_are_no_trouble(store: Store, time: FakeTime) -> None:
    for _ in range(2):
        store.pauses.login_refused(WORK, "535 no")
    with store._database.transaction() as connection:
        connection.execute("UPDATE account_pauses SET failures = 5000")
    pause = store.pauses.login_refused(WORK, "535 no")
    assert (pause.failures, pause.probe_at) == (5001, time.wall + 21_600)


def test_a_pause_keeps_its_beginning_and_tells_the_last_reason(store: Store, time: FakeTime) -> None:
    began = time.wall
    store.pauses.login_refused(WORK, "535 no")
    time.passes(900)
    again = store.pauses.login_refused(WORK, "534 not here")
    assert again == Pause(WORK, "534 not here", began, 2, time.wall + 1800)
    assert store.pauses.all() == (again,)


def test_the_longest_paused_comes_first(store: Store, time: FakeTime) -> None:
    for account in ("b", "a", "c"):
        store.pauses.login_refused(account, "535 no")
        time.passes(1)
    assert [pause.account for pause in store.pauses.all()] == ["b", "a", "c"]


def test_a_login_that_works_ends_the_pause_and_wakes_what_waited_for_it(store: Store, time: FakeTime) -> None:
    ours, theirs = waiting(store, time.wall + 900), waiting(store, time.wall + 900, "home")
    assert store.pauses.login_worked(WORK) is False
    assert due(store) == []
    for account in (WORK, "home"):
        store.pauses.login_refused(account, "535 no")
    assert store.pauses.login_worked(WORK)
    assert [pause.account for pause in store.pauses.all()] == ["home"]
    assert due(store) == [ours.send_id]
    assert store.outbox.get(theirs.send_id) == theirs


@pytest.mark.parametrize("state", [State.RESERVED, State.HELD, State.STAGED, State.RECONCILING])
@pytest.mark.parametrize("end", ["login_worked", "try_soon"])
def test_the_end_of_a_pause_wakes_what_waits_for_it_in_whatever_state(
    store: Store, time: FakeTime, state: State, end: str
) -> None:
    send = brought_to(store, state, a_send(not_before=time.wall))
    store.worklist.due()
    store.pauses.login_refused(WORK, "535 no")
    store.worklist.release(send.send_id, wake_at=time.wall + 900)
    assert due(store) == []
    if end == "login_worked":
        store.pauses.login_worked(WORK)
    else:
        store.pauses.try_soon()
    assert due(store) == [send.send_id]


def test_a_login_that_works_hurries_nothing_that_waits_for_another_reason(store: Store, time: FakeTime) -> None:
    held = brought_to(store, State.HELD, a_send(not_before=time.wall + 60))
    store.pauses.login_refused(WORK, "535 no")
    assert store.pauses.login_worked(WORK)
    assert store.outbox.get(held.send_id) == held


def test_a_new_start_tries_every_paused_account_at_once(store: Store, time: FakeTime) -> None:
    ours, free = waiting(store, time.wall + 900), waiting(store, time.wall + 900, "home")
    held = brought_to(store, State.HELD, a_send("held", not_before=time.wall + 60))
    store.pauses.try_soon()
    assert due(store) == []
    store.pauses.login_refused(WORK, "535 no")
    store.pauses.try_soon()
    pause = store.pauses.of(WORK)
    assert pause is not None
    assert (pause.probe_at, pause.failures, pause.reason) == (0, 1, "535 no")
    assert due(store) == [ours.send_id]
    assert store.outbox.get(free.send_id) == free
    assert store.outbox.get(held.send_id) == held
