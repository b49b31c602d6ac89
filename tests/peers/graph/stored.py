"""One message in a mailbox: its content, and what the mailbox knows of it beside."""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from tests.peers.graph.content import Content

_ID = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}\Z")


def new_id(prefix: str) -> str:
    """Long, opaque, with all the signs that mean something in a path."""
    return f"{prefix}{base64.b64encode(secrets.token_bytes(44)).decode()[:56]}/+{secrets.token_hex(2)}="


def is_id(text: str) -> bool:
    return _ID.match(text) is not None


@dataclass
class StoredMessage:
    content: Content
    folder: str
    conversation: str
    received: float
    order: int
    is_draft: bool = False
    is_read: bool = False
    flag: str = "notFlagged"
    categories: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)  # extended ones that the content does not have
    links: list[dict[str, Any]] = field(default_factory=list)  # reference attachments: not part of the content
    immutable_id: str = field(default_factory=lambda: new_id("AAkALgAA"))
    entry_id: str = field(default_factory=lambda: new_id("AAMkAGI2"))  # another one after each move
    change: int = 0
    damage: Literal["", "mime", "body"] = ""  # what of it Exchange cannot convert: S/MIME has no MIME for many apps

    @property
    def raw(self) -> bytes:
        return self.content.raw

    @property
    def subject(self) -> str:
        return self.content.subject

    @property
    def key(self) -> tuple[float, int]:
        return self.received, self.order

    @property
    def change_key(self) -> str:
        return base64.b64encode(f"{self.immutable_id[-8:]}{self.change:08}".encode()).decode()

    @property
    def has_attachments(self) -> bool:
        return bool(self.links) or any(not file.is_inline for file in self.content.files)

    def file_ids(self) -> list[str]:
        """One per file of the content, by its place."""
        start = self.immutable_id[:-1]
        return [f"{start}BEgAQ{place:04}=" for place in range(len(self.content.files))]


def moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z".rjust(20, "0")
