"""A name server for tests: answers from a table over UDP and TCP, and misbehaves on request."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from postroom.providers.discovery.resolving import Kind, Record

_NUMBERS = {Kind.MX: 15, Kind.SRV: 33}
_KINDS = {number: kind for kind, number in _NUMBERS.items()}

Zone = Mapping[tuple[str, Kind], list[Record]]


def name(text: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".") if label) + b"\0"


def answer(query: bytes, zone: Zone, *, flags: int = 0x8180, most: int | None = None) -> bytes:
    asked, kind = read_question(query)
    records = zone.get((asked.lower(), kind), [])[:most]
    header = query[:2] + struct.pack("!5H", flags, 1, len(records), 0, 0)
    return header + query[12:] + b"".join(b"\xc0\x0c" + _record(record, kind) for record in records)


def read_question(query: bytes) -> tuple[str, Kind]:
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels), _KINDS[struct.unpack_from("!H", query, at + 1)[0]]


def _record(record: Record, kind: Kind) -> bytes:
    numbers = (record.priority,) if kind is Kind.MX else (record.priority, record.weight, record.port)
    data = struct.pack(f"!{len(numbers)}H", *numbers) + name(record.target)
    return struct.pack("!HHIH", _NUMBERS[kind], 1, 60, len(data)) + data


@dataclass
class NameServer:
    """`datagrams` turns a query into what is sent back, in order; by default the honest answer."""

    zone: Zone
    datagrams: Callable[[bytes], list[bytes]] | None = None
    asked: list[str] = field(default_factory=list)
    address: tuple[str, int] = ("", 0)

    def replies(self, query: bytes) -> list[bytes]:
        self.asked.append(read_question(query)[0])
        return self.datagrams(query) if self.datagrams else [answer(query, self.zone)]


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self.server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        for reply in self.server.replies(data):
            self.transport.sendto(reply, addr)


@asynccontextmanager
async def serving(zone: Zone, datagrams: Callable[[bytes], list[bytes]] | None = None) -> AsyncIterator[NameServer]:
    server = NameServer(zone, datagrams)

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int.from_bytes(await reader.readexactly(2))
        reply = answer(await reader.readexactly(length), server.zone)
        writer.write(len(reply).to_bytes(2) + reply)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(stream, "127.0.0.1", 0)
    server.address = listening.sockets[0].getsockname()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Datagrams(server), local_addr=server.address
    )
    try:
        yield server
    finally:
        transport.close()
        listening.close()
