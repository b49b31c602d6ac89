"""What a search engine knows of one mail: its words field by field, its files, its numbers. Read with `email` alone."""

from __future__ import annotations

import email
import hashlib
import re
from dataclasses import dataclass, replace
from datetime import datetime
from email import policy
from email.message import EmailMessage

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")
_TAG = re.compile(r"<(?:style|script)\b.*?</\w+>|<[^>]*>", re.IGNORECASE | re.DOTALL)

Words = tuple[str, ...]


def words(text: str) -> Words:
    """Whole words without regard to case. Scripts that put no space between words go sign by sign."""
    return tuple(_WORD.findall(text.casefold()))


@dataclass(frozen=True, slots=True)
class Mail:
    headers: dict[str, Words]  # from, to, cc, bcc, subject
    body: Words
    filenames: tuple[Words, ...]
    has_attachment: bool
    size: int
    arrived: datetime
    message_id: str
    msgid: int
    thrid: int
    flags: frozenset[str] = frozenset()  # lower case
    labels: frozenset[str] = frozenset()
    folder: str = ""

    def marked(self, flags: frozenset[str], labels: frozenset[str], folder: str) -> Mail:
        return replace(self, flags=flags, labels=labels, folder=folder)


def read_mail(raw: bytes, arrived: datetime) -> Mail:
    message = email.message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    files = [part for part in message.walk() if part.get_filename() and not part.is_multipart()]
    first = str(message.get("References", "")).split()[:1] or [str(message.get("Message-ID", "")).strip()]
    return Mail(
        headers={name: words(_header(message, name)) for name in ("from", "to", "cc", "bcc", "subject")},
        body=_body(message),
        filenames=tuple(words(part.get_filename() or "") for part in files),
        has_attachment=any(part.get_content_disposition() == "attachment" for part in files),
        size=len(raw),
        arrived=arrived,
        message_id=str(message.get("Message-ID", "")).strip(),
        msgid=_number(raw),
        thrid=_number(first[0].encode("utf-8", "replace")),
    )


def _header(message: EmailMessage, name: str) -> str:
    return " ".join(str(value) for value in message.get_all(name, []))


def _body(message: EmailMessage) -> Words:
    found: list[str] = []
    for part in message.walk():
        assert isinstance(part, EmailMessage)
        if part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment":
            content = _text(part)
            found += words(_TAG.sub(" ", content) if part.get_content_subtype() == "html" else content)
    return tuple(found)


def _text(part: EmailMessage) -> str:
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    try:
        return content.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def _number(content: bytes) -> int:
    """63 bits, as Gmail's ids have: the same mail has the same one in every folder."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") >> 1
