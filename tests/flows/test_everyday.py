"""Everyday questions, as a person asks them through a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult
from tests.flows.caller import Caller, text_of

from postroom.doors.mcp.serve import server_for
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import build, load_demo
from postroom.wiring import open_gateway

ACCOUNTS = [
    {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}
    for name in ("alex", "sam")
]


def mail(subject: str, sender: str = "bob@demo.example", to: str = "alex@demo.example", text: str = "Hello.") -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    message["Message-ID"], message["Date"] = (
        f"<{len(subject)}-{subject.encode().hex()}@mail.example>",
        "Mon, 02 Nov 2026 10:00:00 +0000",
    )
    message.set_content(text)
    return message.as_bytes()


@asynccontextmanager
async def served(
    home: Path, *, server: dict[str, Any] | None = None, answer: str = "", **safety: Any
) -> AsyncIterator[Caller]:
    """Two accounts with a few mails in the first; `answer` is what the person does with every question."""
    settings = build({"accounts": ACCOUNTS, "server": server or {}, "safety": safety}, home=home)
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=home, neighbours=settings.accounts))
    await mailbox.connect()
    if not any(folder.total for folder in await mailbox.folders()):
        letters = [
            mail("one"),
            mail("two"),
            mail("Straße", text="Anton-Weiß-Straße 5"),
            mail("mine", "Alex Rivera <ALEX@demo.example>", "bob@demo.example"),
            mail("meeting", "James <james@demo.example>"),
        ]
        await mailbox.add_messages([NewMail(raw=letter) for letter in letters])
    await mailbox.close()

    async def say(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action=answer, content={"send": True} if answer == "accept" else None)  # type: ignore[arg-type]

    with anyio.fail_after(60):
        async with Client(server_for(settings), elicitation_callback=say if answer else None) as client:
            yield Caller(client)


async def subjects(call: Caller, query: str, **more: Any) -> list[str]:
    return sorted(row["subject"] for row in (await call.ok("search_emails", query=query, **more))["results"])


async def test_me_is_every_address_of_the_account_and_nobody_else(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        assert await subjects(call, "from:me") == ["mine"]
        assert await subjects(call, "-from:me to:me") == ["Straße", "meeting", "one", "two"]
        assert await subjects(call, "from:me", account="sam") == []


@pytest.mark.parametrize("query", ["strasse", "Straße", "STRASSE", '"weiss strasse"', "subject:strasse", "stras*"])
async def test_a_word_with_a_sharp_s_is_found_however_it_is_written(tmp_path: Path, query: str) -> None:
    async with served(tmp_path) as call:
        assert await subjects(call, query) == ["Straße"]


@pytest.mark.parametrize(
    "to",
    ["a@demo.example, b@demo.example", "A <a@demo.example>; B <b@demo.example>", '"A, B" <a@x.example>, c@x.example'],
)
@pytest.mark.parametrize("field", ["to", "cc"])
async def test_several_addresses_in_one_string_are_asked_for_as_a_list(tmp_path: Path, field: str, to: str) -> None:
    async with served(tmp_path) as call:
        error = await call.error("create_draft", **{field: to}, subject="x", body="y")
    assert error["code"] == "INVALID_REQUEST"
    assert f"{field} contains several addresses" in error["message"]
    assert "Use a list" in error["message"]


async def test_a_comma_within_a_quoted_name_is_part_of_the_name(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        draft = await call.ok("create_draft", to='"Roe, Bob" <bob@demo.example>', subject="x", body="y")
    assert len(draft["to"]) == 1


async def test_a_list_over_all_accounts_says_in_each_line_whose_mail_it_is(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        everywhere = text_of(await call("list_emails", account="all"))
        here = text_of(await call("list_emails"))
    assert everywhere.count("[alex]") == 5
    assert "[alex]" not in here


async def test_undo_says_what_it_undid(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        ids = [await call.email_id("subject:one"), await call.email_id("subject:two")]
        deleted = await call.ok("delete_email", email_id=ids)
        marked = await call.ok("mark_email", email_id=ids[0], flag="read")
        labelled = await call.ok("apply_label", email_id=ids, label="travel")
        made = await call.ok("create_folder", name="Projects")
        back = await call("undo", operation_id=deleted["operation_id"])
        unmarked = await call("undo", operation_id=marked["operation_id"])
        unlabelled = await call("undo", operation_id=labelled["operation_id"])
        unmade = await call("undo", operation_id=made["operation_id"])
    assert text_of(back).startswith("2 of 2 emails moved back to INBOX.")
    assert back.structured_content is not None
    assert (back.structured_content["action"], back.structured_content["folders"]) == ("delete", ["INBOX"])
    assert text_of(unmarked).startswith("1 of 1 email marked unread again.")
    assert text_of(unlabelled).startswith("2 of 2 emails no longer labelled travel.")
    assert text_of(unmade) == "Folder Projects removed."


@pytest.mark.parametrize(("answer", "said"), [("cancel", "without an answer"), ("decline", "declined")])
async def test_a_question_that_was_closed_was_not_answered(tmp_path: Path, answer: str, said: str) -> None:
    async with served(tmp_path, answer=answer) as call:
        error = await call.error("send_email", to="sam@demo.example", subject="x", body="y", confirm=True)
        assert (await call.ok("list_outbox"))["results"] == []
    assert error["code"] == "PERMISSION_DENIED"
    assert said in error["message"]


async def test_nobody_is_asked_about_what_could_not_leave(tmp_path: Path) -> None:
    async with served(tmp_path, answer="decline", sends_per_hour=0) as call:
        error = await call.error("send_email", to="sam@demo.example", subject="x", body="y", confirm=True)
    assert error["code"] == "RATE_LIMIT_EXCEEDED"


async def test_an_account_that_fails_after_it_was_opened_is_found_out(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        await call.ok("list_emails", account="sam")
        (tmp_path / "sam.db").write_bytes(b"no database any more" * 500)
        accounts = (await call.ok("list_accounts", check=True))["accounts"]
    assert accounts[0]["status"] == "ok"
    assert accounts[1]["status"].startswith("reading: ")


@pytest.mark.parametrize(
    ("toolsets", "read_only", "offered"),
    [
        (["read"], False, {"triage_inbox", "daily_digest"}),
        (["read", "drafts"], False, {"triage_inbox", "daily_digest", "draft_reply"}),
        (["read", "drafts"], True, {"triage_inbox", "daily_digest"}),
        (["send"], False, set()),
    ],
)
async def test_a_prompt_is_offered_only_where_its_tools_are(
    tmp_path: Path, toolsets: list[str], read_only: bool, offered: set[str]
) -> None:
    async with served(tmp_path):
        pass
    async with served(tmp_path, server={"toolsets": toolsets, "read_only": read_only}) as call:
        prompts = {prompt.name for prompt in (await call.client.list_prompts()).prompts}
        texts = [str((await call.client.get_prompt(name)).messages) for name in prompts - {"draft_reply"}]
    assert prompts == offered
    assert not [text for text in texts if "moves and labels" in text]


async def test_an_archive_goes_into_the_sample_only_when_it_is_named(tmp_path: Path) -> None:
    from postroom.model.errors import InvalidRequest
    from postroom.service.accounts.importing import import_mail

    (tmp_path / "old.mbox").write_bytes(b"From a@b Mon Nov  2 10:00:00 2026\n" + mail("archived") + b"\n")
    async with open_gateway(load_demo(environ={"POSTROOM_HOME": str(tmp_path / "home")})) as gateway:
        with pytest.raises(InvalidRequest, match="sample mailbox"):
            await import_mail(gateway, tmp_path / "old.mbox")
        report = await import_mail(gateway, tmp_path / "old.mbox", account="alex")
    assert (report.added, report.folders) == (1, ("old",))
