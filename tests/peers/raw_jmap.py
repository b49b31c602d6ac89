"""JMAP as a test speaks it behind the provider's back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx2

USING = [f"urn:ietf:params:jmap:{name}" for name in ("core", "mail", "submission")]


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

    def add(self, raw: bytes, folder: str, keywords: Sequence[str], date: datetime | None) -> str:
        """Import a mail; its id."""
        path = f"/jmap/upload/{quote(self._user, safe='')}/"
        headers = {"Content-Type": "message/rfc822"}
        blob = self._client.post(path, content=raw, headers=headers).raise_for_status().json()["blobId"]
        mail = {
            "blobId": blob,
            "mailboxIds": {self._folder(folder): True},
            "keywords": dict.fromkeys(keywords, True),
            **({"receivedAt": date.strftime("%Y-%m-%dT%H:%M:%SZ")} if date else {}),
        }
        reply = self.call("Email/import", {"emails": {"new": mail}})
        return str(reply["created"]["new"]["id"])

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
