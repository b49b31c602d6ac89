"""Plans are run exactly, once, and as far as their mails are still what they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import anyio
import pytest
from tests.gate.rigs import GateRig, SetClock, gate_rig
from tests.unit.service.rules.kit import NEWS, fill, planned, rule, saved, within
from tests.unit.service.test_batch import failing_from

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.service.organising import organise
from postroom.service.rules import rules, running

ARCHIVE = rule("{type: apply_label, label: news}", "{type: archive}")


async def one_by_one(gate: GateRig, monkeypatch: pytest.MonkeyPatch) -> None:
    account = await gate.gateway.accounts.open("alice")
    monkeypatch.setattr(account, "capabilities", replace(account.capabilities, changes_at_once=1))


async def test_a_dry_run_changes_and_saves_nothing(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one", "two"])
        view = await planned(gate, ARCHIVE)

        assert {email.row.subject for email in view.results} == {"one", "two"}
        assert view.results[0].actions == ("apply_label news", "archive")
        assert await within(gate, "INBOX") == {"one", "two"}
        assert (await rules.list_rules(gate.gateway)).total_count == 0


async def test_a_run_does_the_pinned_mails_only_and_only_once(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        view = await planned(gate, ARCHIVE)
        await fill(gate, ["came later"])

        first = await running.run_rule(gate.gateway, view.plan_id)
        await organise.undo(gate.gateway, first.operation_id)
        second = await running.run_rule(gate.gateway, view.plan_id)

        assert (first.status, first.succeeded) == ("done", 1)
        assert (second.status, second.operation_id) == ("already_executed", first.operation_id)
        assert await within(gate, "INBOX") == {"one", "came later"}


async def test_mails_that_changed_or_went_away_since_the_plan_are_skipped_and_named(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["stays", "moved", "deleted"])
        view = await planned(
            gate, rule("{type: star}", conditions=f"{NEWS}, {{field: folder, operator: equals, value: INBOX}}")
        )
        by_subject = {email.row.subject: email.email_id for email in view.results}
        await organise.move(gate.gateway, [by_subject["moved"]], "archive")
        await organise.delete(gate.gateway, [by_subject["deleted"]])

        ran = await running.run_rule(gate.gateway, view.plan_id)

        assert (ran.succeeded, ran.skipped, ran.failed) == (1, 2, 0)
        skipped = {item.email_id for item in ran.results if item.skipped}
        assert skipped == {by_subject["moved"], by_subject["deleted"]}


@pytest.mark.parametrize(("most", "emails", "more"), [(2, 1, True), (3, 1, True), (4, 2, False), (5, 2, False)])
async def test_no_run_does_more_actions_than_the_rule_allows_and_no_mail_is_left_half_done(
    tmp_path: Path, most: int, emails: int, more: bool
) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one", "two"])
        view = await planned(gate, ARCHIVE + f"safety: {{max_actions_per_run: {most}}}")
        ran = await running.run_rule(gate.gateway, view.plan_id)

        assert (view.matched, view.has_more) == (emails, more)
        assert ran.action_count == 2 * emails <= most
        assert len(await within(gate, "Archive")) == emails


async def test_a_plan_expires_and_one_of_a_deleted_or_disabled_rule_is_not_run(tmp_path: Path) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        kept = await saved(gate, ARCHIVE)
        view = await rules.plan_rule(gate.gateway, kept.rule_id)
        time.pass_(86_401)
        with pytest.raises(Conflict, match="expired"):
            await running.run_rule(gate.gateway, view.plan_id)
        view = await rules.plan_rule(gate.gateway, kept.rule_id)
        await rules.delete_rule(gate.gateway, kept.rule_id)
        with pytest.raises(NotFound):
            await running.run_rule(gate.gateway, view.plan_id)
        off = await saved(gate, ARCHIVE + "enabled: false")
        view = await rules.plan_rule(gate.gateway, off.rule_id)
        with pytest.raises(Conflict, match="disabled"):
            await running.run_rule(gate.gateway, view.plan_id)
        assert await within(gate, "INBOX") == {"one"}


async def test_a_provider_that_fails_half_way_leaves_a_run_that_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one", "two"])
        view = await planned(gate, ARCHIVE)
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)

        stopped = await running.run_rule(gate.gateway, view.plan_id)

        assert (stopped.status, stopped.failed) == ("stopped", 2)
        assert {item.done for item in stopped.results} == {("apply_label news",)}
        monkeypatch.undo()
        again = await running.run_rule(gate.gateway, view.plan_id)
        assert (again.status, again.succeeded, again.operation_id) == ("done", 2, stopped.operation_id)
        assert await within(gate, "Archive") == {"one", "two"}
        undone = await organise.undo(gate.gateway, again.operation_id)
        assert (undone.succeeded, undone.failed) == (2, 0)
        assert await within(gate, "INBOX") == {"one", "two"}
        assert (await planned(gate, ARCHIVE)).action_count == 4


async def test_a_run_of_which_nothing_was_done_is_an_error_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        view = await planned(gate, rule("{type: archive}"))
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)
        with pytest.raises(ProviderUnavailable):
            await running.run_rule(gate.gateway, view.plan_id)
        monkeypatch.undo()

        assert (await running.run_rule(gate.gateway, view.plan_id)).succeeded == 1


async def test_a_run_that_was_cut_short_and_undone_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        view = await planned(gate, ARCHIVE)
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)
        stopped = await running.run_rule(gate.gateway, view.plan_id)
        monkeypatch.undo()
        await organise.undo(gate.gateway, stopped.operation_id)

        with pytest.raises(Conflict, match="undone"):
            await running.run_rule(gate.gateway, view.plan_id)


async def test_a_run_that_was_cut_short_is_not_taken_up_again_after_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time) as gate:
        await fill(gate, ["one"])
        view = await planned(gate, ARCHIVE)
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)
        stopped = await running.run_rule(gate.gateway, view.plan_id)
        monkeypatch.undo()
        time.pass_(86_401)

        with pytest.raises(Conflict, match=f"expired.*{stopped.operation_id}"):
            await running.run_rule(gate.gateway, view.plan_id)
        assert await within(gate, "INBOX") == {"one"}


@pytest.mark.parametrize(("action", "name", "role"), [("archive", "archive", "Archive"), ("delete", "trash", "Trash")])
async def test_archive_and_delete_mean_the_folder_with_that_role_and_not_one_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, name: str, role: str
) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        mailbox: Any = (await gate.gateway.accounts.open("alice")).mailbox
        folders = [Folder("decoy", name, Role.SENT), *await mailbox.folders()]
        monkeypatch.setattr(mailbox, "folders", AsyncMock(return_value=folders), raising=False)

        view = await planned(gate, rule(f"{{type: {action}}}"))
        ran = await running.run_rule(gate.gateway, view.plan_id)

        assert ran.succeeded == 1
        assert await within(gate, role) == {"one"}


async def test_a_run_cannot_be_undone_while_it_goes_on_nor_run_twice_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one", "two"])
        view = await planned(gate, ARCHIVE)
        await one_by_one(gate, monkeypatch)
        refused: list[Exception] = []

        async def meddle(done: int, total: int) -> None:
            plan = gate.gateway.store.plans.get(view.plan_id)
            for attempt in (
                organise.undo(gate.gateway, plan.operation_id),
                running.run_rule(gate.gateway, plan.plan_id),
            ):
                with pytest.raises(Conflict) as conflict:
                    await attempt
                refused.append(conflict.value)

        ran = await running.run_rule(gate.gateway, view.plan_id, progress=meddle)

        assert ran.succeeded == 2
        assert len(refused) == 8
        assert (await organise.undo(gate.gateway, ran.operation_id)).failed == 0


async def test_a_cancelled_run_is_free_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one", "two", "three"])
        view = await planned(gate, ARCHIVE)
        await one_by_one(gate, monkeypatch)
        with anyio.CancelScope() as scope:

            async def leave(done: int, total: int) -> None:
                if done == 4:
                    scope.cancel()

            await running.run_rule(gate.gateway, view.plan_id, progress=leave)
        assert 0 < len(await within(gate, "Archive")) < 3

        assert (await running.run_rule(gate.gateway, view.plan_id)).succeeded == 3
        assert await within(gate, "Archive") == {"one", "two", "three"}


async def test_read_only_plans_and_does_not_run(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
    async with gate_rig(tmp_path, read_only=True) as gate:
        view = await planned(gate, ARCHIVE)
        assert view.matched == 1
        with pytest.raises(PermissionDenied, match="read-only"):
            await running.run_rule(gate.gateway, view.plan_id)


async def test_names_are_used_once_and_what_does_not_exist_is_said(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        await saved(gate, ARCHIVE)
        with pytest.raises(Conflict, match="already has a rule of that name"):
            await saved(gate, ARCHIVE.replace("the rule", "THE RULE"))
        for text in (
            rule("{type: move_folder, folder: Nowhere}"),
            rule("{type: remove_label, label: nothing}"),
            rule("{type: star}", conditions="{field: folder, operator: equals, value: Nowhere}"),
            rule("{type: star}", conditions="{field: labels, operator: equals, value: nothing}"),
            rule("{type: move_folder, folder: Sent}"),
        ):
            with pytest.raises((InvalidRequest, PermissionDenied)):
                await planned(gate, text)
        first_time = rule(
            "{type: apply_label, label: seen}", conditions="{field: labels, operator: equals, value: seen, not: true}"
        )
        assert (await planned(gate, first_time)).matched == 1
