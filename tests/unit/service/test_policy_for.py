"""What the judge is told of the operator's settings and the account's limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from postroom.safety.policy import Gate
from postroom.service.sending.facts import policy_for


def a_gateway(**safety: Any) -> Any:
    given = {"gate": "auto", "allow_recipients": [], "block_recipients": [], **safety}
    return SimpleNamespace(settings=SimpleNamespace(safety=SimpleNamespace(**given)))


def an_account(limit: int | None = None) -> Any:
    return SimpleNamespace(capabilities=SimpleNamespace(max_attachment_size_mb=limit))


@pytest.mark.parametrize(("limit", "most"), [(None, 26_214_400), (0, 26_214_400), (1, 1_048_576), (35, 36_700_160)])
def test_a_mail_may_be_as_large_as_its_account_takes_and_25_mib_where_none_says(limit: int | None, most: int) -> None:
    assert policy_for(a_gateway(), an_account(limit)).max_bytes == most


@pytest.mark.parametrize("gate", Gate)
def test_a_wish_for_approval_tightens_every_gate_and_its_absence_loosens_none(gate: Gate) -> None:
    assert policy_for(a_gateway(gate=gate.value), an_account()).gate is gate
    assert policy_for(a_gateway(gate=gate.value), an_account(), require_approval=True).gate is Gate.APPROVAL


def test_the_operators_lists_are_taken_over() -> None:
    policy = policy_for(a_gateway(allow_recipients=["a@x.example"], block_recipients=["*@y.example"]), an_account())
    assert (policy.allow, policy.block) == (("a@x.example",), ("*@y.example",))
