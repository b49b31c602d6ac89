"""Saved rules: one of a name, kept as written, and due when their time has come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.store.kit import FakeTime

from postroom.model.errors import Conflict, NotFound
from postroom.store import Store
from postroom.store.plans import NewPlan
from postroom.store.rules import NewRule, StoredRule

RULE = NewRule("work", "Bills", "name: Bills", "v1", enabled=True, every_minutes=10)


def test_a_rule_is_kept_as_it_was_written(store: Store, other: Store, time: FakeTime) -> None:
    rule = store.rules.save(RULE)

    assert rule == StoredRule(
        rule.rule_id, "work", "Bills", "name: Bills", "v1", enabled=True, every_minutes=10, is_proven=False,
        created_at=time.wall, next_run_at=time.wall + 600, last_run_at=None, last_result="",
    )  # fmt: skip
    assert other.rules.get(rule.rule_id) == rule
    assert (other.rules.named("work", "BILLS"), other.rules.named("home", "Bills")) == (rule, None)
    assert other.rules.named("work", "Bill") is None


@pytest.mark.parametrize("fields", [{"enabled": False}, {"every_minutes": None}])
def test_without_a_schedule_or_disabled_it_is_never_due(store: Store, time: FakeTime, fields: dict[str, None]) -> None:
    rule = store.rules.save(replace(RULE, **fields))  # type: ignore[arg-type]

    assert rule.next_run_at is None
    time.passes(10**6)
    assert store.rules.due() == []


def test_a_disabled_rule_is_not_due_although_it_was(store: Store, time: FakeTime) -> None:
    store.rules.save(RULE)
    with store._database.transaction() as connection:
        connection.execute("UPDATE rules SET enabled = 0")
    time.passes(601)

    assert store.rules.due() == []


def test_a_name_is_taken_in_any_case_of_letters_within_its_account(store: Store) -> None:
    rule = store.rules.save(RULE)
    with pytest.raises(Conflict) as taken:
        store.rules.save(replace(RULE, name="BILLS"))

    assert taken.value.message == (
        f"Account work already has a rule of that name ({rule.rule_id}). Choose another name. Call "
        "delete_rule first to use this one again."
    )
    assert taken.value.reason == "already_exists"
    assert taken.value.details == {"field": "rule_yaml", "path": "name", "rule_id": rule.rule_id}
    store.rules.save(replace(RULE, account="home"))
    store.rules.save(replace(RULE, name="Letters"))


def test_rules_are_listed_in_the_order_of_their_making(store: Store, time: FakeTime) -> None:
    made = []
    for number in range(8):
        made.append(store.rules.save(replace(RULE, name=str(number))).name)
        time.passes(1)

    assert [rule.name for rule in store.rules.all()] == made


def test_a_deleted_rule_takes_its_plans_along_but_not_those_that_were_begun(store: Store) -> None:
    rule, other = store.rules.save(RULE), store.rules.save(replace(RULE, name="Letters"))
    ready, begun, of_other = (
        store.plans.save(NewPlan("work", owner.rule_id, "", "", ())).plan_id for owner in (rule, rule, other)
    )
    store.plans.claim(begun)
    store.rules.delete(rule.rule_id)

    assert [one.name for one in store.rules.all()] == ["Letters"]
    with pytest.raises(NotFound):
        store.plans.get(ready)
    assert [store.plans.get(one).plan_id for one in (begun, of_other)] == [begun, of_other]
    with pytest.raises(NotFound, match="is not a rule id"):
        store.rules.delete(rule.rule_id)


def test_a_rule_that_was_run_by_a_caller_is_proven_and_no_other(store: Store) -> None:
    rule, other = store.rules.save(RULE), store.rules.save(replace(RULE, name="Letters"))
    store.rules.prove(rule.rule_id)

    assert store.rules.get(rule.rule_id).is_proven is True
    assert store.rules.get(other.rule_id).is_proven is False


def test_rules_are_due_from_their_time_on_the_longest_waiting_first(store: Store, time: FakeTime) -> None:
    made = [store.rules.save(replace(RULE, name=str(pause), every_minutes=pause)) for pause in (60, 20, 50, 10, 40, 30)]
    by_pause = sorted(made, key=lambda rule: rule.every_minutes or 0)
    time.passes(599)
    assert store.rules.due() == []
    time.passes(1)
    assert store.rules.due() == by_pause[:1]
    time.passes(3000)
    assert store.rules.due() == by_pause


def test_a_rule_too_far_ahead_was_set_by_another_clock_and_is_due(store: Store, time: FakeTime) -> None:
    rule = store.rules.save(RULE)
    assert store.rules.due() == []
    time.is_set(-1)

    assert store.rules.due() == [rule]


def test_one_process_takes_a_run_and_the_next_is_a_pause_away(store: Store, other: Store, time: FakeTime) -> None:
    rule = store.rules.save(RULE)
    time.passes(700)

    assert (store.rules.take(rule), other.rules.take(rule)) == (True, False)
    assert store.rules.due() == []
    assert store.rules.get(rule.rule_id).next_run_at == time.wall + 600


def test_what_became_of_a_run_is_noted_with_its_rule(store: Store, time: FakeTime) -> None:
    rule, other = store.rules.save(RULE), store.rules.save(replace(RULE, name="Letters"))
    time.passes(5)
    store.rules.note_run(rule.rule_id, "2 moved")

    noted = store.rules.get(rule.rule_id)
    assert (noted.last_run_at, noted.last_result) == (time.wall, "2 moved")
    assert store.rules.get(other.rule_id) == other
