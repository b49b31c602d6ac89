"""Whose request it is, by its bearer token: the operator's own, or a client with settings of its own."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from postroom.doors.mcp.log import log
from postroom.settings import SettingsError
from postroom.settings.clients import FILE, Client, digest, load_clients

CLIENT = "postroom.client"  # in the scope of an admitted request; None is the operator's own


@dataclass(frozen=True, slots=True)
class Caller:
    name: str = ""  # empty where no token is required
    client: Client | None = None


class Callers:
    """`tokens` admit to everything; the clients of `home` to what each was given. With neither, everybody is admitted:
    `serve` sees to it that this happens on loopback only."""

    def __init__(self, tokens: Iterable[str] = (), home: Path | None = None) -> None:
        self._operators = [digest(token) for token in tokens]
        self._file = home / FILE if home else None
        self._seen: object = None
        self._clients: tuple[Client, ...] | None = None

    def by_header(self, header: str) -> Caller | None:
        """None: not admitted. Every token is compared in full, so that timing reveals nothing about any of them."""
        clients = self.clients()
        if not self._operators and clients is None:
            return Caller()
        scheme, _, given = header.partition(" ")
        found = [Caller("operator")] * _matches(given, self._operators)
        for client in clients or ():
            found += [Caller(f"client {client.name}", client)] * _matches(given, [client.digest])
        return found[0] if found and scheme.casefold() == "bearer" else None

    def clients(self) -> tuple[Client, ...] | None:
        """As the file has them now: a revoked token is refused from the next request on. If the file cannot be read,
        no client is admitted."""
        if self._file is None:
            return None
        seen = _version(self._file)
        if seen != self._seen or seen == "unreadable":
            self._clients, self._seen = _read(self._file.parent), seen
        return self._clients


def _matches(given: str, digests: Iterable[str]) -> int:
    offered = digest(given.strip())
    return sum([hmac.compare_digest(offered.encode(), known.encode()) for known in digests])


def _version(file: Path) -> object:
    try:
        found = file.stat()
    except FileNotFoundError:
        return "absent"
    except OSError:
        return "unreadable"
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read(home: Path) -> tuple[Client, ...] | None:
    try:
        return load_clients(home)
    except SettingsError:
        log.error("clients_unreadable")
        return ()
