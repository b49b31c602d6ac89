"""An account's name that is given another address: what was kept for the old mailbox is not the new one's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.store.test_plans import NEW
from tests.unit.store.test_rules import RULE

from postroom.model.errors import NotFound
from postroom.store import Store

BOTH = {"work": "ann@example.org", "home": "ann@home.example"}
MOVED = {**BOTH, "work": "zoe@example.org"}
BOB, LIST = "bob@example.org", "leave@list.example"


def settle(store: Store, addresses: dict[str, str]) -> None:
    """With accounts whose mailboxes differ in nothing but the address."""
    store.mailboxes.settle(addresses, {name: address.casefold() for name, address in addresses.items()})


@pytest.fixture
def lived_in(store: Store) -> Store:
    settle(store, BOTH)
    for account in BOTH:
        store.recipients.remember(account, [BOB])
        store.recipients.note_lists(account, [LIST])
    return store


@pytest.mark.parametrize("account", BOTH)
def test_whom_the_old_mailbox_wrote_to_and_which_lists_it_left_is_forgotten_for_it_alone(
    lived_in: Store, account: str
) -> None:
    settle(lived_in, MOVED)

    is_kept = account == "home"
    assert lived_in.recipients.known(account, [BOB]) == ({BOB} if is_kept else set())
    assert lived_in.recipients.lists(account, [LIST]) == ({LIST} if is_kept else set())


def test_its_rules_are_stopped_with_the_reason_until_they_are_saved_again(lived_in: Store) -> None:
    work, home = lived_in.rules.save(RULE), lived_in.rules.save(replace(RULE, account="home"))

    settle(lived_in, MOVED)

    stopped = lived_in.rules.get(work.rule_id)
    assert (stopped.enabled, stopped.next_run_at) == (False, None)
    assert stopped.last_result == (
        "The account has another address now; this rule was written for another mailbox. Delete it, or save it again."
    )
    assert lived_in.rules.get(home.rule_id) == home


def test_a_plan_that_was_made_for_it_is_not_run_and_what_was_run_can_still_be_looked_up(lived_in: Store) -> None:
    plans = (NEW, NEW, NEW, replace(NEW, account="home"))
    ready, cut_short, run, others = (lived_in.plans.save(plan) for plan in plans)
    lived_in.plans.claim(cut_short.plan_id)
    lived_in.plans.interrupt(cut_short.plan_id)
    lived_in.plans.claim(run.plan_id)
    lived_in.plans.finish(run.plan_id, {"done": 1})

    settle(lived_in, MOVED)

    for gone in (ready, cut_short):
        with pytest.raises(NotFound):
            lived_in.plans.get(gone.plan_id)
    assert lived_in.plans.get(run.plan_id).report == {"done": 1}
    assert lived_in.plans.get(others.plan_id) == others


@pytest.mark.parametrize("accounts", [BOTH, {"work": "ANN@Example.ORG"}, {**BOTH, "third": "x@example.org"}, {}])
def test_the_same_address_in_another_spelling_and_an_account_more_or_less_change_nothing(
    lived_in: Store, accounts: dict[str, str]
) -> None:
    rule = lived_in.rules.save(RULE)

    settle(lived_in, accounts)
    settle(lived_in, BOTH)

    assert lived_in.recipients.known("work", [BOB]) == {BOB}
    assert lived_in.rules.get(rule.rule_id) == rule


def test_a_new_account_is_known_by_its_address_from_its_first_start(lived_in: Store) -> None:
    settle(lived_in, {**BOTH, "third": "x@example.org"})
    lived_in.recipients.remember("third", [BOB])
    settle(lived_in, {**BOTH, "third": "y@example.org"})

    assert lived_in.recipients.known("third", [BOB]) == set()


def test_an_address_is_given_up_once_and_what_the_new_mailbox_does_stays(lived_in: Store, other: Store) -> None:
    settle(lived_in, MOVED)
    lived_in.recipients.remember("work", [BOB])
    settle(other, MOVED)
    assert other.recipients.known("work", [BOB]) == {BOB}


def test_a_start_with_the_addresses_of_the_last_one_writes_nothing(lived_in: Store, other: Store) -> None:
    def version() -> int:
        with other._database.read() as connection:
            return int(connection.execute("PRAGMA data_version").fetchone()[0])

    before = version()
    settle(lived_in, BOTH)
    assert version() == before
    settle(lived_in, MOVED)
    assert version() != before
