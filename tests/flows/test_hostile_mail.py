"""A mail that would keep its reader busy for ever is answered for, and keeps nobody else waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from mcp import Client
from tests.flows.caller import Caller, text_of
from tests.unit.mime import odd_mails

from postroom.doors.mcp.serve import server_for
from postroom.mime import guarded
from postroom.mime import render as rendering
from postroom.mime.processes.workers import Workers
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import Settings

HEAD = b"From: eve@evil.example\r\nTo: alex@demo.example\r\nSubject: %s\r\n"
HTML = HEAD + b"Content-Type: text/html\r\n\r\n<p>Dear Alex</p>" + b"<p>words</p>" * 10_000
LETTER = HEAD + b"\r\nhello"


@pytest.fixture
async def hostile(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Caller]:
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=settings.home, neighbours=settings.accounts))
    await mailbox.connect()
    addresses = b"To: " + b"a@" * 32_000 + b" x\r\nSubject: addresses\r\n\r\nhello"
    raws = [HTML % b"endless", LETTER % b"short", addresses]
    await mailbox.add_messages([NewMail(raw=raw, folder="INBOX") for raw in raws])
    await mailbox.close()
    workers = Workers(count=1, seconds=8.0)
    monkeypatch.setattr(guarded, "shared", workers)
    async with Client(server_for(settings)) as client:
        yield Caller(client)
    workers.close()


async def test_other_calls_are_answered_while_a_mail_is_being_read_for_ever(
    hostile: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless, short = await hostile.email_id("subject:endless"), await hostile.email_id("subject:short")
    monkeypatch.setattr(rendering, "render", odd_mails.endless_unless_small)
    order: list[str] = []

    async def read(name: str, email_id: str) -> None:
        result = await hostile("read_email", email_id=email_id)
        order.append(name)
        if name == "endless":
            assert "Dear Alex words words" in text_of(result)
            assert "took too long" in text_of(result)
            assert result.structured_content is not None
            assert any("took too long" in defect for defect in result.structured_content["defects"])

    async with anyio.create_task_group() as group:
        group.start_soon(read, "endless", endless)
        await anyio.wait_all_tasks_blocked()
        await hostile.ok("list_accounts")
        await read("short", short)
        await hostile.ok("list_emails")
        order.append("list")
    assert order == ["short", "list", "endless"]


async def test_a_header_that_once_took_a_minute_is_read_and_listed(hostile: Caller) -> None:
    email_id = await hostile.email_id("subject:addresses")
    assert "hello" in text_of(await hostile("read_email", email_id=email_id))
