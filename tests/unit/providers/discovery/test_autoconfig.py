"""The published XML: what is taken from it, and that nothing in it can do harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.providers.discovery import autoconfig
from postroom.providers.discovery.found import Server

ADDRESS = "alice@example.com"


def server(
    kind: str, host: str, port: str = "993", socket: str = "SSL", user: str = "%EMAILADDRESS%", auth: str = "plain"
) -> str:
    tag = "outgoingServer" if kind == "smtp" else "incomingServer"
    return (
        f'<{tag} type="{kind}"><hostname>{host}</hostname><port>{port}</port><socketType>{socket}</socketType>'
        f"<username>{user}</username><authentication>{auth}</authentication></{tag}>"
    )


def document(*servers: str) -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><clientConfig version="1.1"><emailProvider id="example.com">'
        f"{''.join(servers)}</emailProvider></clientConfig>"
    ).encode()


def test_the_first_encrypted_servers_are_taken() -> None:
    xml = document(
        server("pop3", "pop.example.com", "995"),
        server("imap", "plain.example.com", "143", "plain"),
        server("imap", "imap.example.com", "143", "STARTTLS"),
        server("imap", "second.example.com"),
        server("smtp", "smtp.example.com", "465"),
    )
    found = autoconfig.read(xml, ADDRESS)
    assert found is not None
    assert found.imap == Server("imap.example.com", 143, "starttls")
    assert found.smtp == Server("smtp.example.com", 465, "tls")
    assert (found.source, found.auth, found.usernames) == ("autoconfig", "password", (ADDRESS,))


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("%EMAILADDRESS%", ADDRESS),
        ("%EMAILLOCALPART%", "alice"),
        ("%EMAILLOCALPART%.%EMAILDOMAIN%", "alice.example.com"),
        ("m1234567", "m1234567"),
        ("", ADDRESS),
        ("a\x85b", ADDRESS),
    ],
)
def test_placeholders_are_filled(user: str, expected: str) -> None:
    found = autoconfig.read(document(server("imap", "mail.%EMAILDOMAIN%", user=user)), ADDRESS)
    assert found is not None
    assert (found.imap.host, found.usernames) == ("mail.example.com", (expected,))


def test_a_domain_beyond_ascii_is_filled_in_as_dns_knows_it() -> None:
    found = autoconfig.read(document(server("imap", "mail.%EMAILDOMAIN%")), "alice@bücher.example")
    assert found is not None
    assert (found.imap.host, found.usernames) == ("mail.xn--bcher-kva.example", ("alice@bücher.example",))


def test_a_provider_that_only_takes_tokens_is_recognised() -> None:
    only = document(server("imap", "imap.example.com", auth="OAuth2"))
    both = only.replace(b"</authentication>", b"</authentication><authentication>password-cleartext</authentication>")
    assert [found.auth for found in (autoconfig.read(only, ADDRESS), autoconfig.read(both, ADDRESS)) if found] == [
        "oauth2",
        "password",
    ]


def test_an_account_that_cannot_send_is_found_without_a_server_for_it() -> None:
    found = autoconfig.read(document(server("imap", "imap.example.com")), ADDRESS)
    assert found is not None
    assert found.smtp is None


@pytest.mark.parametrize(
    "xml",
    [
        b"",
        b"<html><body>Welcome!</body></html>",
        b"<clientConfig><emailProvider>",
        document(),
        document(server("pop3", "pop.example.com")),
        document(server("imap", "imap.example.com", socket="plain")),
        document(server("imap", "imap.example.com", port="0")),
        document(server("imap", "imap.example.com", port="99999")),
        document(server("imap", "imap.example.com", port="²")),
        document(server("imap", "")),
        document(server("imap", "imap.example.com\nsecurity=none")),
        document(server("imap", 'imap.example.com"')),
        document(server("imap", "imap..example.com")),
        document(server("imap", "a" * 300)),
        document(server("imap", "imap.example.com")).replace(b"UTF-8", b"no-such-code"),
    ],
)
def test_what_names_no_encrypted_server_is_passed_over(xml: bytes) -> None:
    assert autoconfig.read(xml, ADDRESS) is None


ENTITY = '<!DOCTYPE x [<!ENTITY host SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_in_every_encoding(encoding: str) -> None:
    text = document(server("imap", "imap.example.com")).decode()
    assert autoconfig.read(text.replace("UTF-8", encoding).encode(encoding), ADDRESS) is not None
    with_entity = text.replace("?>", f"?>{ENTITY}").replace("UTF-8", encoding)
    assert autoconfig.read(with_entity.encode(encoding), ADDRESS) is None


@given(st.binary(max_size=400))
def test_any_bytes_can_be_read(data: bytes) -> None:
    autoconfig.read(data, ADDRESS)
    autoconfig.read(document(server("imap", "imap.example.com")).replace(b"imap.example", data), ADDRESS)


async def test_both_places_are_asked_over_https_until_one_answers() -> None:
    asked = []

    async def fetch(url: str) -> bytes | None:
        asked.append(url)
        return document(server("imap", "imap.example.com")) if "well-known" in url else None

    assert await autoconfig.look("ali+ce@example.com", "example.com", fetch) is not None
    assert asked == [
        "https://autoconfig.example.com/mail/config-v1.1.xml?emailaddress=ali%2Bce%40example.com",
        "https://example.com/.well-known/autoconfig/mail/config-v1.1.xml",
    ]
