"""A server that is told to stop: what it has begun is finished, within a bound, and nothing is sent twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.faults.http_fuzz import ask, new_session
from tests.faults.http_process import PATIENCE, HttpProcess, http_process, read_to_end
from tests.peers.dovecot import DOMAIN, PASSWORD, Dovecot
from tests.peers.scripted_smtp import Hold, Script, scripted_smtp

from postroom.service.sending.outbox import list_outbox
from postroom.service.sending.worker import work_once
from postroom.settings import load
from postroom.wiring import open_gateway

MAIL = {"to": f"bob@{DOMAIN}", "subject": "x", "body": "y", "confirm": True}
STREAMS = "application/json, text/event-stream"
CONFIG = """
[safety]
gate = "confirm"

[[accounts]]
name = "mine"
provider = "imap"
address = "{address}"
host = "{imap.host}"
port = {imap.imap}
security = "none"
password = "{password}"
smtp_host = "{smtp.host}"
smtp_port = {smtp.port}
smtp_security = "none"
"""


@pytest.fixture
def smtp() -> Iterator[Script]:
    with scripted_smtp() as script:
        script.held["END"] = Hold()
        yield script
        script.held["END"].released.set()


@pytest.fixture
def config(tmp_path: Path, dovecot: Dovecot, smtp: Script) -> Path:
    file = tmp_path / "postroom.toml"
    file.write_text(CONFIG.format(address=dovecot.new_user(), imap=dovecot, smtp=smtp, password=PASSWORD))
    file.chmod(0o600)
    return file


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def stop(server: HttpProcess, by: signal.Signals = signal.SIGTERM) -> None:
    """And wait until it has begun to: it takes no connections any more."""
    server.process.send_signal(by)
    try:
        while True:
            server.connect().close()
    except ConnectionError:
        return


async def outbox(config: Path, tmp_path: Path) -> list[str]:
    """The states, after what the next start would do first."""
    settings = load(config, environ={"POSTROOM_HOME": str(tmp_path)})
    async with open_gateway(settings) as gateway:
        await work_once(gateway)
        return [row.state for row in (await list_outbox(gateway, include_finished=True)).results]


def sending(server: HttpProcess, thread: ThreadPoolExecutor, smtp: Script, session: str = "") -> Future[bytes]:
    """Until the message is on the wire and the answer of the SMTP server is missing."""
    answer = thread.submit(ask, server, "tools/call", {"name": "send_email", "arguments": MAIL}, STREAMS, session)
    assert smtp.held["END"].reached.wait(PATIENCE), answer.result(PATIENCE)
    return answer


@pytest.mark.parametrize("has_session", [True, False])
async def test_a_send_on_the_wire_is_finished_and_answered(
    config: Path, tmp_path: Path, smtp: Script, thread: ThreadPoolExecutor, has_session: bool
) -> None:
    with http_process(tmp_path, config=config) as server:
        answer = sending(server, thread, smtp, new_session(server) if has_session else "")
        stop(server)
        smtp.held["END"].released.set()
        assert b'"status":"sent"' in answer.result(PATIENCE).replace(b" ", b"").replace(b"\\", b"")
        assert server.process.wait(PATIENCE) == -signal.SIGTERM
    assert await outbox(config, tmp_path) == ["done"]
    assert (len(smtp.taken), smtp.held["END"].times) == (1, 1)


async def test_a_send_on_the_wire_outlives_the_terminal(
    config: Path, tmp_path: Path, smtp: Script, thread: ThreadPoolExecutor
) -> None:
    with http_process(tmp_path, config=config) as server:
        answer = sending(server, thread, smtp)
        stop(server, signal.SIGHUP)
        server.process.send_signal(signal.SIGHUP)  # its shell sends one, and its end another
        smtp.held["END"].released.set()
        assert b"sent" in answer.result(PATIENCE)
        assert server.process.wait(PATIENCE) == -signal.SIGHUP
    assert await outbox(config, tmp_path) == ["done"]


@pytest.mark.parametrize("is_repeated", [True, False])
async def test_a_send_that_takes_too_long_is_left_to_the_next_start_and_not_repeated(
    config: Path, tmp_path: Path, smtp: Script, thread: ThreadPoolExecutor, is_repeated: bool
) -> None:
    limits = {("stopping", "SECONDS"): PATIENCE if is_repeated else 0.5}
    with http_process(tmp_path, config=config, limits=limits) as server:
        answer = sending(server, thread, smtp)
        stop(server)
        if is_repeated:
            server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert b"sent" not in answer.result(PATIENCE)
    assert "shutdown_forced" in server.stderr.read_text()
    smtp.held["END"].released.set()
    assert await outbox(config, tmp_path) == ["needs_human"]  # nobody can know whether it was accepted
    assert smtp.held["END"].times == 1


def test_a_client_that_waits_for_notifications_keeps_no_server_running(tmp_path: Path) -> None:
    with http_process(tmp_path) as server, closing(server.connect()) as client:
        head = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {STREAMS}\r\n"
        client.sendall(f"{head}Mcp-Session-Id: {new_session(server)}\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        stop(server)
        read_to_end(client)
        assert server.process.wait(PATIENCE) == -signal.SIGTERM
    assert "shutdown_forced" not in server.stderr.read_text()
