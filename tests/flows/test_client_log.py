"""Log messages to clients that ask for them: what was called and how it ended, never what was said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotificationParams,
    SetLevelRequest,
    SetLevelRequestParams,
)

from postroom.doors.mcp.serve import server_for
from postroom.settings import load_demo

Heard = list[LoggingMessageNotificationParams]


@asynccontextmanager
async def listening(home: Path) -> AsyncIterator[tuple[Client, Heard]]:
    heard: Heard = []

    async def hear(params: LoggingMessageNotificationParams) -> None:
        heard.append(params)

    settings = load_demo(environ={"POSTROOM_HOME": str(home), "XDG_CONFIG_HOME": str(home)})
    async with Client(server_for(settings), mode="legacy", logging_callback=hear) as client:
        yield client, heard


async def set_level(client: Client, level: LoggingLevel) -> None:
    await client.session.send_request(SetLevelRequest(params=SetLevelRequestParams(level=level)), EmptyResult)


async def test_a_client_is_told_of_its_calls_at_or_above_its_level(tmp_path: Path) -> None:
    async with listening(tmp_path) as (client, heard):
        assert client.server_capabilities.logging is not None
        await client.call_tool("list_accounts", {})
        assert heard == []
        await set_level(client, "info")
        await client.call_tool("list_accounts", {})
        await set_level(client, "warning")
        await client.call_tool("list_accounts", {})
        await client.call_tool("search_emails", {"query": "from:(((secret"})
        assert [(each.level, each.data["tool"], each.data["status"]) for each in heard] == [
            ("info", "list_accounts", "ok"),
            ("warning", "search_emails", "error"),
        ]
        assert "secret" not in str(heard)


async def test_a_level_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with listening(tmp_path) as (client, _heard):
        wrong = SetLevelRequestParams.model_construct(level="loud")
        with pytest.raises(MCPError):
            await client.session.send_request(SetLevelRequest.model_construct(params=wrong), EmptyResult)
