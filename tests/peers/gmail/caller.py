"""A bare HTTP client of one user, for tests that look at the wire."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from typing import Any

import httpx2
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.mailbox import Mailbox


class Caller:
    """Paths are those below ``users/me/``."""

    def __init__(self, gmail: FakeGmail, user: Mailbox, token: str | None = None, name: str = "me") -> None:
        given = gmail.token(user) if token is None else token
        headers = {"authorization": f"Bearer {given}"}
        self.http = httpx2.Client(base_url=gmail.url, headers=headers, timeout=20, verify=False)  # no TLS here
        self._base = f"/gmail/v1/users/{name}/"

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def ask(self, method: str, path: str, body: Any = None, **params: Any) -> httpx2.Response:
        return self.http.request(method, self._base + path, json=body, params=params)

    def get(self, path: str, **params: Any) -> Any:
        return done(self.ask("GET", path, **params))

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        return done(self.ask("POST", path, body, **params))

    def ids(self, query: str = "", **params: Any) -> list[str]:
        """Of the messages that a search finds."""
        found = self.get("messages", **({"q": query} if query else {}), **params)
        return [message["id"] for message in found.get("messages", [])]


def done(answer: httpx2.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def refusal(answer: httpx2.Response) -> tuple[int, str, str]:
    """Status, reason and message of an error in Google's shape; all of its parts agree."""
    error = answer.json()["error"]
    (inner,) = error["errors"]
    assert error["code"] == answer.status_code
    assert {"message", "domain", "reason"} <= set(inner)
    return answer.status_code, inner["reason"], error["message"]


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text)


def written(body: str = "A few words.", /, **headers: str) -> bytes:
    """A plain mail; ``Message_ID`` stands for Message-ID."""
    message = EmailMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message.as_bytes()
