"""Asking a name server of our own, honest and otherwise."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from postroom.providers.discovery.resolving import Kind, Record, resolve

from .dns_server import answer, serving

IMAPS = "_imaps._tcp.example.com"
ZONE = {
    (IMAPS, Kind.SRV): [Record(20, "backup.example.com", 0, 993), Record(10, "imap.example.com", 5, 993)],
    ("example.com", Kind.MX): [Record(5, "mx.hoster.example")],
}


async def test_records_come_best_first() -> None:
    async with serving(ZONE) as server:
        assert [record.target for record in await resolve(IMAPS, Kind.SRV, servers=[server.address])] == [
            "imap.example.com",
            "backup.example.com",
        ]
        assert await resolve("example.com", Kind.MX, servers=[server.address]) == [Record(5, "mx.hoster.example")]


async def test_a_name_that_does_not_exist_has_no_records_and_is_asked_once() -> None:
    async with serving({}, lambda query: [answer(query, {}, flags=0x8183)]) as server:
        assert await resolve("absent.example.com", Kind.MX, servers=[server.address]) == []
        assert len(server.asked) == 1


async def test_an_answer_too_long_for_a_datagram_is_asked_for_again_over_tcp() -> None:
    many = {("example.com", Kind.MX): [Record(number, f"mx{number}.example.com") for number in range(60)]}
    async with serving(many, lambda query: [answer(query, many, flags=0x8380, most=1)]) as server:
        assert len(await resolve("example.com", Kind.MX, servers=[server.address])) == 60


def forged(query: bytes) -> list[bytes]:
    """Answers that are not to our question, before the true one."""
    lie = {("example.com", Kind.MX): [Record(1, "evil.example")], ("other.com", Kind.MX): [Record(1, "evil.example")]}
    other_number = bytes([query[0] ^ 1]) + query[1:]
    other_name = query.replace(b"\x07example", b"\x05other")
    return [answer(other_number, lie), answer(other_name, lie), query, b"", answer(query, ZONE)]


async def test_answers_to_other_questions_are_overheard() -> None:
    async with serving(ZONE, forged) as server:
        assert await resolve("example.com", Kind.MX, servers=[server.address]) == [Record(5, "mx.hoster.example")]


async def test_a_silent_name_server_is_given_up_and_the_next_is_asked() -> None:
    async with serving({}, lambda query: []) as silent, serving(ZONE) as honest:
        assert await resolve("example.com", Kind.MX, servers=[silent.address, honest.address], patience=0.5)
        assert await resolve("example.com", Kind.MX, servers=[silent.address], patience=0.05) == []


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64 + ".com", "ü.com", ".".join(["abcdefgh"] * 40)])
async def test_what_cannot_be_a_name_is_not_asked(name: str) -> None:
    async with serving(ZONE) as server:
        assert await resolve(name, Kind.MX, servers=[server.address]) == []
        assert server.asked == []


def pointing_at_itself(query: bytes) -> bytes:
    start = len(query)
    loop = struct.pack("!H", 0xC000 | start)
    return query[:2] + struct.pack("!5H", 0x8180, 1, 1, 0, 0) + query[12:] + loop + struct.pack("!HHIH", 15, 1, 60, 4)


@pytest.mark.parametrize(
    "malformed",
    [
        lambda query: b"",
        lambda query: query,
        pointing_at_itself,
        lambda query: answer(query, ZONE)[:-3],
        lambda query: answer(query, ZONE)[:20],
        lambda query: answer(query, {("example.com", Kind.MX): [Record(1, ".".join(["a" * 63] * 5))]}),
    ],
)
async def test_a_malformed_answer_is_none(malformed: Callable[[bytes], bytes]) -> None:
    async with serving(ZONE, lambda query: [malformed(query)]) as server:
        assert await resolve("example.com", Kind.MX, servers=[server.address], patience=0.05) == []


async def test_of_very_many_records_only_some_are_taken() -> None:
    many = {("example.com", Kind.MX): [Record(number, f"mx{number}.example.com") for number in range(200)]}
    async with serving(many, lambda query: [answer(query, many, flags=0x8380, most=1)]) as server:
        assert len(await resolve("example.com", Kind.MX, servers=[server.address])) == 64
