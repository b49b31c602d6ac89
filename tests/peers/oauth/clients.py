"""Registered clients and where each may be sent back to."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

LOOPBACK = ("http://127.0.0.1", "http://localhost", "http://[::1]")


@dataclass(frozen=True, slots=True)
class Client:
    """A native one runs on a person's machine: any port of a registered loopback address will do (RFC 8252)."""

    id: str
    secret: str | None
    redirect_uris: tuple[str, ...]
    is_native: bool
    needs_pkce: bool

    def may_return_to(self, uri: str, *, any_path: bool) -> bool:
        if uri in self.redirect_uris:
            return True
        return self.is_native and any(_same_loopback(uri, known, any_path=any_path) for known in self.redirect_uris)


def _same_loopback(uri: str, known: str, *, any_path: bool) -> bool:
    given, registered = urlsplit(uri), urlsplit(known)
    if registered.hostname not in ("127.0.0.1", "localhost", "::1") or given.fragment:
        return False
    same_host = (given.scheme, given.hostname) == (registered.scheme, registered.hostname)
    return same_host and (any_path or (given.path or "/") == (registered.path or "/"))


def new_client(
    client_id: str, secret: str | None, redirect_uris: tuple[str, ...], *, native: bool, needs_pkce: bool | None
) -> Client:
    return Client(
        client_id or f"{secrets.randbelow(10**12)}-{secrets.token_hex(8)}.apps.example",
        secret,
        redirect_uris or (LOOPBACK if native else ()),
        native,
        native if needs_pkce is None else needs_pkce,
    )
