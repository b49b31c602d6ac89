"""A message as the service itself writes it from what it was given: it takes no bytes, no date and no Message-ID."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

FIELDS = {"to", "cc", "bcc", "subject", "body_text", "body_html", "attachments"}


def problem_with(recipients: Sequence[str], users: Collection[str]) -> str:
    if not recipients:
        return "no recipients"
    strangers = [one for one in recipients if one not in users]
    return f"recipient rejected: {', '.join(strangers)}" if strangers else ""


def composed(sender: str, given: dict[str, Any]) -> bytes:
    assert set(given) == FIELDS, set(given) ^ FIELDS
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, ", ".join(given["to"]), given["subject"]
    if given["cc"]:
        mail["Cc"] = ", ".join(given["cc"])
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["Message-ID"] = f"<{secrets.token_hex(8)}@mail-api.example>"
    mail.set_content(given["body_text"])
    if given["body_html"]:
        mail.add_alternative(given["body_html"], subtype="html")
    for file in given["attachments"]:
        assert set(file) == {"filename", "content_base64"}
        content = base64.b64decode(file["content_base64"], validate=True)
        mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=file["filename"])
    return mail.as_bytes()
