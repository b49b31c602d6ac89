"""What a message says, read from its bytes: people, body, files. Bytes are the only place where it is kept."""

from __future__ import annotations

import email
import html
import re
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.utils import getaddresses
from functools import cached_property

from tests.peers.gmail.raw_headers import header_text, with_network_newlines
from tests.peers.gmail_mail import Words, words

_MARKUP = re.compile(r"<(style|script|head)\b.*?</\1>|<[^>]*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
Person = tuple[str, str]  # name, address


@dataclass(frozen=True, slots=True)
class File:
    name: str
    mime_type: str
    content: bytes
    is_inline: bool = False
    content_id: str = ""

    @property
    def is_item(self) -> bool:
        return self.mime_type == "message/rfc822"


class Content:
    def __init__(self, raw: bytes) -> None:
        self.raw = with_network_newlines(raw)
        self._people: dict[str, list[Person]] = {}

    @cached_property
    def head(self) -> email.message.Message:
        """In UTF-8, where addresses are beyond ASCII."""
        header = self.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        return email.message_from_string(header.decode("utf-8", "replace"), policy=policy.compat32)

    @cached_property
    def parsed(self) -> EmailMessage:
        parsed = email.message_from_bytes(self.raw, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    def header(self, name: str) -> str:
        return header_text(self.head.get(name, ""))

    def people(self, name: str) -> list[Person]:
        if name not in self._people:
            found = getaddresses([str(value) for value in self.head.get_all(name, [])])
            self._people[name] = [(header_text(shown), address) for shown, address in found if address]
        return self._people[name]

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [(name, header_text(value)) for name, value in self.head.items()]

    @property
    def subject(self) -> str:
        return self.header("Subject")

    @property
    def message_id(self) -> str:
        return self.header("Message-ID").strip()

    @property
    def references(self) -> list[str]:
        return f"{self.header('References')} {self.header('In-Reply-To')}".split()

    @property
    def recipients(self) -> list[str]:
        """Everybody it is for, once each."""
        return list(dict.fromkeys(address for name in ("To", "Cc", "Bcc") for _, address in self.people(name)))

    @cached_property
    def body(self) -> tuple[str, str]:
        """``html`` or ``text``, and the text of it. Exchange keeps one body, and prefers HTML."""
        found = self.parsed.get_body(("html", "plain"))
        if found is None:
            return "text", ""
        return ("html" if found.get_content_subtype() == "html" else "text"), str(found.get_content())

    @cached_property
    def text(self) -> str:
        kind, content = self.body
        return html.unescape(_MARKUP.sub(" ", content)) if kind == "html" else content

    @cached_property
    def files(self) -> list[File]:
        bodies = {id(self.parsed.get_body((kind,))) for kind in ("html", "plain")}
        return [_file(part) for part in _leaves(self.parsed) if id(part) not in bodies]

    @cached_property
    def words(self) -> dict[str, Words]:
        """Of each place that can be searched. People by name and address."""
        found = {
            name: words(" , ".join(f"{shown} {address}" for shown, address in self.people(name)))
            for name in ("from", "to", "cc", "bcc")
        }
        both = [self.parsed.get_body((kind,)) for kind in ("html", "plain")]
        texts = [_MARKUP.sub(" ", str(part.get_content())) for part in both if part is not None]
        names = " , ".join(file.name for file in self.files)
        return {**found, "subject": words(self.subject), "body": words(" , ".join(texts)), "attachment": words(names)}


def _leaves(part: EmailMessage) -> list[EmailMessage]:
    if part.get_content_maintype() == "multipart":
        return [leaf for child in part.iter_parts() for leaf in _leaves(child)]  # type: ignore[arg-type]
    return [part]


def _file(part: EmailMessage) -> File:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        inner = part.get_content()
        raw = inner.as_bytes(policy=policy.SMTP)
        return File(part.get_filename() or str(inner["subject"] or "message"), kind, raw)
    payload = part.get_payload(decode=True)
    content_id = str(part.get("Content-ID", "")).strip().strip("<>")
    is_inline = part.get_content_disposition() == "inline" and bool(content_id)
    return File(part.get_filename() or "", kind, payload if isinstance(payload, bytes) else b"", is_inline, content_id)
