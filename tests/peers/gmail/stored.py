"""One message in a mailbox and what can be read of it."""

from __future__ import annotations

import email
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import cached_property

from tests.peers.gmail.raw_headers import header_of
from tests.peers.gmail_mail import Mail, read_mail


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

    @property
    def key(self) -> tuple[int, int]:
        return self.internal_date, self.order

    @cached_property
    def parsed(self) -> Message:
        return email.message_from_bytes(self.raw, policy=policy.compat32)

    @cached_property
    def words(self) -> Mail:
        return read_mail(self.raw, datetime.fromtimestamp(self.internal_date / 1000, UTC))

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


def header_text(value: object) -> str:
    """Unfolded and decoded, as the API gives header values."""
    unfolded = "".join(str(value).splitlines())
    try:
        return str(make_header(decode_header(unfolded)))
    except (MessageError, LookupError, UnicodeError, ValueError):
        return unfolded


def date_of(raw: bytes) -> int | None:
    """Milliseconds of the Date field."""
    value = header_of(raw).get("Date", "")
    try:
        return int(parsedate_to_datetime(str(value)).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        return None
