"""Clients that hold connections and say little: they lose theirs, everybody else is served."""

from __future__ import annotations

import json
import resource
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from mcp import Client
from tests.faults.http_process import PATIENCE, HttpProcess, http_process, read_to_end

from postroom.doors.mcp.http import accept

MANY = 1200
ATTACKER = "127.0.0.2"
HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le"
QUICK = {("http_deadlines", "HEADER_SECONDS"): 1.0, ("http_deadlines", "BODY_SECONDS"): 1.5} | {
    ("http_deadlines", "ANSWER_SECONDS"): 1.0
}


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpProcess]:
    """One whose deadlines a test can wait for."""
    with http_process(tmp_path_factory.mktemp("hasty"), limits=QUICK) as server:
        yield server


@pytest.fixture(autouse=True)
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY + 200:
        pytest.skip(f"this user may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY + 200), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def half_open(stack: ExitStack, server: HttpProcess, number: int) -> list[socket.socket]:
    clients = [stack.enter_context(closing(server.connect(ATTACKER))) for _ in range(number)]
    for client in clients:
        try:
            client.sendall(HALF)
        except ConnectionError:
            continue  # refused already
    return clients


def wait_until_refused(clients: list[socket.socket], number: int) -> None:
    """Until the server has closed at least so many."""
    poll = select.poll()
    left = {client.fileno(): client for client in clients}
    for descriptor in left:
        poll.register(descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
    while len(clients) - len(left) < number:
        ready = poll.poll(PATIENCE * 1000)
        assert ready, f"the server closed {len(clients) - len(left)} of {len(clients)} connections and no more"
        for descriptor, _ in ready:
            assert read_to_end(left.pop(descriptor)) == b""
            poll.unregister(descriptor)


def hang_up(clients: list[socket.socket]) -> None:
    """And wait until the server has noticed all of them: until then they count, and the next client is refused."""
    for client in clients:
        with suppress(OSError):  # closed by the server already
            client.shutdown(socket.SHUT_WR)
    wait_until_refused(clients, len(clients))


async def test_a_flood_of_half_open_connections_takes_its_share_and_others_are_served(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(http_process(tmp_path))
        url = f"http://127.0.0.1:{server.port}/mcp"
        async with Client(url, mode="legacy") as session:  # its event stream stays open all along
            clients = half_open(stack, server, MANY)
            wait_until_refused(clients, MANY - accept.PER_CLIENT)
            assert server.get().startswith(b"HTTP/1.1 200")
            assert (await session.call_tool("list_accounts", {})).structured_content
            wait_until_refused(clients, MANY)  # nobody waits for the rest of a header for ever
            assert server.get(source=ATTACKER).startswith(b"HTTP/1.1 200")
            assert (await session.call_tool("list_accounts", {})).structured_content
        assert len(server.stderr.read_text().splitlines()) < 100


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 1000000\r\n\r\n{",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /hea",
    ],
    ids=["nothing", "headers", "body", "chunks", "body of a refused request", "headers of a second request"],
)
def test_a_client_that_drips_loses_its_connection(hasty: HttpProcess, beginning: bytes) -> None:
    with closing(hasty.connect()) as client:
        client.sendall(beginning)
        drip = b"1\r\n \r\n" if b"chunked" in beginning else b" "
        client.settimeout(0.1)
        for _ in range(int(PATIENCE * 10)):
            try:
                if client.recv(65536) == b"":
                    break
            except TimeoutError:
                if beginning:
                    try:
                        client.sendall(drip)
                    except ConnectionError:
                        break
            except ConnectionError:
                break
        else:
            pytest.fail("the connection is still open")
    assert hasty.get().startswith(b"HTTP/1.1 200")


def test_a_request_that_never_ended_does_nothing(hasty: HttpProcess) -> None:
    call = {"name": "create_draft", "arguments": {"to": "bob@example.com", "subject": "half", "body": "x"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with closing(hasty.connect()) as client:
        client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body))
        assert read_to_end(client) == b""
    with closing(hasty.connect()) as client:
        client.sendall(head + b"Content-Length: %d\r\n\r\n%s" % (len(body) + 1, body))
        client.shutdown(socket.SHUT_WR)
        read_to_end(client)
    assert hasty.get().startswith(b"HTTP/1.1 200")
    assert "create_draft" not in hasty.stderr.read_text()


def test_a_client_that_takes_nothing_of_its_answer_loses_its_connection(hasty: HttpProcess) -> None:
    listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    request = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    request += b"Content-Length: %d\r\n\r\n%s" % (len(listing), listing)
    with closing(hasty.connect()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        assert ask_until_cut_off(client, request), "the connection is still open"
    assert hasty.get().startswith(b"HTTP/1.1 200")


def ask_until_cut_off(client: socket.socket, request: bytes) -> bool:
    """Requests by the thousand, more answers than all buffers hold."""
    for _ in range(2000):
        try:
            client.sendall(request)
        except BlockingIOError:
            break
        except ConnectionError:
            return True
    ended = select.poll()
    ended.register(client, select.POLLERR | select.POLLHUP)
    return bool(ended.poll(PATIENCE * 1000))


def test_running_out_of_file_descriptors_is_survived_without_a_busy_loop(tmp_path: Path) -> None:
    unlimited = {("http_accept", name): 100_000 for name in ("IN_ALL", "PER_CLIENT")}
    slow = {("http_deadlines", "HEADER_SECONDS"): PATIENCE}
    with http_process(tmp_path, descriptors=100, limits=unlimited | slow) as server:
        with ExitStack() as stack:
            clients = half_open(stack, server, 400)
            wait_until_refused(clients, 300)
            hang_up(clients)
        assert server.get().startswith(b"HTTP/1.1 200")
        assert len(server.stderr.read_text().splitlines()) < 100
