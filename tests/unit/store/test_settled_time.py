"""What is forgotten for good: not because a clock was wrong for a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.kit import A_DAY, WORK, FakeTime, a_send, brought_to, forget

from postroom.model.errors import NotFound
from postroom.store import JournalItem, NewPlan, State, Store, open_store

ITEM = JournalItem("e0123456789", {"unread": True}, {"unread": False})
KEYED = a_send(idempotency_key="k")


class Kept:
    """One of everything that is kept for a month, as it was made now."""

    def __init__(self, store: Store) -> None:
        self.send_id = brought_to(store, State.DONE).send_id
        self.keyed = brought_to(store, State.DONE, KEYED)
        self.operation_id = store.journal.record(WORK, "mark", [ITEM])
        self.plan_id = store.plans.save(NewPlan(WORK, "", "r", "name: r", ())).plan_id

    def is_there(self, store: Store) -> bool:
        found = [
            self._found(store.outbox.get, self.send_id),
            self._found(store.journal.load, self.operation_id),
            self._found(store.plans.get, self.plan_id),
            store.keys.look_up(WORK, "send_email", "k", KEYED.content_sha256) == self.keyed,
        ]
        assert len(set(found)) == 1, found
        return found[0]

    def _found(self, look: object, wanted: str) -> bool:
        try:
            look(wanted)  # type: ignore[operator]
        except NotFound:
            return False
        return True


@pytest.fixture
def kept(store: Store, time: FakeTime) -> Kept:
    """In a store that has been in use for a while."""
    forget(store, time)
    return Kept(store)


def test_a_clock_that_is_a_month_ahead_for_hours_costs_nothing(store: Store, time: FakeTime, kept: Kept) -> None:
    time.is_set(31 * A_DAY)
    for _ in range(23):
        store.prune()
        time.passes(3600)
    time.is_set(-31 * A_DAY)
    for _ in range(5):
        forget(store, time)
    assert kept.is_there(store)


@pytest.mark.parametrize("boots", [1, 2])
def test_nor_does_one_that_is_wrong_after_a_reboot(
    path: Path, time: FakeTime, store: Store, kept: Kept, boots: int
) -> None:
    for _ in range(boots):
        time.reboots()
        time.is_set(31 * A_DAY)
        with_wrong_clock = open_store(path, clock=time.clock())
        with_wrong_clock.prune()
        time.passes(3 * 3600)
        with_wrong_clock.prune()
        assert with_wrong_clock.keys.look_up(WORK, "send_email", "k", KEYED.content_sha256) == kept.keyed
        with_wrong_clock.close()
        time.is_set(-31 * A_DAY)
    time.reboots()
    corrected = open_store(path, clock=time.clock())
    for _ in range(3):
        forget(corrected, time)
    assert kept.is_there(corrected)
    corrected.close()


def test_what_is_a_month_old_goes_also_where_the_machine_is_shut_down_every_evening(
    path: Path, time: FakeTime, kept: Kept
) -> None:
    for _ in range(35):
        time.reboots()
        morning = open_store(path, clock=time.clock())
        morning.prune()
        time.passes(2 * 3600)
        morning.prune()
        morning.close()
        time.is_set(22 * 3600)
    evening = open_store(path, clock=time.clock())
    assert not kept.is_there(evening)
    evening.close()


def test_what_was_settled_by_a_clock_that_was_wrong_for_days_is_taken_back(
    store: Store, time: FakeTime, kept: Kept
) -> None:
    time.is_set(20 * A_DAY)
    forget(store, time)
    forget(store, time)
    time.is_set(-20 * A_DAY)
    store.prune()
    time.passes(26 * A_DAY)
    forget(store, time)
    assert kept.is_there(store)


def test_what_is_made_after_the_clock_was_set_back_by_weeks_is_not_old(store: Store, time: FakeTime) -> None:
    forget(store, time)
    forget(store, time)
    time.is_set(-40 * A_DAY)
    kept = Kept(store)
    assert kept.is_there(store)


def test_a_key_that_was_taken_while_the_clock_was_weeks_behind_is_not_forgotten_when_it_is_right_again(
    path: Path, time: FakeTime, store: Store
) -> None:
    forget(store, time)
    store.close()
    time.reboots()
    time.is_set(-40 * A_DAY)
    with_slow_clock = open_store(path, clock=time.clock())
    keyed = brought_to(with_slow_clock, State.DONE, KEYED)
    time.is_set(40 * A_DAY)
    for _ in range(3):
        forget(with_slow_clock, time)
    assert with_slow_clock.keys.look_up(WORK, "send_email", "k", KEYED.content_sha256) == keyed
    with_slow_clock.close()


def test_nor_after_the_reboots_that_follow(path: Path, time: FakeTime, store: Store) -> None:
    forget(store, time)
    store.close()
    time.reboots()
    time.is_set(-40 * A_DAY)
    with_slow_clock = open_store(path, clock=time.clock())
    keyed = brought_to(with_slow_clock, State.DONE, KEYED)
    time.is_set(40 * A_DAY)
    time.passes(3600)
    with_slow_clock.prune()
    with_slow_clock.close()
    for days in (3, 28):
        time.reboots()
        rebooted = open_store(path, clock=time.clock())
        assert rebooted.keys.look_up(WORK, "send_email", "k", KEYED.content_sha256) == keyed
        time.passes(days * A_DAY)
        forget(rebooted, time)
        rebooted.close()
    forgotten = open_store(path, clock=time.clock())
    assert forgotten.keys.look_up(WORK, "send_email", "k", KEYED.content_sha256) is None
    forgotten.close()
