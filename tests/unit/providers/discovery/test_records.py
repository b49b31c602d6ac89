"""What the records of a domain come to."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from postroom.providers.discovery.found import Server
from postroom.providers.discovery.records import look_for_host, look_for_services
from postroom.providers.discovery.resolving import Kind, Record, Resolve

ADDRESS, DOMAIN = "alice@example.com", "example.com"


def zone(records: Mapping[str, list[Record]]) -> Resolve:
    async def resolve(name: str, kind: Kind) -> list[Record]:
        return records.get(f"{name} {kind.name}", [])

    return resolve


def srv(host: str, port: int, priority: int = 0) -> list[Record]:
    return [Record(priority, host, 0, port)]


async def test_servers_encrypted_from_the_first_byte_come_first() -> None:
    resolve = zone(
        {
            "_imap._tcp.example.com SRV": srv("imap.example.com", 143),
            "_imaps._tcp.example.com SRV": srv("imap.example.com", 993),
            "_submission._tcp.example.com SRV": srv("smtp.example.com", 587),
        }
    )
    found = await look_for_services(ADDRESS, DOMAIN, resolve)
    assert found is not None
    assert found.imap == Server("imap.example.com", 993, "tls")
    assert found.smtp == Server("smtp.example.com", 587, "starttls")
    assert found.is_assured
    assert found.usernames == (ADDRESS, "alice")


@pytest.mark.parametrize("host", ["imap.hoster.example", "evilexample.com", "example.com.evil.example"])
async def test_a_server_elsewhere_needs_a_persons_word(host: str) -> None:
    found = await look_for_services(ADDRESS, DOMAIN, zone({"_imaps._tcp.example.com SRV": srv(host, 993)}))
    assert found is not None
    assert not found.is_assured


async def test_a_submission_server_elsewhere_needs_it_too() -> None:
    resolve = zone(
        {
            "_imaps._tcp.example.com SRV": srv("imap.example.com", 993),
            "_submissions._tcp.example.com SRV": srv("smtp.evil.example", 465),
        }
    )
    found = await look_for_services(ADDRESS, DOMAIN, resolve)
    assert found is not None
    assert not found.is_assured


@pytest.mark.parametrize(("host", "port"), [("", 0), ("", 993), ("imap.example.com", 0), ('"; rm -rf', 993)])
async def test_a_service_that_is_not_offered_is_not_found(host: str, port: int) -> None:
    assert await look_for_services(ADDRESS, DOMAIN, zone({"_imaps._tcp.example.com SRV": srv(host, port)})) is None


async def test_a_domain_is_found_where_its_mail_is_hosted() -> None:
    exchangers = {"example.com MX": [Record(1, "backup.example.net"), Record(5, "alt1.aspmx.l.google.com")]}
    found = await look_for_host(ADDRESS, DOMAIN, zone(exchangers))
    assert found is not None
    assert (found.imap.host, found.usernames, found.source) == ("imap.gmail.com", (ADDRESS,), "mx")
    assert await look_for_host(ADDRESS, DOMAIN, zone({"example.com MX": [Record(1, "mx.example.com")]})) is None
