"""Forwards of a rule are sends: the gate decides, a person is asked where it wants one, nothing is sent twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.gate.rigs import gate_rig
from tests.unit.service.rules.kit import fill, planned, rule, within

from postroom.model.address import Address
from postroom.model.errors import Conflict, PostroomError
from postroom.model.message import Envelope
from postroom.model.query.tree import Query
from postroom.model.rule import Action
from postroom.providers.layers.layered import unwrapped
from postroom.providers.local.provider import NewMail
from postroom.service.rules import forwarding, running
from postroom.service.rules.planning import mail_key
from postroom.service.rules.views import RunItem
from postroom.service.sending.approval import approvals
from postroom.service.sending.outbox import list_outbox
from postroom.service.views import ErrorView, SendView

FORWARD = rule("{type: forward, to: bob@demo.example}", "{type: archive}")


@pytest.mark.parametrize("gate_name", ["auto", "preview", "elicit", "approval"])
async def test_a_forward_waits_for_a_person_wherever_the_gate_wants_one(tmp_path: Path, gate_name: str) -> None:
    async with gate_rig(tmp_path, gate=gate_name) as gate:
        await fill(gate, ["one"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id)

        (item,) = ran.results
        assert (item.ok, item.send_status) == (True, "needs_approval")
        assert await gate.inbox("bob") == []
        assert await within(gate, "Archive") == {"one"}
        (waiting,) = await approvals.list_waiting(gate.gateway)
        await approvals.approve(gate.gateway, waiting.approval_id, who="a person", how="command line")
        assert await gate.inbox("bob") == ["Fwd: one"]


async def test_where_a_confirmation_suffices_running_the_plan_is_one(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one", "two"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id)

        assert {item.send_status for item in ran.results} == {"sent"}
        assert sorted(await gate.inbox("bob")) == ["Fwd: one", "Fwd: two"]


async def test_a_scheduled_forward_always_waits_for_a_person(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id, scheduled=True)

        assert ran.results[0].send_status == "needs_approval"
        assert await gate.inbox("bob") == []


async def test_a_mail_is_forwarded_once_however_often_the_rule_is_planned(tmp_path: Path) -> None:
    only_forward = rule("{type: forward, to: bob@demo.example}")
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        first = await planned(gate, only_forward)
        twin = await planned(gate, only_forward)
        await running.run_rule(gate.gateway, first.plan_id)
        again = await running.run_rule(gate.gateway, twin.plan_id)

        assert again.results[0].send_status == "already_executed"
        assert await gate.inbox("bob") == ["Fwd: one"]
        assert (await planned(gate, only_forward)).matched == 0


async def test_another_spelling_of_an_address_is_the_same_address(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await fill(gate, ["one"])
        ready = await planned(gate, rule("{type: forward, to: BOB@demo.example}"))
        first = await planned(gate, rule("{type: forward, to: bob@demo.example}"))
        await running.run_rule(gate.gateway, first.plan_id)
        await running.run_rule(gate.gateway, ready.plan_id)

        assert await gate.inbox("bob") == ["Fwd: one"]
        assert (await planned(gate, rule("{type: forward, to: Bob@Demo.Example}"))).matched == 0


async def test_without_the_tools_that_send_a_forward_waits_for_a_person(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, toolsets=["read", "organise", "rules"]) as gate:
        await fill(gate, ["one"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id)

        assert ran.results[0].send_status == "needs_approval"
        assert await gate.inbox("bob") == []


async def test_what_the_gate_refuses_is_not_archived_either(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, block_recipients=["bob@demo.example"]) as gate:
        await fill(gate, ["one"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id)

        (item,) = ran.results
        assert item.error is not None
        assert (item.ok, item.error.code, ran.failed) == (False, "PERMISSION_DENIED", 1)
        assert await within(gate, "INBOX") == {"one"}
        assert (await list_outbox(gate.gateway)).total_count == 0


async def test_the_rate_limit_holds_for_rules_too(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, sends_per_hour=2) as gate:
        await fill(gate, ["one", "two", "three"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id)

        assert (ran.succeeded, ran.failed) == (2, 1)
        assert len(await gate.inbox("bob")) == 2
        assert (await planned(gate, FORWARD)).matched == 1


async def test_dev_mode_sends_nothing(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, dev_mode=True) as gate:
        await fill(gate, ["one"])
        ran = await running.run_rule(gate.gateway, (await planned(gate, FORWARD)).plan_id)

        assert ran.results[0].send_status == "dev_mode"
        assert await gate.inbox("bob") == []


async def test_a_mail_without_a_message_id_is_the_same_mail_wherever_it_is_moved(tmp_path: Path) -> None:
    """At IMAP servers a message in another folder has another ref."""
    raw = b"From: news@circuit.example\r\nTo: alice@demo.example\r\nSubject: one\r\n\r\nhello\r\n"
    async with gate_rig(tmp_path) as gate:
        mailbox: Any = unwrapped((await gate.gateway.accounts.open("alice")).mailbox)
        await mailbox.add_messages([NewMail(raw, "INBOX"), NewMail(raw.replace(b"one", b"two"), "INBOX")])
        page = await mailbox.search(Query(), limit=10, offset=0)

    assert all(not mail.message_id for mail in page.items)
    assert len({mail_key(mail) for mail in page.items}) == 2
    assert all(mail_key(replace(mail, ref="elsewhere", folder="Archive")) == mail_key(mail) for mail in page.items)


async def forwarded(home: Path, monkeypatch: pytest.MonkeyPatch, came: SendView | PostroomError) -> tuple[Any, Any]:
    """What a run tells of a forward that came to this at the gate, and whether it is remembered."""
    orders: list[Any] = []

    async def order(_gateway: Any, email_id: str, request: Any, wishes: Any, account: str) -> Any:
        orders.append((email_id, request.to, account, wishes.confirm, wishes.actor))

    async def send(_gateway: Any, _order: Any) -> SendView:
        if isinstance(came, PostroomError):
            raise came
        return came

    monkeypatch.setattr(forwarding.sending, "order_forward", order)
    monkeypatch.setattr(forwarding.sending, "send", send)
    async with gate_rig(home) as gate:
        mail = Envelope("1", "1", "INBOX", Address("news@circuit.example"), message_id="<1@circuit.example>")
        item = await forwarding.forward(
            gate.gateway,
            await gate.gateway.accounts.open("alice"),
            SimpleNamespace(rule=SimpleNamespace(name="The Rule")),  # type: ignore[arg-type]
            Action("forward", "Bob@demo.example"),
            "e1",
            mail,
            scheduled=False,
        )
        noted = gate.gateway.store.plans.forwarded("alice", "the rule", [mail.message_id], "bob@demo.example")
    assert orders == [("e1", ("Bob@demo.example",), "alice", True, "rule")]
    return item, noted


@pytest.mark.parametrize(
    "status", ["sent", "already_executed", "held", "scheduled", "needs_approval", "unknown", "needs_human"]
)
async def test_what_is_sent_or_may_be_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    item, noted = await forwarded(tmp_path, monkeypatch, SendView(status, "alice", "said", send_id="s1"))

    assert item == RunItem("e1", ok=True, send_status=status, send_id="s1")
    assert noted == {"<1@circuit.example>"}


async def test_what_dev_mode_only_logs_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item, noted = await forwarded(tmp_path, monkeypatch, SendView("dev_mode", "alice", "said"))

    assert (item, noted) == (RunItem("e1", ok=True, send_status="dev_mode"), set())


@pytest.mark.parametrize("error", [None, ErrorView("RATE_LIMITED", "Too much.")])
async def test_what_was_refused_is_told_with_its_reason_and_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: ErrorView | None
) -> None:
    view = SendView("rejected", "alice", "Nobody there.", send_id="s1", error=error)
    item, noted = await forwarded(tmp_path, monkeypatch, view)

    told = error or ErrorView("PERMISSION_DENIED", "Nobody there.")
    assert item == RunItem("e1", ok=False, error=told, send_status="rejected", send_id="s1")
    assert noted == set()


async def test_what_a_dead_run_was_sending_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Conflict("It is under way.", reason="idempotency_key_in_progress", details={"send_id": "s1"})
    item, noted = await forwarded(tmp_path, monkeypatch, busy)

    assert (item, noted) == (RunItem("e1", ok=True, send_status="unknown", send_id="s1"), {"<1@circuit.example>"})


async def test_any_other_trouble_is_told_and_nothing_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, noted = await forwarded(tmp_path, monkeypatch, Conflict("Another message.", details={"send_id": "s1"}))

    assert (item.email_id, item.ok, item.error.message, noted) == ("e1", False, "Another message.", set())


def test_the_same_forward_has_the_same_key_and_no_other_has_it() -> None:
    key = forwarding._key("alice", "rule", "<1@x>", "bob@x.example")

    assert key == forwarding._key("alice", "rule", "<1@x>", "bob@x.example")
    assert (key[:5], len(key)) == ("rule-", 53)
    assert forwarding._key("alicer", "ule", "<1@x>", "bob@x.example") != key
