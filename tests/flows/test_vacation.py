"""The vacation reply over MCP: nothing is switched on without a person's yes, and off needs none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult
from tests.faults.scenarios import approve_pending
from tests.flows.caller import Caller
from tests.gate.services import Gmail
from tests.peers.gmail import FakeGmail

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, build

AWAY = {"enabled": True, "subject": "Away", "body": "Back in January.", "last_day": "2199-01-03"}


@pytest.fixture(scope="module")
def gmail() -> Iterator[FakeGmail]:
    with FakeGmail.started() as fake:
        yield fake


@asynccontextmanager
async def sat(
    gmail: FakeGmail, home: Path, *, agrees: bool | None = True, **safety: Any
) -> AsyncIterator[tuple[Caller, list[str]]]:
    """`agrees` None: a client that cannot ask the person."""
    toolsets = ["read", "organise", "send", "vacation"]
    accounts = Gmail(gmail).accounts()
    server = {"toolsets": toolsets, "timezone": "Europe/Berlin"}
    settings = build({"server": server, "accounts": accounts, "safety": safety}, home=home)
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept" if agrees else "decline", content={"send": True} if agrees else None)

    callback = {} if agrees is None else {"elicitation_callback": person}
    async with Client(server_for(settings), **callback) as client:
        yield Caller(client), asked


def state(gmail: FakeGmail) -> dict[str, Any]:
    return dict(gmail.user("alice@demo.example").vacation)


async def test_it_is_shown_asked_about_switched_on_once_and_off_without_a_question(
    gmail: FakeGmail, tmp_path: Path
) -> None:
    async with sat(gmail, tmp_path) as (call, asked):
        preview = await call.ok("set_vacation", **AWAY)
        assert (preview["status"], state(gmail)) == ("preview", {"enableAutoReply": False})
        on = await call.ok("set_vacation", **AWAY, confirm=True, idempotency_key="k")
        again = await call.ok("set_vacation", **AWAY, confirm=True, idempotency_key="k")
        shown = await call.ok("get_vacation")
        to_everyone = await call.ok("send_email", to="everyone@vacation-reply.invalid", subject="x", body="y")
        off = await call.ok("set_vacation", enabled=False)
        after = await call.ok("get_vacation")

    assert (on["status"], again["status"], len(asked)) == ("sent", "already_executed", 1)
    for words in ("Subject: Away", "| Back in January.", "until 2199-01-04T00:00+01:00", "everybody who writes"):
        assert words in asked[0]
    assert (shown["enabled"], shown["body"], shown["end"]) == (True, "Back in January.", "2199-01-04T00:00+01:00")
    assert any("Never written to before" in warning for warning in to_everyone["warnings"])
    assert (off["status"], after["enabled"], after["body"]) == ("switched_off", False, "Back in January.")
    assert "operation_id" not in off
    assert gmail.sent == []
    audit = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    entries = [json.loads(line) for line in audit.splitlines()]
    states = [one["parameters"].get("state") for one in entries if one["action_type"] == "set_vacation"]
    assert states[-1] == "switched_off"
    assert "January" not in audit


@pytest.mark.parametrize("agrees", [False, None])
async def test_without_a_persons_word_it_stays_off(gmail: FakeGmail, tmp_path: Path, agrees: bool | None) -> None:
    async with sat(gmail, tmp_path, agrees=agrees) as (call, _):
        result = await call("set_vacation", **AWAY, confirm=True)

    assert (result.structured_content or {}).get("status") != "sent"
    assert state(gmail) == {"enableAutoReply": False}


@pytest.mark.parametrize(
    "safety", [{"dev_mode": True}, {"block_recipients": ["eve@evil.example"]}, {"allow_recipients": ["*@demo.example"]}]
)
async def test_dev_mode_and_recipient_lists_keep_it_off(
    gmail: FakeGmail, tmp_path: Path, safety: dict[str, Any]
) -> None:
    """Nobody can know who will write, so a list of who may be written to cannot be kept."""
    async with sat(gmail, tmp_path, **safety) as (call, asked):
        result = await call("set_vacation", **AWAY, confirm=True)

    assert (result.structured_content or {}).get("status") != "sent"
    assert (state(gmail), asked) == ({"enableAutoReply": False}, [])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"body": " "}, "body"),
        ({"body": "x" * 2001}, "body"),
        ({"body": "a\0b"}, "body"),
        ({"subject": "a\nb"}, "subject"),
        ({"first_day": "tomorrow"}, "first_day"),
        ({"last_day": "2026-12-24T12:00:00"}, "last_day"),
        ({"last_day": "2001-01-01"}, "last_day"),
        ({"first_day": "2199-02-01"}, "last_day"),
        ({"enabled": False}, "enabled"),
    ],
)
async def test_what_is_written_wrong_is_explained(
    gmail: FakeGmail, tmp_path: Path, wrong: dict[str, Any], field: str
) -> None:
    async with sat(gmail, tmp_path) as (call, _):
        error = await call.error("set_vacation", **{**AWAY, **wrong})

    assert (error["code"], error["details"]["field"]) == ("INVALID_REQUEST", field)


async def test_an_account_without_one_says_how_to_do_it_by_hand(settings: Settings) -> None:
    given = {"accounts": [one.model_dump() for one in settings.accounts], "server": {"toolsets": ["vacation"]}}
    async with Client(server_for(build(given, home=settings.home))) as client:
        for tool, arguments in (("get_vacation", {}), ("set_vacation", {"enabled": False}), ("set_vacation", AWAY)):
            error = await Caller(client).error(tool, **arguments)
            assert error["code"] == "UNSUPPORTED"
            assert "has none" in error["message"]


async def test_an_order_that_still_waits_does_not_switch_it_on_after_it_was_switched_off(
    gmail: FakeGmail, tmp_path: Path
) -> None:
    """The undo window holds it back; whoever says "off" in the meantime means that one too."""
    async with sat(gmail, tmp_path, hold_seconds=3600) as (call, _):
        held = await call.ok("set_vacation", **AWAY, confirm=True)
        off = await call.ok("set_vacation", enabled=False)
        (row,) = (await call.ok("list_outbox", include_finished=True))["results"]

    assert (held["status"], row["state"], off["status"]) == ("held", "cancelled", "switched_off")
    assert "1 order" in off["message"]
    assert state(gmail)["enableAutoReply"] is False


async def test_off_stops_only_what_would_switch_it_on(gmail: FakeGmail, tmp_path: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")
    async with sat(gmail, tmp_path) as (call, _):
        await call.ok("send_email", to="bob@demo.example", subject="x", body="y", send_at=tomorrow, confirm=True)
        await call.ok("set_vacation", **AWAY, confirm=True, require_approval=True)
        await call.ok("set_vacation", enabled=False)
        rows = (await call.ok("list_outbox"))["results"]

    assert sorted(row["state"] for row in rows) == ["awaiting_approval", "scheduled"]


async def test_what_was_approved_and_switched_off_since_is_asked_about_again(gmail: FakeGmail, tmp_path: Path) -> None:
    """A result of the morning must not be reported for a reply that is off in the evening."""
    async with sat(gmail, tmp_path, agrees=None, gate="approval") as (call, _):
        await call.ok("set_vacation", **AWAY, confirm=True)
        approve_pending(tmp_path / "vault")
        with anyio.fail_after(30):
            while not state(gmail)["enableAutoReply"]:
                await anyio.sleep(0.2)
        seen = await call.ok("set_vacation", **AWAY, confirm=True)
        await call.ok("set_vacation", enabled=False)
        again = await call.ok("set_vacation", **AWAY, confirm=True)

    assert (seen["status"], again["status"]) == ("already_executed", "needs_approval")
    assert state(gmail)["enableAutoReply"] is False
