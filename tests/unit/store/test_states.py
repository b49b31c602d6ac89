"""The table of states, written down a second time by hand: a way more or less must be wanted in two places."""

from __future__ import annotations

from postroom.store.sends import states
from postroom.store.sends.states import ALLOWED, BY_A_PERSON, State

WAYS = """
prepared           awaiting_approval reserved cancelled
awaiting_approval  approved cancelled expired
approved           reserved cancelled needs_human
reserved           held staged cancelled needs_human
held               staged cancelled needs_human
staged             sending cancelled needs_human
sending            accepted rejected retryable unknown needs_human
accepted           done
retryable          sending cancelled needs_human
unknown            reconciling
reconciling        accepted retryable needs_human
needs_human
done
rejected
cancelled
expired
dropped
"""
SETS = {
    "FINISHED": "done rejected cancelled expired dropped",
    "UNSENT": "rejected cancelled expired",
    "CANCELLABLE": "prepared awaiting_approval approved reserved held staged retryable",
    "OWNED": "prepared reserved staged sending reconciling accepted",
    "WORKABLE": "approved reserved held staged retryable unknown reconciling accepted",
}


def named(words: list[str]) -> frozenset[State]:
    return frozenset(map(State, words))


def test_the_ways_between_the_states_are_these_and_no_others() -> None:
    lines = [line.split() for line in WAYS.strip().splitlines()]
    assert {State(start): named(ends) for start, *ends in lines} == ALLOWED
    assert set(ALLOWED) == set(State)


def test_a_person_decides_only_about_what_needs_one() -> None:
    assert {State("needs_human"): named(["accepted", "retryable", "cancelled", "dropped"])} == BY_A_PERSON


def test_what_is_over_unsent_stoppable_held_and_left_to_do() -> None:
    assert {name: getattr(states, name) for name in SETS} == {
        name: named(words.split()) for name, words in SETS.items()
    }
