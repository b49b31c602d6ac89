"""What Gmail makes of a message on its way out, and to whom it goes."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from email.utils import format_datetime, formataddr, getaddresses

from tests.peers.gmail.errors import bad
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.raw_headers import header_of, with_first, with_value, without

_ADDRESS = re.compile(r"[^@\s<>(),;:\"]+@[^@\s<>(),;:\"]+\.[^@\s<>(),;:\".]+\Z")


def recipients_of(raw: bytes, *, required: bool = True) -> list[str]:
    """Everybody it is for, once each, in the order of To, Cc, Bcc. A draft may have nobody yet."""
    message = header_of(raw)
    found: dict[str, None] = {}
    for name in ("To", "Cc", "Bcc"):
        values = [str(value) for value in message.get_all(name, [])]
        for shown, address in getaddresses(values):
            if not address and not shown:
                continue
            if not _ADDRESS.match(address):
                raise bad(f"Invalid {name} header")
            found.setdefault(address)
    if required and not found:
        raise bad("Recipient address required")
    return list(found)


def prepared(mailbox: Mailbox, raw: bytes, *, replaces_message_id: bool) -> bytes:
    """From is the account or a verified alias; what a message must have is added."""
    raw = _with_own_sender(mailbox, raw)
    message = header_of(raw)
    given = str(message.get("Message-ID", "")).strip()
    if replaces_message_id or not given:
        if given:
            raw = with_value(raw, "X-Google-Original-Message-ID", given)
        raw = with_value(raw, "Message-ID", f"<CA{secrets.token_urlsafe(32)}@mail.gmail.com>")
    now = format_datetime(datetime.fromtimestamp(mailbox.clock(), UTC))
    if not message.get("Date"):
        raw = with_value(raw, "Date", now)
    if not message.get("MIME-Version"):
        raw = with_value(raw, "MIME-Version", "1.0")
    return with_first(raw, "Received", f"from 1 named unknown by gmailapi.google.com with HTTPREST; {now}")


def received_copy(raw: bytes, address: str) -> bytes:
    """As it arrives: nobody sees the blind copies."""
    return with_first(without(raw, "bcc"), "Delivered-To", address)


def _with_own_sender(mailbox: Mailbox, raw: bytes) -> bytes:
    message = header_of(raw)
    given = str(message.get("From", ""))
    ((name, address),) = getaddresses([given])[:1] or [("", "")]
    identity = mailbox.send_as.get(address.lower())
    if identity and (identity.get("isPrimary") or identity.get("verificationStatus") == "accepted"):
        return raw
    default = next(entry for entry in mailbox.send_as.values() if entry.get("isDefault"))
    if given:
        raw = with_value(raw, "X-Google-Original-From", " ".join(given.split()))
    return with_value(raw, "From", formataddr((name or default.get("displayName", ""), default["sendAsEmail"])))
