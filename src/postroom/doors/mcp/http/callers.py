"""Whose request it is, by its bearer token: the operator's own, a client with settings of its own, or the bearer of an
authorisation server's access token."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.doors.mcp.log import log
from postroom.settings import SettingsError
from postroom.settings.clients import FILE, Client, digest, load_clients

if TYPE_CHECKING:
    from postroom.doors.mcp.http.oauth.authorization import Authorization

CLIENT = "postroom.client"  # in the scope of an admitted request; None is the operator's own
CALLER = "postroom.caller"  # in the scope: the caller's name, or its address where no token is required
ADMITTED = "postroom.admitted"  # in the scope: the `Caller`; absent where a path is open to everybody
MISSING = "postroom.missing_scopes"  # in the scope: toolsets that the bearer would have with the scope beside them


@dataclass(frozen=True, slots=True)
class Caller:
    name: str = ""  # empty where no token is required
    client: Client | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


class Callers:
    """`tokens` admit to everything; the clients of `home` to what each was given, and so do access tokens that
    `authorization` accepts. With none of them everybody is admitted, unless `needs_token`: then nobody is, for the file
    of clients may be deleted while the server is running."""

    def __init__(
        self,
        tokens: Iterable[str] = (),
        home: Path | None = None,
        authorization: Authorization | None = None,
        *,
        needs_token: bool = False,
    ) -> None:
        self._needs_token = needs_token
        self._operators = [digest(token) for token in tokens]
        self._file = home / FILE if home else None
        self.authorization = authorization
        self._seen: object = None
        self._clients: tuple[Client, ...] | None = None

    async def by_headers(self, headers: Sequence[str]) -> Caller | None:
        """None: not admitted, and so if there are two, of which a proxy may have read the other. What the
        authorisation server's tokens are refused for is raised; see `oauth.refusals`."""
        if self.admit_everybody:
            return Caller()
        scheme, _, given = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
        if scheme.casefold() != "bearer" or not given.strip():
            return None
        return self._by_token(given, self.clients() or ()) or await self._by_access_token(given.strip())

    @property
    def admit_everybody(self) -> bool:
        return not (self._needs_token or self._operators or self.authorization) and self.clients() is None

    def still_admit(self, caller: Caller) -> bool:
        """Now that its request is complete, which may have taken a minute. An access token cannot be revoked."""
        if caller.client is None:
            return caller.name != "" or self.admit_everybody
        return caller.client.digest == "" or caller.client in (self.clients() or ())

    def _by_token(self, given: str, clients: Iterable[Client]) -> Caller | None:
        """Every token is compared in full, so that timing reveals nothing about any of them."""
        found = [Caller("operator")] * _matches(given, self._operators)
        for client in clients:
            found += [Caller(f"client {client.name}", client)] * _matches(given, [client.digest])
        return found[0] if found else None

    async def _by_access_token(self, given: str) -> Caller | None:
        if self.authorization is None:
            return None
        granted = await self.authorization.admit(given)
        return Caller(f"client {granted.client.name}", granted.client, granted.missing)

    def current(self) -> set[Client]:
        """Whose applications are to go on."""
        return {*(self.clients() or ()), *self.bearers()}

    def bearers(self) -> list[Client]:
        """Of access tokens."""
        return self.authorization.clients() if self.authorization else []

    def is_expired(self, client: Client) -> bool:
        """Whether its open streams are to end."""
        return self.authorization is not None and self.authorization.is_expired(client)

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
