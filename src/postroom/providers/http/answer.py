"""A complete response, within size limits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from postroom.model.errors import PostroomError, ProviderUnavailable
from postroom.providers.http.unclear import UnclearWrite

if TYPE_CHECKING:
    from httpx2 import Headers

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PAGE = (b"<!doctype", b"<html")


@dataclass(frozen=True)
class Answer:
    """`of_write` says whether the request changed something."""

    url: str
    status: int
    headers: Headers
    body: bytes
    of_write: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def host(self) -> str:
        return host_of(self.url)

    @property
    def place(self) -> str:
        """The target of a redirect as an absolute URL; empty for any other response or an invalid target."""
        import httpx2

        if self.status not in _REDIRECTS or not (place := self.headers.get("location", "")):
            return ""
        try:
            return str(httpx2.URL(self.url).join(place))
        except httpx2.InvalidURL:
            return ""

    @property
    def kind(self) -> str:
        """The type of the body, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_json(self) -> bool:
        return self.kind == "application/json" or self.kind.endswith("+json")

    @property
    def is_page(self) -> bool:
        """HTML where data was asked for: an error page, or the login page of a network."""
        return self.body[:200].lstrip().lower().startswith(_PAGE)

    def parsed(self) -> Any:
        """The parsed JSON, or None when there is no valid JSON. Always the same objects: not to be changed."""
        return self._json

    @cached_property
    def _json(self) -> Any:
        """Looked at twice at least: for what went wrong, and for what was asked for."""
        if not self.is_json:
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def object(self) -> dict[str, Any]:
        """The JSON object of a success. After a write whose response cannot be read, the outcome is unknown."""
        found = self.parsed()
        if isinstance(found, dict):
            return found
        raise self.unreadable()

    def unreadable(self) -> PostroomError:
        """It was not the service that answered, or not to the end: a read may succeed later."""
        what = "a web page; a proxy or login page may be in between" if self.is_page else "no valid JSON object"
        if self.of_write:
            return UnclearWrite(self.host, f"answered {self.status} with {what}", status=self.status)
        return ProviderUnavailable(f"{self.host} answered {self.status} with {what}.", details={"status": self.status})


def host_of(url: str) -> str:
    import httpx2

    try:
        return httpx2.URL(url).host or "The mail service"
    except httpx2.InvalidURL:
        return "The mail service"
