"""While a mirror is filled for the first time, a client that wants to know is told how far that is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.flows.conftest import ERAS
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.filling import fill_partly

from postroom.doors.mcp.serve import serve_http
from postroom.doors.mcp.server import PostroomServer, build_server
from postroom.settings import Settings, build
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.following import arriving, by_folder
from postroom.wiring import open_gateway

pytestmark = pytest.mark.anyio

HERE, THERE = 4, 10
Report = tuple[float, float | None, str | None]


class Listening:
    """`reports` is the progress of one call, `notified` every notification whatever it belongs to."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.notified: list[str] = []

    async def note(self, *report: Any) -> None:
        self.reports.append(report)

    async def hear(self, message: Any) -> None:
        self.notified.append(getattr(message, "method", type(message).__name__))


@pytest.fixture
def mirrored(dovecot: Dovecot, tmp_path: Path) -> Mirrored:
    user = dovecot.new_user("filling")
    made = Mirrored(dovecot, user, Mirror(mirror_path(tmp_path, "work")), {})
    with made.client() as client:
        for number in range(THERE):
            client.append("INBOX", "", None, letter(f"letter{number}", text="An elephant."))
    return made


@pytest.fixture
async def settings(mirrored: Mirrored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Settings]:
    """Of an account whose mirror has the newest messages, and nobody goes on with it."""
    dovecot = mirrored.dovecot
    account = {
        "name": "work", "provider": "imap", "address": mirrored.user, "host": dovecot.host, "port": dovecot.imap,
        "security": "none", "password": PASSWORD, "mirror": "full",
    }  # fmt: skip
    made = build({"accounts": [account]}, home=tmp_path)
    monkeypatch.setattr(by_folder, "_FIRST_PAGE", HERE)
    monkeypatch.setattr(arriving, "_WAITING", 1)
    await fill_partly(mirrored.mirror, made.accounts[0], 1)
    lock = mirrored.mirror.lock()
    assert lock is not None
    yield made
    lock.close()


@pytest.fixture
def server(settings: Settings) -> PostroomServer:
    return build_server(lambda: open_gateway(settings), settings)


@pytest.fixture
async def url(settings: Settings) -> AsyncIterator[str]:
    ports: list[int] = []
    listening = anyio.Event()

    def announce(port: int) -> None:
        ports.append(port)
        listening.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_http, settings, "127.0.0.1", 0, announce)
        await listening.wait()
        yield f"http://127.0.0.1:{ports[0]}/mcp"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("tool", "arguments"), [("search_emails", {"query": "elephant"}), ("list_emails", {})])
async def test_a_call_that_waits_for_the_server_says_how_far_the_fill_is(
    server: PostroomServer, era: str, tool: str, arguments: dict[str, Any]
) -> None:
    ear = Listening()
    async with Client(server, mode=era) as client:
        answer = (await client.call_tool(tool, arguments, progress_callback=ear.note)).structured_content
    assert len(answer["results"]) == THERE, "the rest is the server's"
    done, total, message = ear.reports[0]
    assert (done, total) == (HERE, THERE)
    assert message is not None
    assert f"{HERE} of {THERE} messages" in message
    said = [report[0] for report in ear.reports]
    assert said == sorted(set(said)), "a progress may only grow"


@pytest.mark.parametrize("era", ERAS)
async def test_it_is_said_over_http_too(url: str, era: str) -> None:
    ear = Listening()
    async with Client(url, mode=era) as client:
        await client.call_tool("list_emails", {}, progress_callback=ear.note)
    assert ear.reports[0][:2] == (HERE, THERE)


@pytest.mark.parametrize("era", ERAS)
async def test_nothing_is_sent_to_a_client_that_did_not_ask_for_it(server: PostroomServer, era: str) -> None:
    ear = Listening()
    async with Client(server, mode=era, message_handler=ear.hear) as client:
        assert len((await client.call_tool("list_emails", {})).structured_content["results"]) == THERE
    assert "notifications/progress" not in ear.notified


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_a_complete_mirror_answers_says_nothing(
    server: PostroomServer, mirrored: Mirrored, era: str
) -> None:
    with mirrored.mirror.transaction() as connection:
        connection.execute("UPDATE mirrored_folder SET is_filled = 1")
    ear = Listening()
    async with Client(server, mode=era) as client:
        answer = (await client.call_tool("list_emails", {}, progress_callback=ear.note)).structured_content
    assert len(answer["results"]) == HERE
    assert ear.reports == []
