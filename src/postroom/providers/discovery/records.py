"""What a domain's DNS records say: SRV names the servers (RFC 6186, RFC 8314), MX who hosts the mail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from postroom.providers.discovery.found import Found, Security, Server, is_within
from postroom.providers.discovery.known import find_known
from postroom.providers.discovery.resolving import Kind, Resolve
from postroom.settings.hosts import is_host

Service = tuple[str, Security]

# Encrypted from the first byte comes first.
_IMAP: Sequence[Service] = (("_imaps._tcp", "tls"), ("_imap._tcp", "starttls"))
_SMTP: Sequence[Service] = (("_submissions._tcp", "tls"), ("_submission._tcp", "starttls"))


async def look_for_services(address: str, domain: str, resolve: Resolve) -> Found | None:
    imap, smtp = await asyncio.gather(_first(_IMAP, domain, resolve), _first(_SMTP, domain, resolve))
    if imap is None:
        return None
    assured = all(is_within(server.host, domain) for server in (imap, smtp) if server)
    usernames = (address, address.rpartition("@")[0])
    return Found(imap, smtp, "password", usernames, "srv", is_assured=assured)


async def look_for_host(address: str, domain: str, resolve: Resolve) -> Found | None:
    """A domain whose MX is a known provider has its mailboxes there."""
    for record in await resolve(domain, Kind.MX):
        if found := find_known(record.target, address, "mx"):
            return found
    return None


async def _first(services: Sequence[Service], domain: str, resolve: Resolve) -> Server | None:
    answers = await asyncio.gather(*(resolve(f"{service}.{domain}", Kind.SRV) for service, _ in services))
    for (_, security), records in zip(services, answers, strict=True):
        for record in records:
            if record.port and is_host(record.target):
                return Server(record.target, record.port, security)
    return None
