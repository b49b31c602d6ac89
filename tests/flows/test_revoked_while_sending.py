"""A client whose token is revoked while its message is on the wire: the message is sent once, and the call answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.flows.http_server import serving
from tests.flows.test_client_tokens import post
from tests.peers.rest import RestPeer
from tests.peers.rest.service import PASSWORD

from postroom.doors.mcp.http import per_client
from postroom.service.sending.outbox import list_outbox
from postroom.service.sending.worker import work_once
from postroom.settings import Settings, build
from postroom.settings.clients import Client, create, revoke
from postroom.wiring import open_gateway

ME, YOU = "me@demo.example", "you@demo.example"
MAIL = {"to": [YOU], "subject": "once", "body": "only", "confirm": True}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[RestPeer]:
    with RestPeer(tmp_path).run() as peer:
        for address in (ME, YOU):
            peer.add_user(address)
        yield peer


@pytest.fixture
def settings(api: RestPeer, tmp_path: Path) -> Settings:
    account = {"name": "mine", "provider": "rest", "address": ME, "base_url": api.url, "password": PASSWORD}
    return build({"accounts": [account], "safety": {"gate": "confirm"}}, home=tmp_path)


async def states(settings: Settings) -> list[str]:
    async with open_gateway(settings) as gateway:
        await work_once(gateway)
        return [row.state for row in (await list_outbox(gateway, include_finished=True)).results]


async def test_a_send_in_progress_is_finished_though_its_client_is_revoked(
    settings: Settings, api: RestPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(per_client, "LOOK_SECONDS", 0.01)
    token, held = create(settings, Client("laptop", "")), api.hold_next("POST", "message.send")
    answers: list[int] = []

    async def send(url: str) -> None:
        answers.append((await post(url, token, "tools/call", name="send_email", arguments=MAIL)).status_code)

    async with serving(settings) as url, anyio.create_task_group() as tasks:
        tasks.start_soon(send, url)
        assert await anyio.to_thread.run_sync(held.reached.wait, 60)
        revoke(settings.home, "laptop")
        assert (await post(url, token, "tools/list")).status_code == 401
        held.release()

    assert answers == [200]
    assert await states(settings) == ["done"]
    assert len(api.users[YOU].store.page("INBOX", limit=10)) == 1
