from __future__ import annotations

from postroom.model.address import Address
from postroom.safety.policy import Gate, Policy, tightest


def test_without_a_word_of_the_operator_strangers_need_a_person_and_25_mb_pass() -> None:
    policy = Policy()
    assert (policy.gate, policy.allow, policy.block, policy.max_bytes) == (Gate.AUTO, (), (), 26_214_400)
    assert policy.can_judge(Address("a%b@example.com"))
    assert policy.allows(Address("bob@example.com"))
    assert not policy.vouches_for(Address("bob@example.com"))
    assert not policy.blocks(Address("bob@example.com"))


def test_two_gates_ask_through_the_client() -> None:
    asking = {gate: gate.asks_in_client for gate in Gate}
    assert asking == {gate: gate in (Gate.AUTO, Gate.ELICIT) for gate in Gate}


def test_gates_are_named_and_ordered_from_the_loosest_to_the_tightest() -> None:
    assert [gate.value for gate in Gate] == ["confirm", "preview", "auto", "elicit", "approval"]
    for number, gate in enumerate(Gate):
        assert all(tightest(looser, gate) is tightest(gate, looser) is gate for looser in list(Gate)[: number + 1])
