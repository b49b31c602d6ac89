"""Asking the machine's own name server: no library, no cache, a few seconds at most.

An answer that is lost, forged or unreadable is no answer: the caller goes on without it.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio

from postroom.providers.discovery.dns_message import Kind, Malformed, Record, Truncated, question, read_answer

Resolve = Callable[[str, Kind], Awaitable[list[Record]]]
NameServer = tuple[str, int]

PATIENCE = 2.0  # seconds for each try
ATTEMPTS = 2  # with each name server
_MOST_SERVERS = 3


async def resolve(
    name: str, kind: Kind, *, servers: Sequence[NameServer] | None = None, patience: float = PATIENCE
) -> list[Record]:
    """The records of that kind, best first; none when nobody can say."""
    asked = system_servers() if servers is None else servers
    for server in [server for _ in range(ATTEMPTS) for server in asked]:
        try:
            with anyio.fail_after(patience):
                return await _ask(server, name, kind)
        except (OSError, anyio.EndOfStream, anyio.IncompleteRead, Malformed, UnicodeError):
            continue
    return []


def system_servers(path: Path = Path("/etc/resolv.conf")) -> list[NameServer]:
    """None on a system that keeps them elsewhere; discovery then does without DNS."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    words = [line.split() for line in lines]
    return [(word[1], 53) for word in words if len(word) > 1 and word[0] == "nameserver"][:_MOST_SERVERS]


async def _ask(server: NameServer, name: str, kind: Kind) -> list[Record]:
    number = secrets.randbelow(0x10000)
    message = question(number, name, kind)
    try:
        return await _by_datagram(server, message, number, name, kind)
    except Truncated:
        return read_answer(await _by_stream(server, message), number, name, kind)


async def _by_datagram(server: NameServer, message: bytes, number: int, name: str, kind: Kind) -> list[Record]:
    """Datagrams that answer another question are overheard: anybody can send one."""
    async with await anyio.create_connected_udp_socket(*server) as socket:
        await socket.send(message)
        while True:
            try:
                return read_answer(await socket.receive(), number, name, kind)
            except Malformed:
                continue


async def _by_stream(server: NameServer, message: bytes) -> bytes:
    from anyio.streams.buffered import BufferedByteReceiveStream

    async with await anyio.connect_tcp(*server) as stream:
        await stream.send(len(message).to_bytes(2) + message)
        receiving = BufferedByteReceiveStream(stream)
        length = int.from_bytes(await receiving.receive_exactly(2))
        return await receiving.receive_exactly(length)
