"""A plain call gets the answer that the SDK's own way gives, to the byte."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    ImageContent,
    JSONRPCError,
    ResourceLink,
    TextContent,
    jsonrpc_message_adapter,
)
from mcp_types.methods import serialize_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import to_json

from postroom.doors.mcp.plain_calls import PlainCalls, as_sent
from postroom.doors.mcp.sdk_internals import lowlevel_server
from postroom.doors.mcp.server import PostroomServer, build_server
from postroom.settings import Settings

RESULTS = [
    CallToolResult(content=[]),
    CallToolResult(
        content=[TextContent(type="text", text='a "quoted" ä \n line')], structured_content={"a": [None, 1]}
    ),
    CallToolResult(content=[TextContent(type="text", text="no")], structured_content={"error": {}}, is_error=True),
    CallToolResult(
        content=[
            ResourceLink(
                type="resource_link", uri="mail://a/b/attachments/2", name="x", mime_type="text/plain", size=3
            ),
            ImageContent(type="image", data="AAAA", mime_type="image/png"),
        ]
    ),
]


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("result", RESULTS)
def test_a_result_is_sent_as_the_sdk_would_send_it(result: CallToolResult, version: str) -> None:
    dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert to_json(as_sent(result)) == to_json(serialize_server_result("tools/call", version, dumped))


CALLS: list[tuple[str, dict[str, Any] | None]] = [
    ("list_accounts", {}),
    ("list_accounts", None),
    ("list_accounts", {"check": "no boolean"}),
    ("list_accounts", {"surprise": 1}),
    ("no_such_tool", {}),
    ("send_email", {}),
]


async def answers(server: PostroomServer, mode: Any) -> list[str]:
    async with Client(server, mode=mode) as client:
        return [(await client.call_tool(name, given)).model_dump_json() for name, given in CALLS]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_every_call_is_answered_as_it_is_without_the_shortcut(
    server: PostroomServer, settings: Settings, door: Any, mode: str
) -> None:
    usual = build_server(door, settings)
    chain = lowlevel_server(usual).middleware
    assert any(isinstance(each, PlainCalls) for each in chain)
    chain[:] = [each for each in chain if not isinstance(each, PlainCalls)]
    assert await answers(server, mode) == await answers(usual, mode)


async def test_a_call_before_the_handshake_is_refused(server: PostroomServer) -> None:
    client, server_in = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    server_out, heard = anyio.create_memory_object_stream[SessionMessage](1)
    lowlevel = lowlevel_server(server)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_accounts", "arguments": {}}}
    async with client, heard, anyio.create_task_group() as tasks:
        tasks.start_soon(lowlevel.run, server_in, server_out, lowlevel.create_initialization_options())
        await client.send(SessionMessage(jsonrpc_message_adapter.validate_python(call)))
        answer = (await heard.receive()).message
        assert isinstance(answer, JSONRPCError)
        assert answer.error.code == INVALID_PARAMS
        tasks.cancel_scope.cancel()


ODD: list[Any] = [
    None,
    {},
    {"name": None},
    {"name": 1},
    {"name": ["list_accounts"]},
    {"name": {"list_accounts": 1}},
    {"name": "LIST_ACCOUNTS"},
    {"name": "list_accounts "},
    {"name": "list_accounts"},
    {"name": "list_accounts", "arguments": None},
    {"name": "list_accounts", "arguments": []},
    {"name": "list_accounts", "arguments": "{}"},
    {"name": "list_accounts", "arguments": {"check": None}},
    {"name": "list_accounts", "arguments": {"": {}}},
    {"name": "list_accounts", "arguments": {}, "_meta": None},
    {"name": "list_accounts", "arguments": {}, "_meta": {"progressToken": 1}},
    {"name": "list_accounts", "arguments": {}, "_meta": {"progressToken": []}},
    {"name": "list_accounts", "arguments": {}, "task": {"ttl": 1}},
    {"name": "list_accounts", "arguments": {}, "surprise": 1},
    {"name": "list_emails", "arguments": {"limit": "ten", "query": 3}},
    {"name": "list_emails", "arguments": {"folder": "\x00"}},
]


async def raw_answers(server: PostroomServer, version: str) -> list[str]:
    """To calls that no client library would send."""
    lowlevel, told = lowlevel_server(server), list[str]()
    client, server_in = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    server_out, heard = anyio.create_memory_object_stream[SessionMessage](1)
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    asked = [("initialize", hello), *(("tools/call", params) for params in ODD)]
    async with client, heard, anyio.create_task_group() as tasks:
        tasks.start_soon(lowlevel.run, server_in, server_out, lowlevel.create_initialization_options())
        for number, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": number, "method": method} | (
                {} if params is None else {"params": params}
            )
            await client.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            told.append((await heard.receive()).message.model_dump_json(by_alias=True, exclude_unset=True))
        tasks.cancel_scope.cancel()
    return told


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_odd_calls_are_answered_as_they_are_without_the_shortcut(
    server: PostroomServer, settings: Settings, door: Any, version: str
) -> None:
    usual = build_server(door, settings)
    chain = lowlevel_server(usual).middleware
    chain[:] = [each for each in chain if not isinstance(each, PlainCalls)]
    assert await raw_answers(server, version) == await raw_answers(usual, version)
