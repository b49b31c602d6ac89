"""Mails made to fill a context: whatever a stranger puts into headers and parts, an answer stays small."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult
from tests.flows.caller import Caller
from tests.flows.mails import letter

from postroom.doors.mcp.serve import server_for
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount, Settings

PEOPLE = ", ".join(f"Person {number} <person{number}@example.com>" for number in range(1000))


def hostile(subject: str, **headers: str) -> EmailMessage:
    return letter("Eve <eve@evil.example>", subject, "Hello.", hours_ago=1, message_id=subject[:20], **headers)


def with_many_files() -> EmailMessage:
    mail = hostile("files")
    for number in range(600):
        mail.add_attachment(b"x", maintype="text", subtype="plain", filename=f"secret plan number {number}.txt")
    return mail


def long_named() -> EmailMessage:
    mail = hostile("named")
    mail.replace_header("From", f'"{"N" * 40_000}" <eve@evil.example>')
    return mail


async def fill(home: Path) -> None:
    account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=home / "alex.db")
    mailbox = LocalMailbox(account, ProviderContext(home=home, neighbours=(account,)))
    await mailbox.connect()
    crowd = [hostile("crowd", Cc=PEOPLE), long_named(), with_many_files(), hostile("endless " + "S" * 40_000)]
    await mailbox.add_messages(NewMail(raw=mail.as_bytes(), folder="INBOX") for mail in crowd)
    labels = tuple(f"label number {number}" for number in range(2000))
    await mailbox.add_messages([NewMail(raw=hostile("labelled").as_bytes(), folder="INBOX", labels=labels)])
    thread = [
        letter("eve@evil.example", "long", "word " * 4000, hours_ago=9, message_id=f"t{number}", References="<t@x>")
        for number in range(30)
    ]
    await mailbox.add_messages(NewMail(raw=mail.as_bytes(), folder="INBOX") for mail in thread)
    await mailbox.close()


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("flooded")
    anyio.run(fill, home)
    return home / "alex.db"


@pytest.fixture
async def caller(settings: Settings, flooded: Path) -> AsyncIterator[Caller]:
    shutil.copy(flooded, settings.home / "alex.db")
    async with Client(server_for(settings)) as client:
        yield Caller(client)


def size(result: CallToolResult) -> int:
    return len(result.model_dump_json())


@pytest.mark.parametrize("subject", ["crowd", "named", "files", "endless", "labelled"])
@pytest.mark.parametrize("tool", ["list_emails", "search_emails", "read_email", "get_thread", "reply_email"])
async def test_no_mail_makes_an_answer_large(caller: Caller, subject: str, tool: str) -> None:
    email_id = await caller.email_id(f"subject:{subject}")
    arguments = {
        "list_emails": {"limit": 5},
        "search_emails": {"query": f"subject:{subject}"},
        "read_email": {"email_id": email_id},
        "get_thread": {"thread_id": email_id},
        "reply_email": {"email_id": email_id, "body": "No."},
    }

    assert size(await caller(tool, **arguments[tool])) < 30_000


async def test_what_was_left_out_is_counted(caller: Caller) -> None:
    crowd = await caller.ok("read_email", email_id=await caller.email_id("subject:crowd"))
    files = await caller.ok("read_email", email_id=await caller.email_id("subject:files"))
    labelled = await caller.ok("read_email", email_id=await caller.email_id("subject:labelled"))

    assert crowd["cc"][-1] == "and 950 more"
    assert labelled["labels"][-1] == "and 1950 more"
    assert len(files["attachments"]) == 50
    assert any("600 attachments" in warning for warning in files["sender_checks"]["warnings"])
    every = await caller.ok("list_attachments", email_id=files["email_id"])
    assert len(every["attachments"]) == 600


async def test_a_whole_thread_costs_no_more_than_one_mail_may(caller: Caller) -> None:
    newest = (await caller.ok("search_emails", query="subject:long", limit=1))["results"][0]

    thread = await caller.ok("get_thread", thread_id=newest["thread_id"], limit=100, max_chars=200_000)

    assert len(thread["emails"]) == 30
    assert sum(len(email["untrusted"]["body"]) for email in thread["emails"]) <= 200_000
    assert all(email["truncated"] for email in thread["emails"])


async def test_a_reply_to_a_crowd_is_refused_as_draft_and_as_mail(caller: Caller) -> None:
    email_id = await caller.email_id("subject:crowd")

    for tool in ("draft_reply", "reply_email"):
        error = await caller.error(tool, email_id=email_id, body="No.", reply_all=True)
        assert (error["code"], error["details"]["field"]) == ("INVALID_REQUEST", "reply_all")
    assert (await caller.ok("list_drafts"))["total_count"] == 0


async def test_names_of_files_stand_in_no_error(caller: Caller) -> None:
    email_id = await caller.email_id("subject:files")

    error = await caller.error("download_attachment", email_id=email_id, attachment_id="none")

    assert error["code"] == "NOT_FOUND"
    assert "secret plan" not in error["message"]
    assert "list_attachments" in error["message"]
