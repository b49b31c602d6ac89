"""Plans of rules: kept as they were made, run once and by one, for a day; a forward is remembered for good."""

from __future__ import annotations

import pytest
from tests.unit.store.kit import A_DAY, FakeTime, forget

from postroom.model.errors import Conflict, NotFound
from postroom.store import Store
from postroom.store.plans import NewPlan, PlanItem, StoredPlan

NEW = NewPlan("work", "r1", "Bills", "name: Bills", (PlanItem("e1", (0, 2)), PlanItem("e2", (1,))))


def test_a_plan_is_kept_as_it_was_made(store: Store, other: Store, time: FakeTime) -> None:
    plan = store.plans.save(NEW)

    assert plan == StoredPlan(
        plan.plan_id, NEW.account, NEW.rule_id, NEW.name, NEW.source, NEW.items, "ready", "", None,
        created_at=time.wall, expires_at=time.wall + A_DAY, is_scheduled=False,
    )  # fmt: skip
    assert other.plans.get(plan.plan_id) == plan
    assert store.plans.save(NEW, is_scheduled=True).is_scheduled


def test_it_is_run_by_one_process_and_what_it_came_to_is_told_to_all(store: Store, other: Store) -> None:
    plan = store.plans.save(NEW)
    assert not store.plans.is_running(plan.plan_id)

    assert store.plans.claim(plan.plan_id).state == "running"
    assert (store.plans.is_running(plan.plan_id), other.plans.is_running(plan.plan_id)) == (True, True)
    with pytest.raises(Conflict) as busy:
        other.plans.claim(plan.plan_id)
    store.plans.note_operation(plan.plan_id, "o1")
    other.plans.finish(plan.plan_id, {"by": "somebody else"})
    store.plans.finish(plan.plan_id, {"done": 2})

    said = f"The plan {plan.plan_id} is being run by another call. Repeat this call in a few seconds to get its result."
    assert (busy.value.message, busy.value.retry_after) == (said, 5.0)
    assert busy.value.details == {"plan_id": plan.plan_id}
    done = other.plans.claim(plan.plan_id)
    assert (done.state, done.report, done.operation_id) == ("done", {"done": 2}, "o1")
    assert not store.plans.is_running(plan.plan_id)


def test_what_a_process_died_over_or_was_interrupted_in_is_gone_on_with(store: Store, other: Store) -> None:
    plan = store.plans.save(NEW)
    store.plans.claim(plan.plan_id)
    store.plans.interrupt(plan.plan_id, {"done": 1})
    store.plans.interrupt(plan.plan_id)
    left = store.plans.get(plan.plan_id)
    assert (left.state, left.report) == ("interrupted", {"done": 1})

    other.plans.claim(plan.plan_id)
    other.plans.interrupt(plan.plan_id)
    assert store.plans.get(plan.plan_id).report == {"done": 1}, "what is known of it stays"
    other.plans.claim(plan.plan_id)
    other.close()

    assert not store.plans.is_running(plan.plan_id)
    assert store.plans.claim(plan.plan_id).state == "running"


def test_what_becomes_of_one_run_is_not_noted_with_another_of_the_same_process(store: Store) -> None:
    one, two = (store.plans.claim(store.plans.save(NEW).plan_id) for _ in range(2))
    store.plans.finish(one.plan_id, {"done": 2})
    assert store.plans.get(two.plan_id) == two
    assert store.plans.is_running(two.plan_id)


def test_a_plan_runs_for_a_day_to_the_second(store: Store, time: FakeTime) -> None:
    plan = store.plans.save(NEW)
    time.passes(A_DAY)
    store.plans.claim(plan.plan_id)
    store.plans.interrupt(plan.plan_id)
    time.passes(1)

    with pytest.raises(Conflict) as late:
        store.plans.claim(plan.plan_id)
    store.plans.note_operation(plan.plan_id, "o1")
    with pytest.raises(Conflict) as begun:
        store.plans.claim(plan.plan_id)

    expired = f"The plan {plan.plan_id} has expired: a plan can be run for 24 hours."
    assert late.value.message == f"{expired} Nothing was changed; make a new one with run_rule_plan."
    assert late.value.details == {"plan_id": plan.plan_id}
    undo = "What it did before it was cut short can be undone with operation_id o1"
    assert begun.value.message == f"{expired} {undo}; make a new one with run_rule_plan."


def test_a_plan_from_the_future_is_as_old_as_nobody_knows(store: Store, time: FakeTime) -> None:
    plan = store.plans.save(NEW)
    time.is_set(-1)

    with pytest.raises(Conflict):
        store.plans.claim(plan.plan_id)


def cut_short(store: Store, rule_id: str = "r1", *, is_scheduled: bool = True) -> StoredPlan:
    plan = store.plans.save(NewPlan("work", rule_id, "Bills", "", ()), is_scheduled=is_scheduled)
    store.plans.claim(plan.plan_id)
    store.plans.interrupt(plan.plan_id)
    return plan


def test_the_latest_scheduled_run_of_a_rule_that_was_cut_short_is_found(store: Store, time: FakeTime) -> None:
    cut_short(store)
    time.passes(1)
    plan = cut_short(store)
    time.passes(1)
    cut_short(store, "r2")
    cut_short(store, is_scheduled=False)
    store.plans.save(NEW, is_scheduled=True)

    found = store.plans.unfinished("r1")
    assert found is not None
    assert found.plan_id == plan.plan_id
    time.passes(A_DAY - 1)
    assert store.plans.unfinished("r1") is not None
    time.passes(1)
    assert store.plans.unfinished("r1") is None


def test_a_run_that_is_under_way_or_done_is_not_unfinished(store: Store, other: Store) -> None:
    plan = cut_short(store)
    other.plans.claim(plan.plan_id)
    assert store.plans.unfinished("r1") is None
    other.close()
    found = store.plans.unfinished("r1")
    assert found is not None
    store.plans.claim(plan.plan_id)
    store.plans.finish(plan.plan_id, {})
    assert store.plans.unfinished("r1") is None


@pytest.mark.parametrize("is_part", [False, True])
def test_a_run_that_somebody_took_back_is_not_gone_on_with(store: Store, is_part: bool) -> None:
    plan = cut_short(store)
    whole = store.journal.record("work", "run_rule", [])
    store.plans.note_operation(plan.plan_id, whole)
    undone = store.journal.record("work", "label", [], part_of=whole) if is_part else whole
    assert store.plans.unfinished("r1") is not None

    store.journal.begin_undo(undone)

    assert store.plans.unfinished("r1") is None


def test_what_somebody_took_back_of_another_kind_does_not_matter(store: Store) -> None:
    cut_short(store)
    store.journal.begin_undo(store.journal.record("work", "label", []))

    assert store.plans.unfinished("r1") is not None


def test_a_forward_is_remembered_by_account_rule_message_and_address(store: Store, other: Store) -> None:
    store.plans.note_forward("work", "Straße", "m1", "bob@x.example", "s1")
    store.plans.note_forward("work", "STRASSE", "m1", "bob@x.example", "s2")
    store.plans.note_forward("work", "Strasse", "m3", "bob@x.example", "s3")

    assert other.plans.forwarded("work", "strasse", ["m1", "m2"], "bob@x.example") == {"m1"}
    for account, name, target in (
        ("home", "strasse", "bob@x.example"),
        ("work", "bills", "bob@x.example"),
        ("work", "strasse", "eve@x.example"),
    ):
        assert other.plans.forwarded(account, name, ["m1"], target) == set()


def test_plans_are_kept_for_thirty_days_and_forwards_for_good(store: Store, time: FakeTime) -> None:
    plan = store.plans.save(NEW)
    store.plans.note_forward("work", "bills", "m1", "bob@x.example", "s1")
    time.passes(30 * A_DAY)
    forget(store, time)
    assert store.plans.get(plan.plan_id).plan_id == plan.plan_id
    time.passes(1)
    forget(store, time)

    with pytest.raises(NotFound, match="is not a plan id"):
        store.plans.get(plan.plan_id)
    assert store.plans.forwarded("work", "bills", ["m1"], "bob@x.example") == {"m1"}
