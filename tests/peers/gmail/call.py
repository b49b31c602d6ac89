"""One call of a method, after it was let in: whose mailbox, which parameters, which content."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.peers.gmail.errors import Refused, bad
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.methods import METADATA, Method
from tests.peers.gmail.raw_headers import with_network_newlines
from tests.peers.oauth.tokens import AccessToken

if TYPE_CHECKING:
    from tests.peers.gmail.service import FakeGmail

_NO_CONTENT = "'raw' RFC822 payload message string or uploading message via /upload/* URL required"


@dataclass(frozen=True, slots=True)
class Call:
    gmail: FakeGmail
    mailbox: Mailbox
    token: AccessToken
    method: Method
    path: dict[str, str]
    params: list[tuple[str, str]]
    body: dict[str, Any]
    media: bytes | None  # an uploaded message

    def text(self, name: str, default: str = "") -> str:
        return next((value for given, value in self.params if given == name), default)

    def all(self, name: str) -> list[str]:
        return [value for given, value in self.params if given == name]

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str) -> int | None:
        text = self.text(name)
        if text and not re.fullmatch(r"\d+", text):
            raise bad(f"Invalid value for {name}")
        return int(text) if text else None

    def check_metadata_scope(self) -> None:
        """A token with gmail.metadata may neither search nor read bodies, whatever other scopes it has beside."""
        if METADATA not in self.token.scopes:
            return
        if any(name == "q" for name, _ in self.params):
            raise Refused(403, "Metadata scope does not support 'q' parameter")
        form = self.text("format", "full").upper()
        if self.method.name in ("messages.get", "threads.get") and form in ("FULL", "RAW"):
            raise Refused(403, f"Metadata scope doesn't allow format {form}")

    def content(self, message: dict[str, Any]) -> bytes:
        """The message that came with this call, uploaded or in the field `raw`."""
        raw = self.media if self.media is not None else _decoded(message.get("raw", ""))
        if not raw:
            raise bad(_NO_CONTENT)
        if len(raw) > self.gmail.limit_of(self.method):
            raise Refused(413, "Request Entity Too Large")
        return with_network_newlines(raw)


def _decoded(text: str) -> bytes:
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise bad("Invalid value at 'message.raw' (TYPE_BYTES), Base64 decoding failed") from None
