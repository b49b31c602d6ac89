"""From an address to its servers, the surest way first."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from postroom.model import address as model_address
from postroom.model.address import check_email, domain_key
from postroom.model.errors import InvalidRequest
from postroom.providers.discovery import autoconfig, guessing, records, resolving, web
from postroom.providers.discovery.found import Found
from postroom.providers.discovery.known import find_known


@dataclass(frozen=True, slots=True)
class Reach:
    """All network access of discovery."""

    fetch: autoconfig.Fetch = web.fetch
    resolve: resolving.Resolve = resolving.resolve
    probe: guessing.Probe = guessing.probe


async def find(address: str, reach: Reach | None = None, *, proxies: bool = True) -> Found | None:
    """Never raises for network failures; a result without SMTP is completed by a guess where one works."""
    domain = ascii_domain(address)
    if not domain:
        return None
    if known := find_known(domain, address):
        return known
    if reach is None:
        reach = Reach() if proxies else Reach(fetch=partial(web.fetch, proxies=False))
    found = await _published(address, domain, reach) or await guessing.look(address, domain, reach.probe)
    if found is not None and found.smtp is None:
        found = replace(found, smtp=await guessing.guess("smtp", domain, reach.probe))
    return found


async def _published(address: str, domain: str, reach: Reach) -> Found | None:
    """All three are asked at once; the first in order with a result wins."""
    answers = await asyncio.gather(
        autoconfig.look(address, domain, reach.fetch),
        records.look_for_services(address, domain, reach.resolve),
        records.look_for_host(address, domain, reach.resolve),
    )
    return next((found for found in answers if found is not None), None)


def ascii_domain(address: str) -> str:
    """The domain as DNS knows it, lower-case; empty when it cannot be one.

    Never another one: mapping ``ß`` to ``ss``, as older rules did, would send a password to the wrong host.
    """
    domain = domain_key(address.rpartition("@")[2].strip().rstrip("."))
    try:
        check_email(f"somebody@{domain}")
    except InvalidRequest:
        return ""
    return model_address.ascii_domain(domain)
