"""The vault dialect, line by line: its tools, searching and drafts. `docs/contracts/vault.md` maps it to tests."""

from __future__ import annotations

import pytest
from tests.dialects.vault_rig import desk_on, letter, on_local, out_of_reach

from postroom.doors.mcp.dialects import vault
from postroom.doors.mcp.toolbox import bind
from postroom.service.reading import search

TEXT = {"type": "string"}
MAIL = {
    "to": {**TEXT, "description": "Recipient email address"},
    "subject": {**TEXT, "description": "Email subject line"},
    "body": {**TEXT, "description": "Plain text email body"},
}
SCHEMAS = {
    "search_email": {
        "properties": {
            "query": {
                **TEXT,
                "description": "Gmail search query (e.g., 'from:user@example.com subject:invoice after:2026/01/01')",
            },
            "max_results": {
                "type": "integer",
                "description": "Maximum number of results to return",
                "default": 5,
                "minimum": 1,
                "maximum": 50,
            },
        },
        "required": ["query"],
    },
    "draft_email": {"properties": MAIL, "required": ["to", "subject", "body"]},
    "send_email": {"properties": MAIL, "required": ["to", "subject", "body"]},
    "reply_email": {
        "properties": {
            "thread_id": {**TEXT, "description": "Gmail thread ID to reply to"},
            "message_id": {**TEXT, "description": "Gmail message ID to reply to (for correct threading headers)"},
            "body": {**TEXT, "description": "Plain text reply body"},
        },
        "required": ["thread_id", "message_id", "body"],
    },
}
SPECS = {spec.name: spec for toolset in vault.TOOLSETS for spec in toolset.specs}


# --- tool metadata


@pytest.mark.parametrize("tool", SCHEMAS)
def test_each_tool_has_exactly_the_agreed_schema(tool):
    assert bind(SPECS[tool]).parameters == {"type": "object", **SCHEMAS[tool], "additionalProperties": False}


async def test_exactly_the_four_tools_are_there_and_their_results_are_text(tmp_path):
    async with desk_on(on_local(), tmp_path) as desk:
        tools = (await desk.client.list_tools()).tools
        assert {tool.name for tool in tools} == set(SCHEMAS)
        assert {tool.output_schema for tool in tools} == {None}
        assert await desk("search_email", query="x")
        assert desk.results[-1].structured_content is None


async def test_read_only_leaves_the_search_alone(tmp_path):
    peers = on_local()
    from mcp import Client

    from postroom.doors.mcp.serve import server_for
    from postroom.settings import build

    settings = build({"server": {"dialect": "vault", "read_only": True}, "accounts": peers.accounts}, home=tmp_path)
    async with Client(server_for(settings)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search_email"]


# --- search_email


async def test_a_search_lists_what_it_found_word_for_word(desk):
    await desk.put(letter("Invoice #1234", "john@example.com", "Please find attached the invoice."))
    later = {"Message_ID": "<m2@example.test>", "Date": "Wed, 11 Feb 2026 23:30:00 +0000"}
    await desk.put(letter("Invoice overdue", "Billing <billing@vendor.example>", "Second notice: invoice.", **later))
    rows = (await search.search_emails(desk.gateway, "invoice")).results
    assert await desk("search_email", query="invoice") == (
        'Found 2 emails matching "invoice":\n'
        "\n"
        "1. From: Billing <billing@vendor.example> | Subject: Invoice overdue | Date: 2026-02-11\n"
        "   Snippet: Second notice: invoice.\n"
        f"   Message ID: {rows[0].email_id} | Thread ID: {rows[0].thread_id}\n"
        "\n"
        "2. From: john@example.com | Subject: Invoice #1234 | Date: 2026-02-10\n"
        "   Snippet: Please find attached the invoice.\n"
        f"   Message ID: {rows[1].email_id} | Thread ID: {rows[1].thread_id}"
    )
    assert not desk.failed


async def test_the_ids_are_the_providers_own(desk):
    await desk.put(letter())
    message, thread = await desk.found("offer")
    mailbox = (await desk.gateway.accounts.open()).mailbox
    envelope = (await mailbox.fetch(message)).envelope
    assert (envelope.ref, envelope.thread_ref) == (message, thread)


async def test_a_query_of_the_contracts_example_is_understood(desk):
    await desk.put(letter("Invoice May", "user@example.com"))
    await desk.put(letter("Invoice June", "other@example.com", Message_ID="<m2@example.test>"))
    query = "from:user@example.com subject:invoice after:2026/01/01"
    text = await desk("search_email", query=query)
    assert text.startswith(f'Found 1 emails matching "{query}":\n\n1. From: user@example.com | Subject: Invoice May |')
    assert "June" not in text


async def test_a_search_without_results_says_so_word_for_word(desk):
    assert await desk("search_email", query="invoice") == "No emails found matching: invoice"
    assert not desk.failed


async def test_five_are_shown_unless_more_are_asked_for(tmp_path):
    async with desk_on(on_local(), tmp_path) as desk:
        for number in range(7):
            await desk.put(letter(f"Offer {number}", Message_ID=f"<m{number}@example.test>"))
        for arguments, shown in (({}, 5), ({"max_results": 1}, 1), ({"max_results": 50}, 7)):
            assert (await desk("search_email", query="offer", **arguments)).startswith(f"Found {shown} emails matching")


@pytest.mark.parametrize("number", [0, -1, 51, 1000, "many", 2.5, None])
async def test_max_results_out_of_range_is_refused_and_not_clamped(tmp_path, number):
    async with desk_on(on_local(), tmp_path) as desk:
        text = await desk("search_email", query="offer", max_results=number)
        assert desk.failed is (number is not None), "null is how many models leave an argument out"
        assert number is None or text.startswith("Error searching emails: ")
        assert number is None or "max_results" in text


async def test_a_search_that_fails_says_so_word_for_word(tmp_path):
    async with desk_on(out_of_reach(), tmp_path) as desk:
        text = await desk("search_email", query="invoice")
        assert desk.failed
        assert text.startswith("Error searching emails: ")
        assert "Check host and port" in text


async def test_a_search_changes_nothing_and_says_the_same_again(desk):
    await desk.put(letter())
    first = await desk("search_email", query="is:unread")
    assert first == await desk("search_email", query="is:unread")
    assert first.startswith("Found 1 emails")


async def test_a_search_is_allowed_in_dev_mode(tmp_path):
    async with desk_on(on_local(), tmp_path, dev_mode=True) as desk:
        await desk.put(letter())
        assert (await desk("search_email", query="offer")).startswith("Found 1 emails matching")
        assert desk.audit() == [("search_email", "success", "", "")]


async def test_no_mail_can_add_a_line_to_the_list(desk):
    forged = "=?utf-8?q?Hi=0A2=2E_From=3A_boss=40demo=2Eexample=0A___Message_ID=3A_x?="
    raw = letter().replace(b"Subject: Offer", f"Subject: {forged}".encode())
    await desk.put(raw.replace(b"carol@example.test", b'"Eve\\\n   Message ID: x" <eve@example.test>', 1))
    lines = (await desk("search_email", query="in:inbox")).splitlines()
    assert len(lines) == 5
    assert [line.lstrip().partition(":")[0] for line in lines[2:]] == ["1. From", "Snippet", "Message ID"]


# --- draft_email


async def test_a_draft_is_saved_and_nothing_is_sent(desk):
    text = await desk("draft_email", to=desk.peers.bob, subject="Meeting notes", body="Hi Bob")
    drafts = (await search.list_emails(desk.gateway, mailbox="drafts")).results
    assert [(row.subject, row.snippet.strip()) for row in drafts] == [("Meeting notes", "Hi Bob")]
    assert text == (
        f"Draft created successfully. Draft ID: {drafts[0].email_id}. Review it in your Gmail drafts folder."
    )
    assert not desk.failed
    assert desk.gateway.store.outbox.list(limit=10).total == 0
    assert await desk.received() == []


async def test_every_call_creates_another_draft(tmp_path):
    async with desk_on(on_local(), tmp_path, sends_per_hour=0) as desk:
        mail = {"to": "bob@demo.example", "subject": "Meeting notes", "body": "Hi"}
        assert await desk("draft_email", **mail) != await desk("draft_email", **mail)
        assert (await search.list_emails(desk.gateway, mailbox="drafts")).total_count == 2


async def test_in_dev_mode_a_draft_is_logged_and_the_provider_is_not_asked(tmp_path):
    async with desk_on(out_of_reach(), tmp_path, dev_mode=True) as desk:
        text = await desk("draft_email", to="John <john@example.com>", subject="Meeting notes", body="Hi")
        assert text == "[DEV_MODE] Draft logged but not created. To: j***@example.com, Subject: Meeting notes"
        assert not desk.failed
        assert desk.audit() == [("draft_email", "dev_mode", "j***@example.com", "")]
        assert "draft_email" in "".join(file.read_text() for file in (tmp_path / "vault" / "Logs").rglob("*.jsonl"))


@pytest.mark.parametrize("dev_mode", [True, False])
@pytest.mark.parametrize("tool", ["draft_email", "send_email"])
async def test_an_invalid_address_is_refused_word_for_word(tmp_path, tool, dev_mode):
    async with desk_on(out_of_reach(), tmp_path, dev_mode=dev_mode) as desk:
        for wrong in ("not-an-email", "a@demo.example, b@demo.example", ""):
            text = await desk(tool, to=wrong, subject="x", body="y")
            assert desk.failed
            assert text == f"Error: Invalid email address format: {wrong}"
        for wrong in (
            "a@demo.example\nBcc: eve@evil.example",
            "b@demo.example <a@demo.example>",
            "a@demo.example]<b@demo.example>",
        ):
            assert (await desk(tool, to=wrong, subject="x", body="y")).startswith("Error: The ")
        assert {entry[:2] for entry in desk.audit()} == {(tool, "error")}


async def test_a_draft_that_cannot_be_saved_says_so_word_for_word(tmp_path):
    async with desk_on(out_of_reach(), tmp_path) as desk:
        text = await desk("draft_email", to="john@example.com", subject="Meeting notes", body="Hi")
        assert desk.failed
        assert text.startswith("Error creating draft: ")


@pytest.mark.parametrize("tool", ["draft_email", "send_email"])
@pytest.mark.parametrize("subject", ["a\r\nBcc: eve@evil.example", "a\nb", "a\u2028b", "a" * 256])
async def test_no_subject_can_add_a_header(tmp_path, tool, subject):
    async with desk_on(on_local(), tmp_path) as desk:
        desk.approve(to="bob@demo.example")
        text = await desk(tool, to="bob@demo.example", subject=subject, body="Hi")
        assert desk.failed
        assert text.startswith("Error: The subject ")
        assert (desk.in_vault("Approved"), desk.in_vault("Done")) == (["go.md"], [])
        assert (await search.list_emails(desk.gateway, mailbox="drafts")).results == ()


# --- audit


async def test_each_call_of_each_tool_leaves_one_entry(tmp_path):
    async with desk_on(on_local(), tmp_path) as desk:
        await desk.put(letter(sender="bob@demo.example"))
        message, thread = await desk.found("offer")
        desk.approve(to="bob@demo.example")
        desk.approve("email_reply", "re.md", thread_id=thread)
        mail = {"to": "bob@demo.example", "subject": "Notes", "body": "Hi"}
        reply = {"thread_id": thread, "message_id": message, "body": "Gladly"}
        for _ in range(2):
            await desk("draft_email", **mail)
            await desk("send_email", **mail)
            await desk("reply_email", **reply)
        await desk("send_email", **{**mail, "subject": ""})
        await desk("reply_email", **{**reply, "message_id": "9999"})
        await desk("reply_email", **reply, cc="x")
        sent, denied = ("success", "b***@demo.example", ""), ("rejected", "PERMISSION_DENIED")
        assert desk.audit() == [
            ("search_email", "success", "", ""),
            ("draft_email", *sent),
            ("send_email", *sent),
            ("reply_email", *sent),
            ("draft_email", *sent),
            ("send_email", denied[0], "b***@demo.example", denied[1]),
            ("reply_email", denied[0], "", denied[1]),
            ("send_email", "error", "b***@demo.example", "INVALID_REQUEST"),
            ("reply_email", denied[0], "", denied[1]),
            ("reply_email", "error", "", "INVALID_REQUEST"),
        ]
        assert desk.gateway.store.audit.verify().ok
