"""Quoted history over the tools: folded only where the mailbox itself shows that it is a copy, and always said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.flows.caller import Caller, text_of
from tests.flows.mails import letter

from postroom.mime.limits import MAX_INLINE_TEXT
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount

ASKED = "Dear Alex,\n\nthe lighthouse repair starts on Monday at nine. Please bring ropes and the long ladder.\n\nMarta"
MARTA, CY = "Marta Quist <marta@harbour.example>", "Cy <cy@example.com>"
ATTRIBUTION = "On Mon, Nov 2, 2026 at 9:00 AM Marta Quist <marta@harbour.example> wrote:"
OUTLOOK = (
    "________________________________\nFrom: Marta Quist <marta@harbour.example>\nSent: Monday, 2 November 2026 09:00\n"
    "To: Alex Rivera <alex@demo.example>\nSubject: Lighthouse\n"
)
Add = Callable[..., Awaitable[None]]


@pytest.fixture
def add(tmp_path: Path) -> Add:
    """Mails that come in while the tools are in use."""

    async def put(*mails: EmailMessage) -> None:
        account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=tmp_path / "alex.db")
        mailbox = LocalMailbox(account, ProviderContext(home=tmp_path, neighbours=(account,), read_only=False))
        await mailbox.connect()
        await mailbox.add_messages(NewMail(raw=mail.as_bytes()) for mail in mails)
        await mailbox.close()

    return put


def asked() -> EmailMessage:
    return letter(MARTA, "Lighthouse", ASKED, hours_ago=5, message_id="light-1")


def answer(
    body: str, *, sender: str = CY, subject: str = "Re: Lighthouse", to: str = "light-1", **headers: str
) -> EmailMessage:
    linked = {"In_Reply_To": f"<{to}@mail.example>", "References": f"<{to}@mail.example>"} if to else {}
    return letter(sender, subject, body, hours_ago=4, message_id="light-2", **linked, **headers)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


async def body_of(caller: Caller, query: str = "from:cy subject:lighthouse", **arguments: object) -> str:
    opened = await caller.ok("read_email", email_id=await caller.email_id(query), **arguments)
    body: str = opened["untrusted"]["body"]
    return body


async def test_a_copy_of_the_mail_that_was_answered_is_folded_and_said(caller: Caller, add: Add) -> None:
    await add(asked(), answer(f"I will bring tea.\n\n{OUTLOOK}\n{ASKED}"))
    email_id = await caller.email_id("from:cy subject:lighthouse")

    result = await caller("read_email", email_id=email_id)

    assert result.structured_content is not None
    assert result.structured_content["untrusted"]["body"] == "I will bring tea."
    folded = result.structured_content["quoted_folded"]
    assert folded > len(ASKED)
    assert f"{folded} characters of quoted history omitted (include_quoted=true shows them)" in text_of(result)
    assert "long ladder" in await body_of(caller, include_quoted=True)


@pytest.mark.parametrize("fmt", ["markdown", "text", "html"])
async def test_what_the_answered_mail_does_not_say_is_shown(caller: Caller, add: Add, fmt: str) -> None:
    await add(asked(), answer(f"Hi\n\n{ATTRIBUTION}\n{quoted(ASKED)}\n> Pay invoice 77 to account 12345 by noon.\n"))

    assert "account 12345" in await body_of(caller, body_format=fmt)


async def test_a_quote_of_a_mail_that_the_mailbox_does_not_have_is_shown(caller: Caller, add: Add) -> None:
    await add(answer(f"I will bring tea.\n\n{ATTRIBUTION}\n{quoted(ASKED)}", to="never-seen"))

    assert "long ladder" in await body_of(caller)


async def test_a_quote_in_a_mail_that_answers_nothing_is_shown(caller: Caller, add: Add) -> None:
    await add(asked(), answer(f"Look:\n\n{ATTRIBUTION}\n{quoted(ASKED)}", to=""))

    assert "long ladder" in await body_of(caller)


async def test_a_forward_of_a_mail_that_is_here_is_shown(caller: Caller, add: Add) -> None:
    await add(asked(), answer(f"FYI\n\n{OUTLOOK}\n{ASKED}", subject="FW: Lighthouse"))

    assert "long ladder" in await body_of(caller)


async def test_two_mails_that_name_each_other_do_not_hide_behind_each_other(caller: Caller, add: Add) -> None:
    secret = "Pay invoice 77 to account 12345 by noon, and tell nobody."
    first = letter(MARTA, "Lighthouse", f"Hi\n\n{ATTRIBUTION}\n{quoted(secret)}", hours_ago=5, message_id="light-1",
                   In_Reply_To="<light-2@mail.example>")  # fmt: skip
    await add(first, answer(f"Hi\n\n{ATTRIBUTION}\n{quoted(secret)}"))

    shown = [await body_of(caller, query) for query in ("from:cy subject:lighthouse", "from:marta")]

    assert any("account 12345" in body for body in shown)


async def test_a_mail_that_names_itself_is_no_copy_of_itself(caller: Caller, add: Add) -> None:
    await add(answer(f"Hi\n\n{ATTRIBUTION}\n{quoted(ASKED)}", to="light-2"))

    assert "long ladder" in await body_of(caller)


async def test_a_thread_shows_each_word_once(caller: Caller, add: Add) -> None:
    first = answer(f"I will bring tea.\n\n{ATTRIBUTION}\n{quoted(ASKED)}", to="not-here")
    second = letter(
        "Di <di@example.com>",
        "Re: Lighthouse",
        f"And I cake.\n\n{OUTLOOK}\nI will bring tea.\n\n{ATTRIBUTION}\n{quoted(ASKED)}",
        hours_ago=3,
        message_id="light-3",
        In_Reply_To="<light-2@mail.example>",
    )
    await add(first, second)

    result = await caller("get_thread", thread_id=await caller.email_id("from:di"))

    assert result.structured_content is not None
    one, two = result.structured_content["emails"]
    assert "long ladder" in one["untrusted"]["body"]
    assert one["quoted_folded"] == 0
    assert two["untrusted"]["body"] == "And I cake."
    assert two["quoted_folded"] > len(ASKED)
    said = f"omitted from {two['email_id']} ({two['quoted_folded']} characters); read_email with include_quoted=true"
    assert said in text_of(result)


async def test_a_thread_cut_to_its_newest_mail_still_knows_what_was_said_before(caller: Caller, add: Add) -> None:
    await add(asked(), answer(f"I will bring tea.\n\n{ATTRIBUTION}\n{quoted(ASKED)}"))

    thread = await caller.ok("get_thread", thread_id=await caller.email_id("from:cy subject:lighthouse"), limit=1)

    assert [email["untrusted"]["body"] for email in thread["emails"]] == ["I will bring tea."]


async def test_words_of_a_folded_quote_are_still_found_and_the_snippet_is_the_new_text(
    caller: Caller, add: Add
) -> None:
    await add(asked(), answer(f"I will bring tea.\n\n{OUTLOOK}\n{ASKED}"))

    found = (await caller.ok("search_emails", query="ladder from:cy"))["results"]

    assert [row["snippet"] for row in found] == ["I will bring tea."]


async def test_a_large_mail_is_folded_by_the_process_that_reads_it(caller: Caller, add: Add) -> None:
    points = "\n".join(f"Point {number} of the plan is settled." for number in range(7_000))
    remarks = "\n".join(f"Remark {number} is a long one: {'word ' * 20}" for number in range(3_000))
    await add(letter(MARTA, "Lighthouse", points, hours_ago=5, message_id="light-1"))
    body = f"{remarks}\n\n{ATTRIBUTION}\n{quoted(points)}"
    await add(answer(body))
    opened = await caller.ok("read_email", email_id=await caller.email_id("from:cy subject:lighthouse"))
    assert len(body) > MAX_INLINE_TEXT
    assert opened["quoted_folded"] > len(points)
    assert opened["total_chars"] < len(body) - len(points)
