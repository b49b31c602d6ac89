"""What the server stores: objects of each kind, blobs, what was sent, and a number that grows with every change."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from postroom.mime.read.parse import parse

ROLES = ("inbox", "drafts", "sent", "trash", "junk", "archive")


@dataclass(slots=True)
class Sent:
    raw: bytes
    recipients: tuple[str, ...]


@dataclass(slots=True)
class State:
    blobs: dict[str, bytes] = field(default_factory=dict)
    emails: dict[str, dict[str, Any]] = field(default_factory=dict)
    mailboxes: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            f"mb-{role}": {"id": f"mb-{role}", "name": role.title(), "parentId": None, "role": role} for role in ROLES
        }
    )
    identities: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    scripts: dict[str, dict[str, Any]] = field(default_factory=dict)
    vacation: dict[str, Any] = field(
        default_factory=lambda: {
            "id": "singleton",
            "isEnabled": False,
            **dict.fromkeys(("fromDate", "toDate", "subject", "textBody", "htmlBody")),
        }
    )
    sent: list[Sent] = field(default_factory=list)
    version: int = 1
    submitted: int = 0
    files_what_it_sends: bool = True
    lists_every_mailbox: bool = True  # in one call, however many there are
    log: list[tuple[int, str, str]] = field(default_factory=list)  # version, what happened, to which email
    forgotten: int = 0  # the version up to which nothing is known of changes
    repeats_itself: bool = False  # an email that changed twice is told twice
    _numbers: Any = field(default_factory=lambda: count(1))

    def new_id(self, kind: str) -> str:
        return f"{kind}{next(self._numbers)}"

    def add_blob(self, content: bytes) -> str:
        blob = self.new_id("B")
        self.blobs[blob] = content
        return blob

    def add_email(self, blob: str, mailboxes: dict[str, bool], keywords: dict[str, bool]) -> dict[str, Any]:
        raw = self.blobs[blob]
        parsed, key = parse(raw), self.new_id("E")
        head = raw.partition(b"\r\n\r\n")[0].decode("utf-8", "replace").split("\r\n")
        headers = {f"header:{name}": value for name, _, value in (line.partition(":") for line in head)}
        self.note("created", key)
        self.emails[key] = {
            "id": key,
            "blobId": blob,
            "threadId": f"T{key}",
            "mailboxIds": mailboxes,
            "keywords": keywords,
            "size": len(raw),
            "receivedAt": "2026-06-15T12:00:00Z",
            "hasAttachment": bool(parsed.attachments),
            "messageId": [parsed.message_id.strip("<>")],
            "textBody": [{"partId": "1", "type": "text/plain"}],
            "htmlBody": [],
            "bodyValues": {"1": {"value": parsed.body.text, "isTruncated": False}},
            **headers,
        }
        return self.emails[key]

    def note(self, what: str, key: str) -> None:
        self.version += 1
        self.log.append((self.version, what, key))

    def destroy(self, key: str) -> None:
        del self.emails[key]
        self.note("destroyed", key)

    def patch(self, target: dict[str, Any], change: dict[str, Any]) -> None:
        self.note("updated", str(target.get("id", "")))
        for path, value in change.items():
            name, _, key = path.partition("/")
            if not key:
                target[name] = value
            elif value is None:
                target[name].pop(key, None)
            else:
                target[name][key] = value
