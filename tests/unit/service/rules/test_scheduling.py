"""Rules that the server runs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import SetClock, gate_rig
from tests.unit.service.rules.kit import fill, rule, saved, within
from tests.unit.service.test_batch import failing_from

from postroom.service.organising import organise
from postroom.service.rules import rules, running, scheduling

FREE = "schedule: hourly\nsafety: {dry_run_required: false}"


async def test_a_scheduled_rule_runs_when_its_time_comes_and_again_later(tmp_path: Path) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        kept = await saved(gate, rule("{type: archive}", more=FREE))
        assert await scheduling.run_due(gate.gateway) == 0
        time.pass_(3600)
        assert await scheduling.run_due(gate.gateway) == 1
        assert await scheduling.run_due(gate.gateway) == 0
        assert await within(gate, "Archive") == {"one"}
        await fill(gate, ["two"])
        time.pass_(3600)
        await scheduling.run_due(gate.gateway)

        assert await within(gate, "Archive") == {"one", "two"}
        view = await rules.get_rule(gate.gateway, kept.rule_id)
        assert view.last_result == "1 done, 0 skipped, 0 failed."
        assert view.next_run > view.last_run
        assert [entry["actor"] for entry in gate.audit() if entry["action_type"] == "run_rule"] == ["worker", "worker"]


async def test_a_rule_that_demands_a_dry_run_waits_for_the_first_run_by_request(tmp_path: Path) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        kept = await saved(gate, rule("{type: archive}", more="schedule: hourly"))
        assert "after its first run by request" in kept.notices[0]
        time.pass_(3600)
        assert await scheduling.run_due(gate.gateway) == 0
        plan = await rules.plan_rule(gate.gateway, kept.rule_id)
        time.pass_(3600)
        assert await scheduling.run_due(gate.gateway) == 0, "a plan that nobody ran is no dry run"

        await running.run_rule(gate.gateway, plan.plan_id)
        await fill(gate, ["two"])
        time.pass_(3600)
        assert await scheduling.run_due(gate.gateway) == 1
        assert await within(gate, "Archive") == {"one", "two"}
        assert (await rules.get_rule(gate.gateway, kept.rule_id)).notices == ()


async def test_disabled_rules_and_those_of_paused_or_absent_accounts_are_left_alone(tmp_path: Path) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        await saved(gate, rule("{type: archive}", more=FREE + "\nenabled: false"))
        await saved(gate, rule("{type: archive}", more=FREE).replace("the rule", "another"))
        gate.gateway.store.pauses.login_refused("alice", "wrong password")
        time.pass_(3600)
        gate.gateway.store.pauses.login_refused("alice", "wrong password")
        assert await scheduling.run_due(gate.gateway) == 0
    others = [{"name": "bob", "provider": "local", "address": "bob@demo.example", "path": "bob.db"}]
    async with gate_rig(tmp_path, time=time, accounts=others) as gate:
        gate.gateway.store.pauses.login_worked("alice")
        assert await scheduling.run_due(gate.gateway) == 0
    async with gate_rig(tmp_path, time=time) as gate:
        assert await scheduling.run_due(gate.gateway) == 1


async def test_a_run_that_the_provider_cut_short_is_finished_at_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        kept = await saved(gate, rule("{type: star}", "{type: archive}", more=FREE))
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)
        time.pass_(3600)
        await scheduling.run_due(gate.gateway)
        monkeypatch.undo()
        assert "stopped answering" in (await rules.get_rule(gate.gateway, kept.rule_id)).last_result
        time.pass_(3600)
        await scheduling.run_due(gate.gateway)

        assert await within(gate, "Archive") == {"one"}


async def test_after_a_run_that_was_cut_short_is_undone_the_schedule_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        kept = await saved(gate, rule("{type: star}", "{type: archive}", more=FREE))
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)
        time.pass_(3600)
        await scheduling.run_due(gate.gateway)
        monkeypatch.undo()
        stopped = gate.gateway.store.plans.unfinished(kept.rule_id)
        assert stopped is not None
        await organise.undo(gate.gateway, stopped.operation_id)
        time.pass_(3600)
        await scheduling.run_due(gate.gateway)

        assert await within(gate, "Archive") == {"one"}


async def test_a_rule_whose_folder_is_gone_says_so_and_does_not_stop_the_others(tmp_path: Path) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"], folder="Projects")
        await fill(gate, ["two"])
        broken = await saved(gate, rule("{type: move_folder, folder: Projects}", more=FREE))
        await saved(gate, rule("{type: star}", more=FREE).replace("the rule", "another"))
        opened = await gate.gateway.accounts.open("alice")
        (folder,) = [one for one in await opened.mailbox.folders() if one.name == "Projects"]
        found = [row.email_id for row in (await rules_of(gate, "Projects"))]
        await organise.move(gate.gateway, found, "INBOX")
        await opened.folder_maker.delete_folder(folder.ref)
        opened.folders.forget()
        time.pass_(3600)

        assert await scheduling.run_due(gate.gateway) == 1
        assert "Projects" in (await rules.get_rule(gate.gateway, broken.rule_id)).last_result


async def rules_of(gate: Any, mailbox: str) -> Any:
    from postroom.service.reading import search

    return (await search.list_emails(gate.gateway, account="alice", mailbox=mailbox)).results
