"""How often one tool call asks the provider for what: an order is written once, whoever is asked about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult
from tests.flows.caller import Caller
from tests.flows.conftest import ERAS

from postroom.doors.mcp.server import build_server
from postroom.providers.layers.verbs import READING, WRITING
from postroom.service.gateway import Gateway
from postroom.settings import Settings
from postroom.wiring import open_gateway

YES = ElicitResult(action="accept", content={"send": True})


@asynccontextmanager
async def counted(settings: Settings, era: str, *, can_ask: bool) -> AsyncIterator[tuple[Caller, Counter[str]]]:
    """A client, and what the mailbox of its first account was asked for."""
    calls: Counter[str] = Counter()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Gateway]:
        async with open_gateway(settings) as gateway:
            count((await gateway.accounts.open("alex")).mailbox, calls)
            yield gateway

    async def person(_: Any, __: Any) -> ElicitResult:
        return YES

    asking = {"elicitation_callback": person} if can_ask else {}
    async with Client(build_server(opened, settings), mode=era, **asking) as client:  # type: ignore[arg-type]
        yield Caller(client), calls


def count(mailbox: Any, calls: Counter[str]) -> None:
    def counting(verb: str, real: Any, *args: Any, **kwargs: Any) -> Any:
        calls[verb] += 1
        return real(*args, **kwargs)

    for verb in (READING | WRITING) & vars(mailbox).keys():
        setattr(mailbox, verb, partial(counting, verb, getattr(mailbox, verb)))


def with_gate(settings: Settings, gate: str) -> Settings:
    return replace(settings, safety=settings.safety.model_copy(update={"gate": gate}))


async def reply(call: Caller, calls: Counter[str], **more: Any) -> dict[str, Any]:
    email_id = (await call.ok("list_emails", limit=1))["results"][0]["email_id"]
    calls.clear()
    return await call.ok("reply_email", email_id=email_id, body="Yes!", **more)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("gate", ["auto", "preview", "elicit"])
@pytest.mark.parametrize("can_ask", [False, True])
async def test_a_preview_of_a_reply_fetches_the_original_once(filled, era, gate, can_ask):
    async with counted(with_gate(filled, gate), era, can_ask=can_ask) as (call, calls):
        assert (await reply(call, calls))["status"] == "preview"
        assert (calls["fetch"], calls["identities"]) == (1, 2)  # to write it, and to know whom we wrote to before
        assert calls["search"] <= 2


@pytest.mark.parametrize("gate", ["auto", "elicit"])
async def test_a_reply_about_which_a_person_is_asked_within_the_call_is_written_once(filled, gate):
    async with counted(with_gate(filled, gate), "legacy", can_ask=True) as (call, calls):
        sent = await reply(call, calls, confirm=True)
        assert sent["status"] in ("sent", "rejected")
        assert (calls["fetch"], calls["identities"]) == (1, 3)  # the third: a last look before it is sent
        assert calls["search"] <= 2


async def test_a_call_that_is_repeated_with_the_answer_writes_its_order_once_each_time(filled):
    async with counted(with_gate(filled, "elicit"), "2026-07-28", can_ask=True) as (call, calls):
        assert (await reply(call, calls, confirm=True))["status"] in ("sent", "rejected")
        assert calls["fetch"] == 2


async def test_a_confirmed_reply_without_a_question_is_written_once(filled):
    async with counted(with_gate(filled, "preview"), "2026-07-28", can_ask=True) as (call, calls):
        await reply(call, calls)
        assert (await reply(call, calls, confirm=True))["status"] in ("sent", "rejected")
        assert (calls["fetch"], calls["identities"]) == (1, 2)
