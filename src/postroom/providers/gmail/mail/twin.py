"""The HTML version of a plain-text draft.

Gmail's composer breaks the lines of a plain-text draft that a person opens there. With an HTML version beside the text
it keeps them. Only saved drafts get one: what is to be sent is staged byte for byte as it was approved.
"""

from __future__ import annotations

import email
import html
from email import policy
from email.message import EmailMessage

from postroom.mime.read.parse import parse

_POLICY = policy.SMTP.clone(refold_source="none")


def with_twin(raw: bytes) -> bytes:
    body = parse(raw).body
    if body.html or not body.text.strip():
        return raw
    message = email.message_from_bytes(raw, policy=_POLICY)
    plain = message.get_body(("plain",)) if isinstance(message, EmailMessage) else None
    if not isinstance(plain, EmailMessage):
        return raw
    plain.add_alternative(_html(body.text), subtype="html")
    return message.as_bytes()


def _html(text: str) -> str:
    lines = (html.escape(line, quote=False).replace("  ", " &nbsp;") for line in text.rstrip("\n").split("\n"))
    return f'<div dir="ltr">{"<br>".join(lines)}</div>\n'
