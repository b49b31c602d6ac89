"""Usual names, and whether what answers under them is a mail server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.peers.certificates import Certificates, make_certificates
from tests.peers.daemon import free_ports
from tests.peers.dovecot import Dovecot
from tests.peers.postfix import Postfix

from postroom.providers.discovery.found import Security, Server
from postroom.providers.discovery.guessing import Protocol, candidates, guess, look, probe


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("guess"))


@asynccontextmanager
async def saying(*words: bytes, certificates: Certificates | None = None) -> AsyncIterator[int]:
    """A server that says one thing after the other, whatever it is asked, and then keeps silent."""
    told = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for word in words:
            writer.write(word)
        await told.wait()
        writer.close()

    context = None
    if certificates is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates.server, certificates.key)
    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        told.set()
        server.close()


def trusting(certificates: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificates.ca))


@pytest.mark.parametrize(("protocol", "greeting"), [("imap", b"* OK hello\r\n"), ("smtp", b"220 hello\r\n")])
async def test_a_greeting_over_tls_with_a_good_certificate_is_enough(
    certificates: Certificates, tmp_path: Path, protocol: Protocol, greeting: bytes
) -> None:
    async with saying(greeting, certificates=certificates) as port:
        server = Server("localhost", port, "tls")
        assert await probe(protocol, server, context=trusting(certificates))
        assert not await probe(protocol, server)
        assert not await probe(protocol, server, context=trusting(make_certificates(tmp_path)))


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("imap", [b"* OK [CAPABILITY IMAP4rev1 STARTTLS] hello\r\n", b"* CAPABILITY IMAP4rev1 STARTTLS\r\na OK\r\n"]),
        ("smtp", [b"220-hello\r\n220 there\r\n", b"250-localhost\r\n250-SIZE 1\r\n250 starttls\r\n"]),
    ],
)
async def test_an_offer_of_starttls_is_enough(protocol: Protocol, words: list[bytes]) -> None:
    async with saying(*words) as port:
        assert await probe(protocol, Server("localhost", port, "starttls"))


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("imap", [b"* OK hello\r\n", b"* CAPABILITY IMAP4rev1\r\na OK done\r\n"]),
        ("smtp", [b"220 hello\r\n", b"250-localhost\r\n250 SIZE 1\r\n"]),
        ("smtp", [b"220 hello\r\n", b"502 what?\r\n"]),
        ("smtp", [b"554 go away\r\n"]),
        ("imap", [b"* BYE busy\r\n"]),
        ("imap", [b"HTTP/1.1 400 Bad Request\r\n\r\n"]),
        ("imap", [b"* OK hello\r\n" + b"* nonsense\r\n" * 100]),
        ("imap", [b"x" * 200_000]),
        ("imap", [b"\xff\x00\r\n"]),
    ],
)
async def test_anything_else_is_no_mail_server_to_be_trusted(protocol: Protocol, words: list[bytes]) -> None:
    async with saying(*words) as port:
        assert not await probe(protocol, Server("localhost", port, "starttls"))


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_silence_and_absence_are_given_up(security: Security) -> None:
    async with saying() as port:
        assert not await probe("imap", Server("localhost", port, security), patience=0.1)
    (free,) = free_ports(1)
    assert not await probe("imap", Server("localhost", free, security))
    assert not await probe("imap", Server("no such host..", 993, security))


async def test_real_servers_are_recognised(dovecot: Dovecot, postfix: Postfix) -> None:
    context = ssl.create_default_context(cafile=str(dovecot.certificates.ca))
    assert await probe("imap", Server("localhost", dovecot.imaps, "tls"), context=context)
    assert await probe("imap", Server("localhost", dovecot.imap, "starttls"))
    assert await probe("smtp", Server("localhost", postfix.tls, "tls"), context=context)
    assert await probe("smtp", Server("localhost", postfix.starttls, "starttls"))
    assert not await probe("imap", Server("localhost", postfix.plain, "starttls"))


def test_every_guess_lies_within_the_domain() -> None:
    for protocol in ("imap", "smtp"):
        servers = candidates(protocol, "example.com")
        assert {server.host for server in servers} == {f"{protocol}.example.com", "mail.example.com", "example.com"}
        assert [server.security for server in servers] == ["tls"] * 3 + ["starttls"] * 3


async def test_the_best_of_those_that_answer_is_taken() -> None:
    there = {("mail.example.com", 143), ("example.com", 993), ("mail.example.com", 587)}

    async def answers(protocol: Protocol, server: Server) -> bool:
        return (server.host, server.port) in there

    found = await look("alice@example.com", "example.com", answers)
    assert found is not None
    assert (found.imap, found.smtp) == (
        Server("example.com", 993, "tls"),
        Server("mail.example.com", 587, "starttls"),
    )
    assert await guess("imap", "example.net", answers) is None
