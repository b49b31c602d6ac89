"""An account's name that comes to stand for another mailbox takes nothing over from the one before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.gate.rigs import MAIL, SetClock, gate_rig
from tests.unit.service.rules.kit import fill, planned, rule, saved, within

from postroom.model.address import Address
from postroom.safety.policy import Policy
from postroom.service.rules import rules, scheduling
from postroom.service.sending.facts import known_recipients

BOB = "bob@demo.example"
UNSEEN = "schedule: hourly\nsafety: {dry_run_required: false}"


def accounts(address: str, path: str) -> list[dict[str, Any]]:
    mine = {"name": "alice", "provider": "local", "address": address, "path": path}
    return [mine, {"name": "bob", "provider": "local", "address": BOB, "path": "bob.db"}]


async def is_known(gate: Any) -> bool:
    opened = await gate.gateway.accounts.open("alice")
    return bool(await known_recipients(gate.gateway, opened, [Address(BOB)], Policy()))


async def test_whom_the_old_mailbox_wrote_to_is_a_stranger_to_the_new_one(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, accounts=accounts("alice@demo.example", "a.db")) as gate:
        await gate.send(MAIL)
        assert await is_known(gate)
    async with gate_rig(tmp_path, accounts=accounts("Alice@DEMO.example", "new.db")) as gate:
        assert await is_known(gate), "the same mailbox, at another place"
    async with gate_rig(tmp_path, accounts=accounts("carol@demo.example", "c.db")) as gate:
        assert not await is_known(gate)


async def test_rules_of_the_old_mailbox_do_not_run_on_the_new_one(tmp_path: Path) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time, accounts=accounts("alice@demo.example", "a.db")) as gate:
        kept = await saved(gate, rule("{type: delete}", more=UNSEEN))
        await planned(gate, rule("{type: delete}"))
    time.pass_(7200)
    async with gate_rig(tmp_path, time=time, accounts=accounts("carol@demo.example", "c.db")) as gate:
        await fill(gate, ["one"])
        assert await scheduling.run_due(gate.gateway) == 0
        assert await within(gate, "INBOX") == {"one"}
        told = await rules.get_rule(gate.gateway, kept.rule_id)
        assert (told.enabled, "another mailbox" in told.last_result) == (False, True)
