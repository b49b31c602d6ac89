"""What a program answers for a person (leaving a list) makes nobody an acquaintance, however it is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.gate.newsletters import leave, newsletter
from tests.gate.rigs import MAIL, GateRig, gate_rig

from postroom.model.address import Address
from postroom.model.outcome import SubmitOutcome
from postroom.safety.policy import Policy
from postroom.service.sending import worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.facts import known_recipients

LEAVE = "carol@demo.example"
BY_MAIL = (
    "From: news@lists.example\r\nTo: alice@demo.example\r\nSubject: News\r\n"
    f"List-Unsubscribe: <mailto:{LEAVE}>\r\n\r\nhello\r\n"
)


async def knows(gate: GateRig, address: str = LEAVE) -> bool:
    account = await gate.gateway.accounts.open("alice")
    return bool(await known_recipients(gate.gateway, account, [Address(address)], Policy()))


async def test_the_address_that_a_newsletter_names_for_leaving_it_stays_a_stranger(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, gate="auto") as gate:
        asked = await leave(gate, await newsletter(gate, BY_MAIL))
        assert asked.approval is not None
        done = await approvals.approve(gate.gateway, asked.approval.approval_id, who="a person", how="command line")

        assert (done.status, await gate.inbox("carol")) == ("sent", ["unsubscribe"])
        assert not await knows(gate), "its copy in Sent is no proof either"


async def test_a_person_who_writes_to_it_makes_it_known(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await leave(gate, await newsletter(gate, BY_MAIL))
        await gate.send(replace(MAIL, to=(LEAVE,)))

        assert await knows(gate)


@pytest.mark.parametrize("outcome", [SubmitOutcome("unknown"), SubmitOutcome("accepted", accepted=(LEAVE,))])
async def test_so_does_one_of_which_nobody_knows_whether_it_was_sent(tmp_path: Path, outcome: SubmitOutcome) -> None:
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).after = lambda _: outcome
        await leave(gate, await newsletter(gate, BY_MAIL))
        await worker.work_once(gate.gateway)

        assert not await knows(gate)
