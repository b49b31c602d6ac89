"""The order in which the ways are taken, and that no way fails the search."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.providers.discovery.finding import Reach, ascii_domain, find
from postroom.providers.discovery.found import Server
from postroom.providers.discovery.guessing import Protocol
from postroom.providers.discovery.resolving import Kind, Record

from .test_autoconfig import document, server

SRV = {"_imaps._tcp.example.com": [Record(0, "srv.example.com", 0, 993)]}
MX = {"example.com": [Record(0, "aspmx.l.google.com")]}
XML = document(server("imap", "xml.example.com"), server("smtp", "xml.example.com", "465"))


def reach(
    *, xml: bytes | None = None, records: dict[str, list[Record]] | None = None, answering: bool = False
) -> Reach:
    async def fetch(url: str) -> bytes | None:
        return xml

    async def resolve(name: str, kind: Kind) -> list[Record]:
        return (records or {}).get(name, [])

    async def probe(protocol: Protocol, server: Server) -> bool:
        return answering

    return Reach(fetch, resolve, probe)


def closed() -> Reach:
    async def never(*_: Any) -> Any:
        raise AssertionError("nobody is to be asked")

    return Reach(never, never, never)


@pytest.mark.parametrize(
    ("way", "host", "source"),
    [
        (reach(xml=XML, records={**SRV, **MX}, answering=True), "xml.example.com", "autoconfig"),
        (reach(xml=b"<p>Not found</p>", records={**SRV, **MX}, answering=True), "srv.example.com", "srv"),
        (reach(records=MX, answering=True), "imap.gmail.com", "mx"),
        (reach(answering=True), "imap.example.com", "guess"),
    ],
)
async def test_the_surest_way_is_believed(way: Reach, host: str, source: str) -> None:
    found = await find("alice@example.com", way)
    assert found is not None
    assert (found.imap.host, found.source) == (host, source)
    assert found.smtp is not None


async def test_a_known_provider_is_found_without_asking_anybody() -> None:
    found = await find("Alice@GMail.com", closed())
    assert found is not None
    assert found.usernames == ("Alice@GMail.com",)


async def test_nothing_is_found_where_nobody_answers() -> None:
    assert await find("alice@example.com", reach()) is None
    assert await find("alice@", closed()) is None
    assert await find("alice@a..b", closed()) is None


async def test_a_missing_submission_server_is_completed_only_by_one_that_answers() -> None:
    alone = await find("alice@example.com", reach(records=SRV))
    assert alone is not None
    assert alone.smtp is None


def test_domains_beyond_ascii_are_asked_for_as_dns_knows_them() -> None:
    assert ascii_domain("alice@Bücher.example.") == "xn--bcher-kva.example"
    assert ascii_domain("alice@xn--bcher-kva.example") == "xn--bcher-kva.example"


@pytest.mark.parametrize(("domain", "stranger"), [("faß.example", "fass.example"), ("βόλος.example", "βόλοσ.example")])
async def test_a_domain_is_never_taken_for_another_persons(domain: str, stranger: str) -> None:
    asked: list[str] = []

    async def resolve(name: str, kind: Kind) -> list[Record]:
        asked.append(name)
        return []

    await find(f"alice@{domain}", Reach(reach().fetch, resolve, reach().probe))
    assert any(name == ascii_domain(f"alice@{domain}") for name in asked)
    assert not any(name.endswith(ascii_domain(f"alice@{stranger}")) for name in asked)


@pytest.mark.parametrize("domain", ["exa\u200dmple.com", "ｅxample.com", "exa mple.com", "x" * 64 + ".com", "10.0.0.1"])
async def test_what_only_looks_like_a_domain_is_not_looked_for(domain: str) -> None:
    assert await find(f"alice@{domain}", closed()) is None
