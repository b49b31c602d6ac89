"""From an address to its JMAP server."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.model.errors import InvalidRequest
from postroom.providers.discovery.finding import Reach
from postroom.providers.discovery.resolving import Kind, Record
from postroom.providers.jmap.setup import JmapSetup
from postroom.providers.setup import Proposal, Wishes
from postroom.settings import JmapAccount


def reach(*records: Record) -> Reach:
    async def resolve(name: str, kind: Kind) -> list[Record]:
        return list(records) if (name, kind) == ("_jmap._tcp.example.test", Kind.SRV) else []

    return Reach(resolve=resolve)


async def proposed(wishes: Wishes, *records: Record) -> Proposal:
    return await JmapSetup().propose(wishes, reach(*records), proxies=False)


async def test_fastmail_is_known_and_wants_a_token() -> None:
    table = (await proposed(Wishes("alice@fastmail.com"))).table
    assert table == {"session_url": "https://api.fastmail.com/jmap/session", "auth": "bearer"}


async def test_fastmails_own_login_page_takes_the_place_of_a_token() -> None:
    table = (await proposed(Wishes("alice@fastmail.com", oauth=True, client_id="abc"))).table
    assert table["oauth"] == {"service": "fastmail", "client_id": "abc"}
    account = JmapAccount(name="fast", address="alice@fastmail.com", **table)
    assert account.auth == "bearer"


@pytest.mark.parametrize(
    ("record", "url"),
    [
        (Record(0, "mail.example.test", 0, 443), "https://mail.example.test"),
        (Record(0, "mail.example.test", 0, 8443), "https://mail.example.test:8443"),
        (Record(0, "example.test", 0, 443), "https://example.test"),
        (Record(0, "mail.hoster.example", 0, 443), "https://example.test"),
        (Record(0, "evilexample.test", 0, 443), "https://example.test"),
        (Record(0, "", 0, 0), "https://example.test"),
    ],
)
async def test_dns_names_a_server_only_below_the_addresss_own_domain(record: Record, url: str) -> None:
    proposal = await proposed(Wishes("alice@example.test"), record)
    assert proposal.table == {"session_url": url, "auth": "password"}
    assert proposal.usernames == ("alice@example.test",)


async def test_a_named_host_is_taken_as_it_is() -> None:
    proposal = await proposed(Wishes("alice@fastmail.com", host="mail.example.test", port=8443, auth="oauthbearer"))
    assert proposal.table == {"session_url": "https://mail.example.test:8443", "auth": "bearer"}


@pytest.mark.parametrize(
    ("wishes", "option"),
    [
        (Wishes("a@example.test", smtp_host="smtp.example.test"), "--smtp-host"),
        (Wishes("a@example.test", ca_file=Path("ca.pem")), "--ca-file"),
        (Wishes("a@example.test", security="starttls"), "--security"),
    ],
)
def test_what_jmap_has_no_use_for_is_refused_by_name(wishes: Wishes, option: str) -> None:
    with pytest.raises(InvalidRequest, match=option):
        JmapSetup().early(wishes)


@pytest.mark.parametrize(
    ("given", "auth"),
    [
        ({}, "bearer"),
        ({"token_env": "T"}, "bearer"),
        ({"password": "x"}, "password"),
        ({"password_env": "P"}, "password"),
    ],
)
def test_the_secret_that_is_named_decides_how_to_log_in(given: dict[str, str], auth: str) -> None:
    account = JmapAccount(name="a", address="a@example.test", session_url="https://example.test", **given)  # type: ignore[arg-type]
    assert account.auth == auth
