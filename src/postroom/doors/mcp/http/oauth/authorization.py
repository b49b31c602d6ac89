"""Access tokens, from the header to what their bearers may do; and whose bearers have been seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from postroom.doors.mcp.http.oauth.granting import Granted, grant
from postroom.doors.mcp.http.oauth.verifying import Verifier
from postroom.settings import Settings
from postroom.settings.clients import Client

WELL_KNOWN = "/.well-known/oauth-protected-resource"
# How long the sessions of a bearer outlive the token: most clients renew theirs only when it is refused.
KEPT_SECONDS = 1800.0
REMEMBERED = 1000  # bearers; whoever asked longest ago is forgotten first


class Authorization:
    def __init__(self, settings: Settings, verifier: Verifier, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._verifier = verifier
        self._clock = clock
        self._expires: dict[Client, float] = {}  # by the longest-lived token of each, whoever asked last is last

    async def admit(self, token: str) -> Granted:
        """TokenRefused, ScopeMissing or KeysUnavailable if it does not admit."""
        bearer = await self._verifier.verify(token)
        granted = grant(self._settings, bearer)
        self._expires[granted.client] = max(bearer.expires, self._expires.pop(granted.client, 0.0))
        if len(self._expires) > REMEMBERED:
            del self._expires[next(iter(self._expires))]
        return granted

    def clients(self) -> list[Client]:
        """Those whose sessions are kept."""
        now = self._clock()
        self._expires = {client: end for client, end in self._expires.items() if now < end + KEPT_SECONDS}
        return list(self._expires)

    def is_expired(self, client: Client) -> bool:
        return client in self._expires and self._expires[client] <= self._clock()

    @property
    def metadata_url(self) -> str:
        parts = urlsplit(self._settings.authorization.resource)
        return f"{parts.scheme}://{parts.netloc}{self._path}"

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the metadata is (RFC 9728): with the path of the resource behind, and without for clients that do not
        know it."""
        return WELL_KNOWN, self._path

    @property
    def _path(self) -> str:
        return WELL_KNOWN + urlsplit(self._settings.authorization.resource).path.rstrip("/")

    def routes(self) -> list[Route]:
        settings = self._settings.authorization
        metadata = {
            "resource": settings.resource,
            "authorization_servers": [settings.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Postroom",
            **({"scopes_supported": list(settings.scopes)} if settings.scopes else {}),
        }

        async def describe(_request: Request) -> Response:
            return JSONResponse(metadata)

        return [Route(path, describe, methods=["GET"]) for path in dict.fromkeys(self.paths)]
