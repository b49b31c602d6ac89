"""Usual server names, tried all at once: connect, read the greeting, and where needed check for STARTTLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from postroom.providers.discovery.found import Found, Server

Protocol = Literal["imap", "smtp"]
Probe = Callable[[Protocol, Server], Awaitable[bool]]

PATIENCE = 5.0  # seconds
_MOST_LINES = 50
_GREETING: dict[Protocol, bytes] = {"imap": b"* OK", "smtp": b"220"}
_ASK: dict[Protocol, bytes] = {"imap": b"a CAPABILITY\r\n", "smtp": b"EHLO localhost\r\n"}
_LAST: dict[Protocol, tuple[bytes, ...]] = {"imap": (b"a ",), "smtp": (b"250 ", b"4", b"5")}


async def look(address: str, domain: str, probe: Probe) -> Found | None:
    imap, smtp = await asyncio.gather(guess("imap", domain, probe), guess("smtp", domain, probe))
    if imap is None:
        return None
    return Found(imap, smtp, "password", (address, address.rpartition("@")[0]), "guess")


async def guess(protocol: Protocol, domain: str, probe: Probe) -> Server | None:
    """The best of those that answer."""
    servers = candidates(protocol, domain)
    answers = await asyncio.gather(*(probe(protocol, server) for server in servers))
    return next((server for server, answered in zip(servers, answers, strict=True) if answered), None)


def candidates(protocol: Protocol, domain: str) -> Sequence[Server]:
    """Best first. All are within the domain: a certificate for one of them is issued to the domain owner."""
    hosts = (f"{protocol}.{domain}", f"mail.{domain}", domain)
    tls, starttls = (993, 143) if protocol == "imap" else (465, 587)
    return [Server(host, tls, "tls") for host in hosts] + [Server(host, starttls, "starttls") for host in hosts]


async def probe(
    protocol: Protocol, server: Server, *, context: ssl.SSLContext | None = None, patience: float = PATIENCE
) -> bool:
    """Whether such a server is there, with a valid certificate or with STARTTLS."""
    try:
        async with asyncio.timeout(patience):
            return await _greeted(protocol, server, context or ssl.create_default_context())
    except (OSError, EOFError, ValueError):
        return False


async def _greeted(protocol: Protocol, server: Server, context: ssl.SSLContext) -> bool:
    tls = context if server.security == "tls" else None
    reader, writer = await asyncio.open_connection(server.host, server.port, ssl=tls)
    try:
        if not (await reader.readline()).startswith(_GREETING[protocol]):
            return False
        return tls is not None or await _offers_starttls(protocol, reader, writer)
    finally:
        writer.transport.abort()


async def _offers_starttls(protocol: Protocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    writer.write(_ASK[protocol])
    for _ in range(_MOST_LINES):
        line = await reader.readline()
        if b"STARTTLS" in line.upper():
            return True
        if not line or line.startswith(_LAST[protocol]):
            return False
    return False
