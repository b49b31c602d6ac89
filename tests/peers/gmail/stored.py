"""One message in a mailbox and what can be read of it."""

from __future__ import annotations

import email
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Literal

from tests.peers.gmail.raw_headers import header_of, header_text
from tests.peers.gmail.words import words_of
from tests.peers.gmail_mail import Mail


@dataclass
class StoredMessage:
    id: str
    thread_id: str
    raw: bytes
    labels: set[str]
    internal_date: int  # milliseconds
    order: int  # of arrival
    history_id: int = 0
    draft_id: str = ""
    damage_status: int = 500
    damage: Literal["", "text", "headers"] = ""  # what of it Gmail fails over; headers: over its text, too

    @property
    def key(self) -> tuple[int, int]:
        return self.internal_date, self.order

    @property
    def arrived(self) -> datetime:
        return datetime.fromtimestamp(self.internal_date / 1000, UTC)

    @property
    def size(self) -> int:
        return len(self.raw)

    @cached_property
    def parsed(self) -> Message:
        return email.message_from_bytes(self.raw, policy=policy.compat32)

    @cached_property
    def words(self) -> Mail:
        return words_of(self)

    @cached_property
    def head(self) -> Message:
        return header_of(self.raw)

    def header(self, name: str) -> str:
        return header_text(self.head.get(name, ""))

    @property
    def subject(self) -> str:
        return self.header("Subject")

    @property
    def message_id(self) -> str:
        return self.header("Message-ID").strip()

    @property
    def references(self) -> set[str]:
        return set(f"{self.header('References')} {self.header('In-Reply-To')}".split())

    @property
    def is_hidden(self) -> bool:
        return not self.labels.isdisjoint({"TRASH", "SPAM"})


def date_of(raw: bytes) -> int | None:
    """Milliseconds of the Date field."""
    value = header_of(raw).get("Date", "")
    try:
        return int(parsedate_to_datetime(str(value)).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        return None
