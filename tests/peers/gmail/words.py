"""What search knows of a message: its words field by field, and its files."""

from __future__ import annotations

import re
from email.message import Message
from typing import TYPE_CHECKING

from tests.peers.gmail.parts import filename_of, utf8_of
from tests.peers.gmail.raw_headers import header_text
from tests.peers.gmail_mail import Mail, Words, words

if TYPE_CHECKING:
    from tests.peers.gmail.stored import StoredMessage

_TAG = re.compile(r"<(?:style|script)\b.*?</\w+>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def words_of(message: StoredMessage) -> Mail:
    files = [part for part in message.parsed.walk() if part.get_filename() and not part.is_multipart()]
    return Mail(
        headers={name: _header(message.head, name) for name in ("from", "to", "cc", "bcc", "subject")},
        body=_body(message.parsed),
        filenames=tuple(words(filename_of(part)) for part in files),
        has_attachment=any(part.get_content_disposition() == "attachment" for part in files),
        size=message.size,
        arrived=message.arrived,
        message_id=message.message_id,
        msgid=0,
        thrid=0,
    )


def _header(head: Message, name: str) -> Words:
    return words(" ".join(header_text(value) for value in head.get_all(name, [])))


def _body(message: Message) -> Words:
    found: list[str] = []
    for part in message.walk():
        if part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment":
            text = utf8_of(part).decode()
            found += words(_TAG.sub(" ", text) if part.get_content_subtype() == "html" else text)
    return tuple(found)
