"""What a person wants to write: recipients, words, files, and the mail it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroom.model.address import Address


class Importance(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class File:
    """An attachment with its bytes, on its way out."""

    filename: str
    mime_type: str
    content: bytes
    inline: bool = False
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class Threading:
    """What ties a reply to its thread: header values, and the provider's own thread id where it has one."""

    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    thread_ref: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A mail as its author means it; `mime.write.compose` turns it into bytes, once."""

    sender: Address
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    subject: str = ""
    text: str = ""
    html: str = ""
    files: tuple[File, ...] = ()
    forwarded: bytes | None = None  # the original, attached whole as message/rfc822
    importance: Importance = Importance.NORMAL
    threading: Threading = Threading()

    @property
    def recipients(self) -> tuple[Address, ...]:
        """Everyone who gets it, each once, in reading order."""
        seen: dict[str, Address] = {}
        for address in (*self.to, *self.cc, *self.bcc):
            seen.setdefault(address.key, address)
        return tuple(seen.values())


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """Where a draft lies. `ref` names the draft, `message_ref` the mail inside it (equal for most providers)."""

    ref: str
    message_ref: str
    thread_ref: str


@dataclass(frozen=True, slots=True)
class Identity:
    """An address this account may write as."""

    address: Address
    signature_html: str = ""
    is_default: bool = False
    ref: str = ""
