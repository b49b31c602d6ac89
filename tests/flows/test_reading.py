"""Toolset `read` from the client's end, in both protocol eras, on a real mailbox."""

from __future__ import annotations

import base64
from pathlib import Path

from mcp_types import ResourceLink
from tests.flows import mails
from tests.flows.caller import Caller, text_of

from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount, Settings

ROW = [
    "email_id",
    "thread_id",
    "account",
    "mailbox",
    "from",
    "to",
    "subject",
    "date",
    "snippet",
    "unread",
    "starred",
    "has_attachments",
    "labels",
    "size",
]


async def test_the_accounts_are_listed_with_the_default_first(call: Caller) -> None:
    accounts = (await call.ok("list_accounts", check=True))["accounts"]

    assert [(account["name"], account["is_default"], account["status"]) for account in accounts] == [
        ("alex", True, "ok"),
        ("sam", False, "ok"),
    ]


async def test_capabilities_say_what_an_account_can_and_cannot(call: Caller) -> None:
    able = await call.ok("get_capabilities", account="sam")

    assert able["account"] == "sam"
    assert "draft" in able["can"]
    assert not set(able["can"]) & set(able["cannot"])


async def test_folders_are_listed_with_roles_and_counts(call: Caller) -> None:
    folders = (await call.ok("list_folders"))["folders"]

    inbox = next(folder for folder in folders if folder["role"] == "inbox")
    assert (inbox["total"], inbox["unread"]) == (25, 25)


async def test_a_listing_has_the_promised_rows_newest_first_and_pages(call: Caller) -> None:
    first = await call.ok("list_emails", limit=3)
    second = await call.ok("list_emails", limit=3, offset=3)

    assert list(first["results"][0]) == ROW
    assert [row["date"] for row in first["results"]] == sorted((row["date"] for row in first["results"]), reverse=True)
    assert (first["total_count"], first["limit"], first["offset"], first["has_more"]) == (25, 3, 0, True)
    ids = {row["email_id"] for page in (first, second) for row in page["results"]}
    assert len(ids) == 6


async def test_the_last_page_says_that_there_is_no_more(call: Caller) -> None:
    page = await call.ok("list_emails", limit=10, offset=20)

    assert len(page["results"]) == 5
    assert not page["has_more"]


async def test_unread_only_follows_the_marks(call: Caller) -> None:
    first = (await call.ok("list_emails", limit=1))["results"][0]["email_id"]
    await call.ok("mark_email", email_id=first, flag="read")

    unread = await call.ok("list_emails", unread_only=True, limit=100)

    assert unread["total_count"] == 24
    assert first not in {row["email_id"] for row in unread["results"]}


async def test_search_speaks_the_query_language(call: Caller) -> None:
    assert (await call.ok("search_emails", query="from:billing has:attachment"))["total_count"] == 1
    assert (await call.ok("search_emails", query='subject:picnic -"Sunday"'))["total_count"] == 1
    assert (await call.ok("search_emails", query="picnic OR invoice", account="all"))["total_count"] == 3
    assert (await call.ok("search_emails", query="picnic", mailbox="sent"))["results"] == []


async def test_a_mail_is_opened_with_its_text_set_apart(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    result = await call("read_email", email_id=email_id)

    email = result.structured_content
    assert email is not None
    assert email["email_id"] == email_id
    assert email["subject"] == "Invoice 77"
    assert email["untrusted"]["body"].strip() == "See attached."
    marker = email["untrusted"]["marker"]
    said = text_of(result)
    assert said.index(f"<{marker}>") < said.index("See attached.") < said.index(f"</{marker}>")


async def test_the_marker_is_new_in_every_answer(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    markers = {(await call.ok("read_email", email_id=email_id))["untrusted"]["marker"] for _ in range(3)}

    assert len(markers) == 3


async def test_reading_leaves_the_mail_unread(call: Caller) -> None:
    email_id = await call.email_id("from:billing")
    await call.ok("read_email", email_id=email_id)

    assert (await call.ok("search_emails", query="from:billing"))["results"][0]["unread"]


async def test_a_long_body_is_paged_and_the_pages_make_the_whole(call: Caller) -> None:
    email_id = await call.email_id("from:weekly")
    whole = (await call.ok("read_email", email_id=email_id, max_chars=100_000))["untrusted"]["body"]
    collected, offset, truncated = "", 0, True
    while truncated:
        page = await call.ok("read_email", email_id=email_id, max_chars=700, offset=offset)
        collected += page["untrusted"]["body"]
        truncated, offset = page["truncated"], offset + 700

    assert collected == whole


async def test_a_truncated_text_says_where_to_read_on(call: Caller) -> None:
    email_id = await call.email_id("from:weekly")

    said = text_of(await call("read_email", email_id=email_id, max_chars=100))

    assert "offset=100" in said


async def test_quoted_history_is_folded_unless_asked_for(call: Caller) -> None:
    email_id = await call.email_id("from:cy")

    folded = await call.ok("read_email", email_id=email_id)
    whole = await call.ok("read_email", email_id=email_id, include_quoted=True)

    assert "Shall we?" not in folded["untrusted"]["body"]
    assert folded["quoted_folded"] > 0
    assert "Shall we?" in whole["untrusted"]["body"]


async def test_the_raw_form_is_the_mail_as_it_came(call: Caller) -> None:
    email_id = await call.email_id("from:cy")

    raw = (await call.ok("read_email", email_id=email_id, body_format="raw"))["untrusted"]["body"]

    assert "Message-ID: <picnic-2@mail.example>" in raw


async def test_a_thread_is_opened_by_its_id_or_by_a_mail_in_it(call: Caller) -> None:
    row = (await call.ok("search_emails", query="from:cy"))["results"][0]

    by_thread = await call.ok("get_thread", thread_id=row["thread_id"])
    by_mail = await call.ok("get_thread", thread_id=row["email_id"])

    assert [email["from"] for email in by_thread["emails"]] == ["Bo <bo@example.com>", "Cy <cy@example.com>"]
    assert by_thread["total_count"] == 2
    assert [email["email_id"] for email in by_mail["emails"]] == [email["email_id"] for email in by_thread["emails"]]


async def test_a_thread_can_be_cut_to_its_newest_mails(call: Caller) -> None:
    thread_id = (await call.ok("search_emails", query="from:cy"))["results"][0]["thread_id"]

    thread = await call.ok("get_thread", thread_id=thread_id, limit=1)

    assert [email["from"] for email in thread["emails"]] == ["Cy <cy@example.com>"]
    assert thread["has_more"]


async def test_a_thread_of_500_mails_comes_in_one_call(filled: Settings, caller: Caller) -> None:
    letters = [
        mails.letter(
            "Bo <bo@example.com>",
            "Re: The long one",
            f"Answer number{number}x.",
            hours_ago=1000 - number,
            message_id=f"long-{number}",
            References="<long-0@mail.example>",
        )
        for number in range(500)
    ]
    account = filled.accounts[0]
    assert isinstance(account, LocalAccount)
    mailbox = LocalMailbox(account, ProviderContext(home=filled.home, neighbours=(account,)))
    await mailbox.connect()
    await mailbox.add_messages(NewMail(raw=one.as_bytes()) for one in letters)
    await mailbox.close()
    row = (await caller.ok("search_emails", query="number499x"))["results"][0]

    thread = await caller.ok("get_thread", thread_id=row["thread_id"], limit=500)

    assert (thread["total_count"], len(thread["emails"]), thread["has_more"]) == (500, 500, False)
    assert ["number0x" in str(thread["emails"][0]), "number499x" in str(thread["emails"][-1])] == [True, True]


async def test_attachments_are_listed_with_safe_names_and_links(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    result = await call("list_attachments", email_id=email_id)

    assert result.structured_content is not None
    pdf, logo = result.structured_content["attachments"]
    assert (pdf["filename"], pdf["mime_type"], pdf["size"]) == ("invoice 77.pdf", "application/pdf", len(mails.PDF))
    assert logo["inline"]
    links = [block for block in result.content if isinstance(block, ResourceLink)]
    assert [link.uri for link in links] == [pdf["uri"]]


async def test_an_attachment_is_saved_in_the_download_folder(call: Caller, tmp_path: Path) -> None:
    email_id = await call.email_id("from:billing")
    pdf = (await call.ok("list_attachments", email_id=email_id))["attachments"][0]

    saved = await call.ok("download_attachment", email_id=email_id, attachment_id=pdf["attachment_id"])

    path = Path(saved["path"])
    assert path.parent == tmp_path / "downloads"
    assert path.read_bytes() == mails.PDF
    assert "content_base64" not in saved


async def test_a_small_attachment_comes_as_base64_when_asked_for(call: Caller, tmp_path: Path) -> None:
    email_id = await call.email_id("from:billing")
    pdf = (await call.ok("list_attachments", email_id=email_id))["attachments"][0]

    given = await call.ok("download_attachment", email_id=email_id, attachment_id=pdf["attachment_id"], as_base64=True)

    assert base64.b64decode(given["content_base64"]) == mails.PDF
    assert not (tmp_path / "downloads").exists()


async def test_identities_are_listed_with_the_default_first(call: Caller) -> None:
    identities = (await call.ok("list_identities"))["identities"]

    assert identities[0]["email"] == "alex@demo.example"
    assert identities[0]["is_default"]
