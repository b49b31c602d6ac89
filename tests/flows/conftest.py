"""A real house on local mailboxes in a temporary folder, with a client in memory in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult

from postroom.doors.mcp.serve import server_for
from postroom.doors.mcp.server import PostroomServer
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount, Settings, build
from tests.flows import mails

ACCOUNTS = [
    {"name": "alex", "provider": "local", "address": "alex@demo.example", "display_name": "Alex Rivera"},
    {"name": "sam", "provider": "local", "address": "sam@demo.example", "display_name": "Sam Okafor"},
]
ERAS = ("legacy", "2026-07-28")


@dataclass(frozen=True)
class Caller:
    """A connected client that is short to write with."""

    client: Client

    async def __call__(self, tool: str, **arguments: Any) -> CallToolResult:
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        return result

    async def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a call that must succeed."""
        result = await self(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must fail."""
        result = await self(tool, **arguments)
        assert result.is_error
        assert result.structured_content is not None
        error: dict[str, Any] = result.structured_content["error"]
        assert text_of(result).startswith(f"{error['code']}: ")
        return error

    async def email_id(self, query: str) -> str:
        """The one mail that a query finds."""
        (row,) = (await self.ok("search_emails", query=query))["results"]
        found: str = row["email_id"]
        return found


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert block.type == "text"
    return block.text


@pytest.fixture
def make_settings(tmp_path: Path) -> Callable[..., Settings]:
    attachments = tmp_path / "attach"
    attachments.mkdir()
    (attachments / "plan.txt").write_text("the plan")

    def make(**server: Any) -> Settings:
        accounts = [{**account, "path": f"{account['name']}.db"} for account in ACCOUNTS]
        safety = {"attachment_dirs": [str(attachments)], "download_dir": str(tmp_path / "downloads")}
        return build({"server": server, "accounts": accounts, "safety": safety}, home=tmp_path)

    return make


@pytest.fixture
def settings(make_settings: Callable[..., Settings]) -> Settings:
    return make_settings()


@pytest.fixture
async def filled(settings: Settings) -> Settings:
    """The settings of a house whose first account has mail."""
    letters = [*mails.ordinary_inbox(), *mails.conversation(), mails.with_attachments(), mails.newsletter(), mails.hostile()]
    context = ProviderContext(home=settings.home, neighbours=settings.accounts, read_only=False)
    account = settings.accounts[0]
    assert isinstance(account, LocalAccount)
    mailbox = LocalMailbox(account, context)
    await mailbox.connect()
    await mailbox.add_messages(NewMail(raw=letter.as_bytes(), folder="INBOX") for letter in letters)
    await mailbox.close()
    return settings


@pytest.fixture
def server(filled: Settings) -> PostroomServer:
    return server_for(filled)


@pytest.fixture(params=ERAS)
async def call(server: PostroomServer, request: pytest.FixtureRequest) -> AsyncIterator[Caller]:
    """A client of either protocol era."""
    async with Client(server, mode=request.param) as client:
        yield Caller(client)


@pytest.fixture
async def caller(server: PostroomServer) -> AsyncIterator[Caller]:
    """A client of the newest era, for what the era cannot touch."""
    with anyio.fail_after(60):
        async with Client(server) as client:
            yield Caller(client)
