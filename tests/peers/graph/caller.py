"""A bare HTTP client of one user, for tests that look at the wire."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx2
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

IMMUTABLE = {"prefer": 'IdType="ImmutableId"'}


class Caller:
    """Paths are those below ``/v1.0/me/``, or below another user's place."""

    def __init__(self, graph: FakeGraph, user: Mailbox, token: str | None = None, place: str = "me") -> None:
        given = graph.token(user) if token is None else token
        headers = {"authorization": f"Bearer {given}"}
        self.http = httpx2.Client(base_url=graph.url, headers=headers, timeout=20, verify=False)  # no TLS here
        self._base = f"/v1.0/{place}/"

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, **params: Any
    ) -> httpx2.Response:
        """``select=`` stands for ``$select=``."""
        asked = {f"${name}": value for name, value in params.items()}
        return self.http.request(method, (self._base + path).rstrip("/"), json=body, params=asked, headers=headers)

    def get(self, path: str, **params: Any) -> Any:
        return done(self.ask("GET", path, **params))

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        return done(self.ask("POST", path, body, **params))

    def ids(self, path: str = "messages", **params: Any) -> list[str]:
        return [message["id"] for message in self.get(path, **params)["value"]]


def quoted(given: str) -> str:
    """An id as a segment of a path."""
    return quote(given, safe="")


def done(answer: httpx2.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def refusal(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of an error in Graph's shape."""
    error = answer.json()["error"]
    assert {"code", "message", "innerError"} <= set(error)
    return answer.status_code, error["code"]
