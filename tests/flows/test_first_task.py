"""The first thing README asks for, in the demo: look for what is urgent, and answer it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from tests.flows.caller import Caller

from postroom.doors.mcp.serve import server_for
from postroom.settings import load_demo


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Caller]:
    with anyio.fail_after(60):
        async with Client(server_for(load_demo(environ={"POSTROOM_HOME": str(tmp_path)}))) as client:
            yield Caller(client)


async def test_the_urgent_mail_is_found_answered_and_answered_back(demo: Caller) -> None:
    urgent = await demo.email_id("is:unread subject:urgent")
    preview = await demo.ok("reply_email", email_id=urgent, body="41 %, the table is right.")
    assert preview["status"] == "preview"
    assert "warnings" not in preview

    sent = await demo.ok("reply_email", email_id=urgent, body="41 %, the table is right.", confirm=True)

    assert sent["status"] == "sent"
    answers = (await demo.ok("search_emails", query="in:inbox from:maya newer_than:1d subject:urgent"))["results"]
    assert len(answers) == 2
    newest = await demo.ok("read_email", email_id=answers[0]["email_id"])
    assert newest["subject"] == "Re: Urgent: which margin goes on slide 9?"
    assert newest["thread_id"] == sent["thread_id"]
    assert "Automatic answer" in newest["untrusted"]["body"]


@pytest.mark.parametrize("query", ["from:hanna", "from:zoe", "from:田中"])
async def test_everyone_who_writes_in_the_sample_can_be_written_to(demo: Caller, query: str) -> None:
    mail = (await demo.ok("search_emails", query=query, limit=1))["results"][0]

    preview = await demo.ok("reply_email", email_id=mail["email_id"], body="Thank you.")

    assert not [warning for warning in preview.get("warnings", []) if "cannot reach" in warning]


async def test_several_people_give_one_answer_and_it_is_answered_by_nobody(demo: Caller) -> None:
    found = await demo.ok("search_emails", query="from:maya subject:checklist", limit=1)
    arguments = {"email_id": found["results"][0]["email_id"], "body": "Nadia has signed it.", "reply_all": True}
    await demo.ok("reply_email", **arguments)

    sent = await demo.ok("reply_email", **arguments, confirm=True)

    assert sent["status"] == "sent"
    assert len(sent["accepted"]) > 1
    automatic = (await demo.ok("search_emails", query='"automatic answer"'))["results"]
    assert len(automatic) == 1


async def test_whoever_cannot_be_reached_is_named_before_anything_is_sent(demo: Caller) -> None:
    preview = await demo.ok("send_email", to="nobody@elsewhere.example", subject="Hello", body="Are you there?")

    assert any("cannot reach nobody@elsewhere.example" in warning for warning in preview["warnings"])
