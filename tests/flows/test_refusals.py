"""What a client gets wrong: every mistake has a code and a way on, and changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from tests.flows.caller import Caller, text_of

from postroom.doors.mcp.serve import server_for
from postroom.doors.mcp.server import PostroomServer
from postroom.service.reading import search
from postroom.settings import Settings


async def test_an_unknown_argument_is_refused_by_name(call: Caller) -> None:
    error = await call.error("create_draft", to="a@example.com", bbc="b@example.com")

    assert error["code"] == "INVALID_REQUEST"
    assert "Unknown argument bbc of create_draft; did you mean bcc?" in error["message"]
    assert (await call.ok("list_drafts"))["total_count"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("list_emails", {"limit": 0}, "limit"),
        ("list_emails", {"limit": 101}, "limit"),
        ("list_emails", {"limit": "many"}, "limit"),
        ("list_emails", {"offset": -1}, "offset"),
        ("list_emails", {"unread_only": "perhaps"}, "unread_only"),
        ("list_emails", {"mailbox": ["INBOX"]}, "mailbox"),
        ("read_email", {}, "email_id"),
        ("read_email", {"email_id": None}, "email_id"),
        ("read_email", {"email_id": "e0000000000", "body_format": "pdf"}, "body_format"),
        ("mark_email", {"email_id": [], "flag": "read"}, "email_id"),
        ("mark_email", {"email_id": "e0000000000", "flag": "purple"}, "flag"),
        ("search_emails", {"query": ""}, "query"),
        ("search_emails", {"query": {"from": "x"}}, "query"),
        ("create_draft", {"importance": "extreme"}, "importance"),
    ],
)
async def test_a_wrong_argument_is_named(caller: Caller, tool: str, arguments: dict[str, Any], named: str) -> None:
    error = await caller.error(tool, **arguments)

    assert error["code"] == "INVALID_REQUEST"
    assert named in error["message"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        (
            "mark_email",
            {"email_id": [{"email_id": "e0000000000"}] * 1000, "flag": "read"},
            "item 1: Input should be a valid",
        ),
        ("create_draft", {"to": ["a@example.com", 5, None, *[{}] * 300]}, "item 2: Input should be a valid string"),
        ("create_draft", {"attachments": [{}] * 1000}, "attachments: item 1: Input should be a valid string."),
    ],
)
async def test_a_mistake_in_many_items_is_said_once(
    caller: Caller, tool: str, arguments: dict[str, Any], named: str
) -> None:
    error = await caller.error(tool, **arguments)

    assert error["code"] == "INVALID_REQUEST"
    assert named in error["message"]
    assert len(error["message"]) < 300


@pytest.mark.parametrize("text", ["x\0y", "half a pair \ud800"])
async def test_characters_that_no_mail_can_hold_are_refused(caller: Caller, text: str) -> None:
    assert (await caller.error("search_emails", query=text))["code"] == "INVALID_REQUEST"


@pytest.mark.parametrize("subject", ["a\r\nBcc: x@example.com", "a\nb", "a\x1bb", "a\u2028b"])
async def test_a_line_break_in_a_header_is_refused_and_nothing_is_saved(caller: Caller, subject: str) -> None:
    error = await caller.error("create_draft", to="a@example.com", subject=subject, body="x")

    assert error["code"] == "INVALID_REQUEST"
    assert (await caller.ok("list_drafts"))["total_count"] == 0


async def test_ten_megabytes_of_arguments_are_refused_and_the_next_call_works(call: Caller) -> None:
    error = await call.error("create_draft", to="a@example.com", body="x" * 10_000_000)

    assert error["code"] == "INVALID_REQUEST"
    assert (await call.ok("list_emails", limit=1))["total_count"] == 25


@pytest.mark.parametrize(
    "email_id", ["e0000000000", "nonsense", "1", "", "t0000000000", "../../etc/passwd", "e" * 5000]
)
async def test_an_id_that_names_nothing_is_not_found_and_says_what_to_do(caller: Caller, email_id: str) -> None:
    error = await caller.error("read_email", email_id=email_id)

    assert error["code"] in ("NOT_FOUND", "INVALID_REQUEST")
    assert len(error["message"]) < 500


async def test_a_mail_of_another_account_is_never_opened_by_guess(caller: Caller) -> None:
    email_id = await caller.email_id("from:billing")

    error = await caller.error("read_email", email_id=email_id, account="sam")

    assert error["code"] == "INVALID_REQUEST"
    assert "alex" in error["message"]


async def test_an_account_that_does_not_exist_is_answered_with_those_that_do(caller: Caller) -> None:
    assert "alex, sam" in (await caller.error("list_emails", account="nobody"))["message"]


async def test_a_tool_that_does_not_exist_is_answered_with_the_nearest(call: Caller) -> None:
    error = await call.error("list_mails")

    assert error["code"] == "NOT_FOUND"
    assert "list_emails" in error["message"]


async def test_a_toolset_that_is_off_is_neither_seen_nor_callable(make_settings: Callable[..., Settings]) -> None:
    server = server_for(make_settings(toolsets=["read"]))
    async with Client(server) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        error = await Caller(client).error("create_draft", to="a@example.com")

    assert "read_email" in names
    assert "create_draft" not in names
    assert "toolset drafts" in error["message"]


async def test_read_only_serves_no_tool_that_writes(make_settings: Callable[..., Settings]) -> None:
    server = server_for(make_settings(read_only=True))
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        error = await Caller(client).error("mark_email", email_id="e0000000000", flag="read")

    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    assert "list_drafts" in {tool.name for tool in tools}
    assert error["code"] == "NOT_FOUND"


async def test_a_crash_is_a_reference_number_in_the_answer_and_in_the_log(
    server: PostroomServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(*_: Any, **__: Any) -> Any:
        raise RuntimeError("login failed password=hunter2")

    monkeypatch.setattr(search, "list_emails", crash)
    caplog.set_level(logging.DEBUG)
    async with Client(server) as client:
        result = await Caller(client)("list_emails")

    assert result.is_error
    assert text_of(result).startswith("INTERNAL_ERROR: ")
    assert "hunter2" not in str(result)
    assert "Traceback" not in str(result)
    assert result.structured_content is not None
    reference = result.structured_content["error"]["details"]["correlation_id"]
    assert reference in [record.__dict__.get("correlation_id") for record in caplog.records]
    assert "hunter2" not in caplog.text
