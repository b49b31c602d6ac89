"""A real gateway on local mailboxes in a temporary folder, with a client in memory in front of it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.flows import mails
from tests.flows.caller import Caller

from postroom.doors.mcp.serve import server_for
from postroom.doors.mcp.server import PostroomServer
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount, Settings, build

ACCOUNTS = [
    {"name": "alex", "provider": "local", "address": "alex@demo.example", "display_name": "Alex Rivera"},
    {"name": "sam", "provider": "local", "address": "sam@demo.example", "display_name": "Sam Okafor"},
]
ERAS = ("legacy", "2026-07-28")


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


@pytest.fixture(scope="session")
def mailbox_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mailbox with mail in it, made once and copied for each test."""
    home = tmp_path_factory.mktemp("mailbox")
    account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=home / "alex.db")

    async def fill() -> None:
        mailbox = LocalMailbox(account, ProviderContext(home=home, neighbours=(account,), read_only=False))
        await mailbox.connect()
        await mailbox.add_messages(NewMail(raw=mail.as_bytes(), folder="INBOX") for mail in mails.everything())
        await mailbox.close()

    anyio.run(fill)
    return home / "alex.db"


@pytest.fixture
def filled(settings: Settings, mailbox_file: Path) -> Settings:
    """The settings of a gateway whose first account has mail."""
    shutil.copy(mailbox_file, settings.home / "alex.db")
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
