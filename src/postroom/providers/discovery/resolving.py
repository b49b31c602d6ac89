"""DNS lookups with the system's name servers, for a few seconds at most.

A lost, forged or unreadable response counts as none: the caller continues without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

NameServer = tuple[str, int]

PATIENCE = 2.0  # seconds for each try
_TRIES = 4
_MOST_RECORDS = 64


class Kind(StrEnum):
    MX = "MX"
    SRV = "SRV"


@dataclass(frozen=True, slots=True)
class Record:
    """`weight` and `port` are those of SRV; an MX has neither. A target of ``""`` means: not offered here."""

    priority: int
    target: str
    weight: int = 0
    port: int = 0


Resolve = Callable[[str, Kind], Awaitable[list[Record]]]


async def resolve(
    name: str, kind: Kind, *, servers: Sequence[NameServer] | None = None, patience: float = PATIENCE
) -> list[Record]:
    """The records of that kind, best first; empty when there is no answer."""
    from dns.exception import DNSException  # loaded late: only setting up an account asks

    if not name.isascii() or not name.strip("."):  # the library would translate names by older rules than ours
        return []
    try:
        answer: Any = await _resolver(servers, patience).resolve(f"{name.rstrip('.')}.", kind, search=False)
        records = [_record(data, kind) for data in list(answer)[:_MOST_RECORDS]]
    except (DNSException, OSError, UnicodeError):
        return []
    return sorted(records, key=lambda record: (record.priority, -record.weight))


def _resolver(servers: Sequence[NameServer] | None, patience: float) -> Resolver:
    from dns.asyncresolver import Resolver

    resolver = Resolver(configure=servers is None)
    if servers is not None:
        from dns.nameserver import Do53Nameserver

        resolver.nameservers = [Do53Nameserver(host, port) for host, port in servers]
    resolver.timeout = patience
    resolver.lifetime = patience * _TRIES
    return resolver


def _record(data: Any, kind: Kind) -> Record:
    if kind is Kind.MX:
        return Record(data.preference, _host(data.exchange))
    return Record(data.priority, _host(data.target), data.weight, data.port)


def _host(name: Any) -> str:
    return str(name.to_text(omit_final_dot=True)).lower().strip(".")
