"""What a domain publishes for mail programs: the XML of ``autoconfig`` (clientConfig 1.1).

Fetched only over HTTPS and only from the domain itself, so its certificate proves the origin; no third party learns
the address.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from postroom.model.address import ascii_domain, domain_key
from postroom.providers.discovery.found import AuthKind, Found, Security, Server
from postroom.settings.hosts import is_host

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Fetch = Callable[[str], Awaitable[bytes | None]]

_SECURITY: dict[str, Security] = {"SSL": "tls", "STARTTLS": "starttls"}


async def look(address: str, domain: str, fetch: Fetch) -> Found | None:
    """The first published file that names an encrypted IMAP server."""
    for url in urls(address, domain):
        document = await fetch(url)
        if document and (found := read(document, address)):
            return found
    return None


def urls(address: str, domain: str) -> tuple[str, ...]:
    return (
        f"https://autoconfig.{domain}/mail/config-v1.1.xml?emailaddress={quote(address, safe='')}",
        f"https://{domain}/.well-known/autoconfig/mail/config-v1.1.xml",
    )


def read(document: bytes, address: str) -> Found | None:
    """None for an unusable file: no XML, a document type, no encrypted server."""
    root = _parsed(document)
    if root is None:
        return None
    imap = next(_servers(root, "incomingServer", "imap", address), None)
    smtp = next(_servers(root, "outgoingServer", "smtp", address), None)
    if imap is None:
        return None
    server, auth, username = imap
    return Found(server, smtp[0] if smtp else None, auth, (username,), "autoconfig")


def _parsed(document: bytes) -> Element | None:
    """Refuses document types, and with them every entity: nothing is expanded, nothing fetched."""
    from xml.etree.ElementTree import TreeBuilder
    from xml.parsers import expat

    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(document, True)
        return builder.close()
    except (expat.ExpatError, ValueError, LookupError):
        return None


def _refuse(*_declaration: object) -> None:
    raise ValueError


def _servers(root: Element, tag: str, kind: str, address: str) -> Iterator[tuple[Server, AuthKind, str]]:
    """In the provider's own order of preference."""
    for element in root.iter(tag):
        host = ascii_domain(domain_key(_filled(element, "hostname", address)))
        security = _SECURITY.get((element.findtext("socketType") or "").strip().upper())
        port = (element.findtext("port") or "").strip()
        if element.get("type") != kind or not security or not is_host(host):
            continue
        if port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536:
            yield Server(host, int(port), security), _auth(element), _filled(element, "username", address) or address


def _auth(element: Element) -> AuthKind:
    ways = {(way.text or "").strip().lower() for way in element.iter("authentication")}
    return "oauth2" if ways == {"oauth2"} else "password"


def _filled(element: Element, tag: str, address: str) -> str:
    local, _, domain = address.rpartition("@")
    text = (element.findtext(tag) or "").strip()
    text = text.replace("%EMAILADDRESS%", address).replace("%EMAILLOCALPART%", local).replace("%EMAILDOMAIN%", domain)
    return text if text.isprintable() and len(text) <= 320 else ""
