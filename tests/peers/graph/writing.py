"""From the JSON of a message to its bytes: drafts that are made, changed and completed field by field."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import format_datetime, formataddr
from typing import Any

from tests.peers.graph.content import Content, File
from tests.peers.graph.errors import bad

IN_REPLY_TO, REFERENCES = "String 0x1042", "String 0x1039"
_PLAIN = "plain@address.invalid"
_PEOPLE = {"toRecipients": "To", "ccRecipients": "Cc", "bccRecipients": "Bcc", "replyTo": "Reply-To"}


def fields_of(content: Content) -> dict[str, Any]:
    """What a draft says now, in the shape in which a client changes it."""
    kind, text = content.body
    found: dict[str, Any] = {
        "subject": content.subject,
        "body": {"contentType": kind, "content": text},
        "internetMessageId": content.message_id,
        "importance": content.header("Importance").strip().lower() or "normal",
        "internetMessageHeaders": [
            {"name": name, "value": value} for name, value in content.headers if name.lower().startswith("x-")
        ],
        "singleValueExtendedProperties": [
            {"id": IN_REPLY_TO, "value": content.header("In-Reply-To")},
            {"id": REFERENCES, "value": content.header("References")},
        ],
    }
    for field, header in (*_PEOPLE.items(), ("from", "From")):
        people = [{"emailAddress": {"name": name, "address": address}} for name, address in content.people(header)]
        found[field] = people if field != "from" else (people[0] if people else None)
    return found


def written(fields: dict[str, Any], files: Sequence[File], sender: tuple[str, str]) -> bytes:
    """An address beyond ASCII makes it a message in UTF-8, as Exchange sends those."""
    message = EmailMessage(policy=policy.SMTP.clone(max_line_length=900, utf8=not all(map(str.isascii, _all(fields)))))
    given = ((fields.get("from") or {}).get("emailAddress")) or {}
    message["From"] = _address(given) if given.get("address") else formataddr(sender)
    for field, header in _PEOPLE.items():
        if people := fields.get(field):
            message[header] = ", ".join(_address(person.get("emailAddress") or {}) for person in people)
    message["Subject"] = fields.get("subject") or ""
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = fields.get("internetMessageId") or new_message_id()
    if (importance := (fields.get("importance") or "normal").lower()) != "normal":
        message["Importance"] = importance
    _extended(message, fields)
    _headers(message, fields)
    body = fields.get("body") or {}
    message.set_content(
        body.get("content") or "", subtype="html" if (body.get("contentType") or "").lower() == "html" else "plain"
    )
    for file in files:
        _attach(message, file)
    return message.as_bytes()


def rewritten(content: Content) -> bytes:
    """The same message as Exchange would write it: one body, boundaries and encodings of its own."""
    sender = (content.people("From") or [("", "")])[0]
    return written(fields_of(content), content.files, sender)


def new_message_id() -> str:
    return f"<{secrets.token_hex(16).upper()}@graph.prod.outlook.example>"


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise bad("Cannot convert the literal to the expected type 'Edm.Binary'.", "RequestBodyRead") from None


def _all(fields: dict[str, Any]) -> list[str]:
    people = [person for field in _PEOPLE for person in fields.get(field) or []]
    return [str((person.get("emailAddress") or {}).get("address")) for person in people]


def _address(given: dict[str, Any]) -> str:
    address = str(given.get("address") or "")
    if any(sign in address for sign in "\r\n,;<>") or not address:
        raise bad(f"The email address '{address}' isn't valid.", "ErrorInvalidRecipients")
    name = given.get("name") or ""
    shown = formataddr((name if name != address else "", _PLAIN))  # which takes ASCII alone
    return shown.replace(_PLAIN, address)


def _extended(message: EmailMessage, fields: dict[str, Any]) -> None:
    for given in fields.get("singleValueExtendedProperties") or []:
        header = {IN_REPLY_TO: "In-Reply-To", REFERENCES: "References"}.get(given["id"])
        if header and given.get("value"):
            message[header] = given["value"]


def _headers(message: EmailMessage, fields: dict[str, Any]) -> None:
    for given in fields.get("internetMessageHeaders") or []:
        if not given["name"].lower().startswith("x-"):
            raise bad(
                f"The internet message header name '{given['name']}' should start with 'x-' or 'X-'.",
                "InvalidInternetMessageHeader",
            )
        message[given["name"]] = given["value"]


def _attach(message: EmailMessage, file: File) -> None:
    if file.is_item:
        inner = BytesParser(policy=policy.SMTP).parsebytes(file.content)
        message.add_attachment(inner, filename=file.name)
        return
    major, _, minor = (file.mime_type or "application/octet-stream").partition("/")
    more = {"disposition": "inline", "cid": f"<{file.content_id}>"} if file.is_inline else {}
    message.add_attachment(file.content, maintype=major, subtype=minor or "octet-stream", filename=file.name, **more)
