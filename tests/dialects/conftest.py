"""A server in the dialect under test, on the embedded mailbox or on a real Dovecot, with a client in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from imapclient import IMAPClient
from mcp import Client
from tests.dialects.vault_rig import Desk, Peers, desk_on, on_imap, on_local
from tests.flows.caller import Caller
from tests.peers.dovecot import PASSWORD, Dovecot

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, build


class Mailbox:
    """A user of a Dovecot, seen past Postroom: what the tests put in and look at."""

    def __init__(self, server: Dovecot) -> None:
        self.server = server
        self.address = server.new_user("alice")

    def __enter__(self) -> IMAPClient:
        self.client = IMAPClient(self.server.host, self.server.imap, ssl=False, timeout=20)
        self.client.login(self.address, PASSWORD)
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.logout()

    def settings(self, home: Path, dialect: str) -> Settings:
        account = {
            "name": "alice",
            "provider": "imap",
            "address": self.address,
            "host": self.server.host,
            "port": self.server.imap,
            "security": "none",
            "password": PASSWORD,
            "smtp_host": "127.0.0.1",
            "smtp_port": 9,
        }
        return build({"server": {"dialect": dialect}, "accounts": [account]}, home=home)


@asynccontextmanager
async def client_of(settings: Settings) -> AsyncIterator[Caller]:
    async with Client(server_for(settings)) as client:
        yield Caller(client)


def local_settings(home: Path, dialect: str, **server: Any) -> Settings:
    account = {"name": "alice", "provider": "local", "address": "alice@demo.example", "path": "alice.db"}
    return build({"server": {"dialect": dialect, **server}, "accounts": [account]}, home=home)


@pytest.fixture(params=["local", "imap"])
def peers(request: pytest.FixtureRequest) -> Peers:
    """Two accounts on each provider."""
    if request.param == "local":
        return on_local()
    return on_imap(request.getfixturevalue("dovecot"), request.getfixturevalue("postfix"))


@pytest.fixture
async def desk(peers: Peers, tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_on(peers, tmp_path) as opened:
        yield opened


@pytest.fixture(params=[True, False], ids=["native", "composed"])
async def graph(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """The dialect graph, on a provider with actions of its own and on one without."""
    from tests.dialects.graph_desk import graph_desk  # with all that sends: one dialect is tested to load none of it

    async with graph_desk(tmp_path, is_native=request.param) as found:
        yield found


@pytest.fixture(scope="module")
def microsoft() -> Iterator[Any]:
    """The fake Microsoft Graph, which keeps every request."""
    from tests.dialects.graph_office import Recording

    with Recording.started() as running:
        yield running


@pytest.fixture
async def at(microsoft: Any, tmp_path: Path) -> AsyncIterator[Any]:
    """The dialect graph on it."""
    from tests.dialects.graph_office import office

    async with office(microsoft, tmp_path) as opened:
        yield opened
