"""JMAP as a test speaks it behind the provider's back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx2

USING = [f"urn:ietf:params:jmap:{name}" for name in ("core", "mail", "submission")]


@dataclass(frozen=True, slots=True)
class NewMail:
    raw: bytes
    folder: str
    keywords: Sequence[str]
    date: datetime | None


class RawJmap:
    def __init__(self, url: str, user: str, password: str) -> None:
        self._client = httpx2.Client(base_url=url, auth=(user, password), trust_env=False)
        self._user = user
        self._folders: dict[str, str] = {}

    def call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        request = {"using": USING, "methodCalls": [[method, {"accountId": self._user, **arguments}, "0"]]}
        answer = self._client.post("/jmap/", json=request).raise_for_status().json()["methodResponses"][0]
        assert answer[0] == method, answer
        found: dict[str, Any] = answer[1]
        return found

    def add(self, mails: Sequence[NewMail]) -> list[str]:
        """Import them; their ids, in order."""
        emails = {f"n{number}": self._email(mail) for number, mail in enumerate(mails)}
        created = self.call("Email/import", {"emails": emails})["created"] if emails else {}
        return [str(created[key]["id"]) for key in emails]

    def _email(self, mail: NewMail) -> dict[str, Any]:
        path = f"/jmap/upload/{quote(self._user, safe='')}/"
        headers = {"Content-Type": "message/rfc822"}
        blob = self._client.post(path, content=mail.raw, headers=headers).raise_for_status().json()["blobId"]
        return {
            "blobId": blob,
            "mailboxIds": {self._folder(mail.folder): True},
            "keywords": dict.fromkeys(mail.keywords, True),
            **({"receivedAt": mail.date.strftime("%Y-%m-%dT%H:%M:%SZ")} if mail.date else {}),
        }

    def _folder(self, wanted: str) -> str:
        """By role or name; made where it is missing."""
        if wanted not in self._folders:
            rows = self.call("Mailbox/get", {"ids": None, "properties": ["name", "role"]})["list"]
            for row in rows:
                self._folders |= {row["name"]: row["id"], row["role"] or row["name"]: row["id"]}
        if wanted not in self._folders:
            made = self.call("Mailbox/set", {"create": {"new": {"name": wanted, "parentId": None}}})
            self._folders[wanted] = made["created"]["new"]["id"]
        return self._folders[wanted]
