"""Toolset `drafts` from the client's end: written, answered, forwarded, changed, thrown away; never sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.flows.caller import Caller, text_of
from tests.flows.mails import letter

from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount

UNSEEN = "the whole contract was accepted by everybody, with all its costs, in spring, and the money will follow soon"


async def opened(call: Caller, draft: dict[str, Any]) -> dict[str, Any]:
    return await call.ok("read_email", email_id=draft["email_id"], include_quoted=True)


async def test_a_draft_is_saved_listed_and_not_sent(call: Caller) -> None:
    draft = await call.ok("create_draft", to="Sam <sam@demo.example>", subject="Lunch?", body="At one?")

    listed = await call.ok("list_drafts")
    assert [entry["draft_id"] for entry in listed["results"]] == [draft["draft_id"]]
    assert (draft["to"], draft["subject"]) == (["Sam <sam@demo.example>"], "Lunch?")
    assert (await call.ok("list_emails", account="sam"))["total_count"] == 0
    assert (await opened(call, draft))["untrusted"]["body"].strip() == "At one?"


async def test_recipients_come_as_one_or_many(call: Caller) -> None:
    draft = await call.ok(
        "create_draft", to=["a@example.com", "b@example.com"], cc="c@example.com", bcc=["d@example.com"], body="x"
    )

    assert (draft["to"], draft["cc"], draft["bcc"]) == (
        ["a@example.com", "b@example.com"],
        ["c@example.com"],
        ["d@example.com"],
    )


async def test_a_reply_goes_to_the_sender_in_the_same_thread(call: Caller) -> None:
    row = (await call.ok("search_emails", query="from:cy"))["results"][0]

    draft = await call.ok("draft_reply", email_id=row["email_id"], body="Sunday it is.")

    assert draft["to"] == ["Cy <cy@example.com>"]
    assert draft["subject"] == "Re: Picnic"
    assert draft["thread_id"] == row["thread_id"]
    assert "Yes, on Sunday." in (await opened(call, draft))["untrusted"]["body"]


async def test_a_reply_can_do_without_the_quote(call: Caller) -> None:
    email_id = await call.email_id("from:cy")

    draft = await call.ok("draft_reply", email_id=email_id, body="Fine.", quote=False)

    assert (await opened(call, draft))["untrusted"]["body"].strip() == "Fine."


async def test_nothing_is_quoted_that_only_the_plain_text_part_says(caller: Caller, tmp_path: Path) -> None:
    mail = letter("Mal <mal@evil.example>", "Offer", "As agreed, " + UNSEEN, hours_ago=1, message_id="unseen")
    mail.add_alternative("<p>Shall we meet on Monday?</p>", subtype="html")
    account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=tmp_path / "alex.db")
    mailbox = LocalMailbox(account, ProviderContext(home=tmp_path, neighbours=(account,), read_only=False))
    await mailbox.connect()
    await mailbox.add_messages([NewMail(raw=mail.as_bytes())])
    await mailbox.close()

    email_id = await caller.email_id("subject:offer")
    draft = await caller.ok("draft_reply", email_id=email_id, body="Fine.")
    shown = (await caller.ok("reply_email", email_id=email_id, body="Fine."))["preview"]

    quoted = (await opened(caller, draft))["untrusted"]["body"]
    assert "> Shall we meet on Monday?" in quoted
    assert UNSEEN not in quoted + str(shown)


async def test_a_forward_takes_the_original_along(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    draft = await call.ok("draft_forward", email_id=email_id, to="sam@demo.example", comment="For you.")

    assert draft["has_attachments"]
    assert draft["subject"].endswith("Invoice 77")


async def test_an_update_changes_only_what_is_named_and_keeps_the_id(call: Caller) -> None:
    draft = await call.ok("create_draft", to="a@example.com", subject="Old", body="Words", bcc="b@example.com")

    changed = await call.ok("update_draft", draft_id=draft["draft_id"], subject="New")

    assert changed["draft_id"] == draft["draft_id"]
    assert (changed["subject"], changed["to"], changed["bcc"]) == ("New", ["a@example.com"], ["b@example.com"])
    assert (await opened(call, changed))["untrusted"]["body"].strip() == "Words"


async def test_an_update_can_empty_a_field(call: Caller) -> None:
    draft = await call.ok("create_draft", to="a@example.com", cc="c@example.com", body="x")

    assert (await call.ok("update_draft", draft_id=draft["draft_id"], cc=[]))["cc"] == []


async def test_null_in_an_update_keeps_what_is_there(call: Caller) -> None:
    draft = await call.ok("create_draft", to="a@example.com", subject="Stays", body="x")

    assert (await call.ok("update_draft", draft_id=draft["draft_id"], subject=None, body="y"))["subject"] == "Stays"


@pytest.mark.parametrize("text", ['{"total": 1}', "[1, 2]", "null", "true", '"quoted"'])
async def test_a_text_that_happens_to_be_json_stays_what_was_written(call: Caller, text: str) -> None:
    draft = await call.ok("create_draft", to="a@example.com", subject="Old", body="Old")

    await call.ok("update_draft", draft_id=draft["draft_id"], body=text, subject=text)
    preview = (await call.ok("send_email", to="sam@demo.example", subject=text, body=text))["preview"]

    assert (await opened(call, draft))["untrusted"]["body"].strip() == text
    assert (await call.ok("list_drafts"))["results"][0]["subject"] == text
    assert (preview["subject"], preview["body_excerpt"]) == (text, text)


async def test_a_deleted_draft_is_gone(call: Caller) -> None:
    draft = await call.ok("create_draft", to="a@example.com", body="x")

    deleted = await call.ok("delete_draft", draft_id=draft["draft_id"])

    assert (deleted["draft_id"], deleted["status"]) == (draft["draft_id"], "deleted")
    assert (await call.error("update_draft", draft_id=draft["draft_id"], body="y"))["code"] == "NOT_FOUND"


async def test_a_deleted_draft_lies_in_the_trash_and_comes_back_by_undo(call: Caller) -> None:
    draft = await call.ok("create_draft", to="a@example.com", subject="Second thoughts", body="x")
    deleted = await call.ok("delete_draft", draft_id=draft["draft_id"])
    assert (await call.ok("search_emails", query='in:trash subject:"second thoughts"'))["total_count"] == 1

    await call.ok("undo", operation_id=deleted["operation_id"])

    assert (await call.ok("update_draft", draft_id=draft["draft_id"], body="y"))["subject"] == "Second thoughts"


async def test_a_file_from_an_allowed_folder_is_attached(call: Caller) -> None:
    draft = await call.ok("create_draft", to="a@example.com", body="x", attachments=["plan.txt"])

    (attachment,) = (await opened(call, draft))["attachments"]
    assert attachment["filename"] == "plan.txt"


async def test_a_file_from_elsewhere_is_refused_and_no_draft_is_left(call: Caller) -> None:
    error = await call.error("create_draft", to="a@example.com", body="x", attachments=["/etc/passwd"])

    assert error["code"] == "PERMISSION_DENIED"
    assert (await call.ok("list_drafts"))["total_count"] == 0


async def test_a_new_html_version_takes_the_old_text_along(call: Caller) -> None:
    draft = await call.ok("create_draft", to="sam@demo.example", body="On Monday.", body_html="<p>On <i>Monday</i></p>")

    changed = await call.ok("update_draft", draft_id=draft["draft_id"], body_html="<p>On <b>Tuesday</b>.</p>")
    text = await call.ok("read_email", email_id=changed["email_id"], body_format="text")
    assert text["untrusted"]["body"].strip() == "On Tuesday."


@pytest.mark.parametrize("html", ["<p>On Monday.</p>", "<p>On <b>some</b> day.</p>"], ids=["same words", "others"])
async def test_what_takes_the_html_version_away_keeps_the_words(call: Caller, html: str) -> None:
    draft = await call.ok("create_draft", to="sam@demo.example", body="On Monday.", body_html=html)

    plain = await call.ok("update_draft", draft_id=draft["draft_id"], body_html="")
    assert (await opened(call, plain))["untrusted"]["body"].strip() == "On Monday."


async def test_a_tool_of_one_account_does_not_say_that_all_is_no_account(call: Caller) -> None:
    refused = await call.error("list_drafts", account="all")
    assert refused["message"].startswith("This takes one account, not all. Use one of: alex")


async def test_an_identity_that_is_not_ours_is_refused(call: Caller) -> None:
    error = await call.error("create_draft", to="a@example.com", body="x", identity="boss@example.com")

    assert error["code"] == "INVALID_REQUEST"
    assert "alex@demo.example" in error["message"]


async def test_a_draft_in_a_conversation_is_not_taken_for_an_answer_that_was_sent(call: Caller) -> None:
    original = (await call.ok("search_emails", query="from:cy"))["results"][0]
    draft = await call.ok("draft_reply", email_id=original["email_id"], body="Not yet sure.")

    conversation = text_of(await call("get_thread", thread_id=original["thread_id"]))
    opened_draft = text_of(await call("read_email", email_id=draft["email_id"]))
    opened_original = text_of(await call("read_email", email_id=original["email_id"]))

    assert f"{draft['email_id']} is a draft: it was not sent." in conversation.partition("<untrusted")[0]
    assert "It is a draft: it was not sent." in opened_draft.partition("<untrusted")[0]
    assert "draft" not in opened_original
    assert "~ draft, not sent." in text_of(await call("search_emails", query="Not yet sure"))
