"""The vacation reply over MCP where a server keeps it as a Sieve script, on a real Dovecot, beside others' scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult
from tests.flows.caller import Caller
from tests.peers.dovecot import PASSWORD, Dovecot

from postroom.doors.mcp.serve import server_for
from postroom.providers.imap.rules.managesieve import SieveScripts
from postroom.settings import ImapAccount, build

AWAY = {"enabled": True, "subject": 'Away "again"', "body": "Back in January.\n.\nBye", "last_day": "2199-01-03"}


@pytest.fixture
def account(dovecot: Dovecot) -> dict[str, Any]:
    imap = {"host": dovecot.host, "port": dovecot.imap, "security": "none", "password": PASSWORD}
    sieve = {"sieve_host": dovecot.host, "sieve_port": dovecot.sieve, "sieve_security": "none"}
    address = dovecot.new_user("away")
    return {"name": "mine", "provider": "imap", "address": address, "smtp_host": dovecot.host, **imap, **sieve}


@asynccontextmanager
async def sat(account: dict[str, Any], home: Path, *, agrees: bool = True) -> AsyncIterator[tuple[Caller, list[str]]]:
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept" if agrees else "decline", content={"send": True} if agrees else None)

    server = {"toolsets": ["read", "send", "vacation"], "timezone": "Europe/Berlin"}
    settings = build({"server": server, "accounts": [account]}, home=home)
    async with Client(server_for(settings), elicitation_callback=person) as client:
        yield Caller(client), asked


def scripts(account: dict[str, Any]) -> SieveScripts:
    return SieveScripts(ImapAccount.model_validate(account))


async def test_it_is_shown_asked_about_switched_on_once_and_off_without_a_question(
    account: dict[str, Any], tmp_path: Path
) -> None:
    async with sat(account, tmp_path) as (call, asked):
        assert "vacation" in (await call.ok("get_capabilities"))["can"]
        assert (await call.ok("set_vacation", **AWAY))["status"] == "preview"
        assert (await call.ok("get_vacation"))["enabled"] is False
        on = await call.ok("set_vacation", **AWAY, confirm=True, idempotency_key="k")
        again = await call.ok("set_vacation", **AWAY, confirm=True, idempotency_key="k")
        shown = await call.ok("get_vacation")
        active = (await scripts(account).list()).active
        off = await call.ok("set_vacation", enabled=False)
        after = await call.ok("get_vacation")

    assert (on["status"], again["status"], len(asked)) == ("sent", "already_executed", 1)
    assert on["message"] == "The vacation reply is on; no email was sent yet."
    assert on["warnings"] == ["It goes to everybody who writes to this mailbox."]
    for words in ('Subject: Away "again"', "| Back in January.", "| .", "until 2199-01-04T00:00+01:00"):
        assert words in asked[0]
    assert (shown["enabled"], shown["subject"], shown["body"]) == (True, AWAY["subject"], AWAY["body"])
    assert (shown["end"], shown["note"], active) == ("2199-01-04T00:00+01:00", "", "postroom")
    assert (off["status"], after["enabled"], after["body"]) == ("switched_off", False, AWAY["body"])
    assert (await scripts(account).list()).active == ""
    audit = "".join(path.read_text() for path in tmp_path.rglob("*.jsonl"))
    assert "January" not in audit


async def test_without_a_persons_yes_nothing_is_stored(account: dict[str, Any], tmp_path: Path) -> None:
    async with sat(account, tmp_path, agrees=False) as (call, asked):
        result = await call("set_vacation", **AWAY, confirm=True)

    assert ((result.structured_content or {}).get("status") != "sent", len(asked)) == (True, 1)
    assert (await scripts(account).list()).names == ()


async def test_somebody_elses_script_is_named_before_anybody_is_asked(account: dict[str, Any], tmp_path: Path) -> None:
    await scripts(account).put("holiday", "keep;")
    await scripts(account).activate("holiday")
    async with sat(account, tmp_path) as (call, asked):
        shown = await call("get_vacation")
        for arguments in ({**AWAY, "confirm": True}, {"enabled": False}):
            error = await call.error("set_vacation", **arguments)
            assert (error["code"], "'holiday'" in error["message"]) == ("CONFLICT", True)

    (text,) = [part.text for part in shown.content if part.type == "text"]
    assert "cannot be told" in text
    assert "is off" not in text
    assert asked == []
    assert (await scripts(account).list()).active == "holiday"


async def test_an_account_without_managesieve_says_what_is_missing(account: dict[str, Any], tmp_path: Path) -> None:
    async with sat({**account, "sieve_host": ""}, tmp_path) as (call, _):
        assert "vacation" in (await call.ok("get_capabilities"))["cannot"]
        for tool, arguments in (("get_vacation", {}), ("set_vacation", {"enabled": False}), ("set_vacation", AWAY)):
            error = await call.error(tool, **arguments)
            assert (error["code"], "sieve_host" in error["message"]) == ("UNSUPPORTED", True)
