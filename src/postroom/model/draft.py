"""What a person wants to send: recipients, text, files, and the message it replies to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from postroom.model.address import Address


class Importance(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class File:
    """An attachment to be sent, with its bytes."""

    filename: str
    mime_type: str
    content: bytes
    inline: bool = False
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class Threading:
    """What ties a reply to its thread: header values, and the provider's own thread id if it has one."""

    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    thread_ref: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as its author writes it; `mime.write.compose` turns it into bytes, once."""

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
    calendar: str = ""  # an answer to an invitation (iTIP REPLY), beside the text for calendars to read

    @property
    def recipients(self) -> tuple[Address, ...]:
        """Everyone who receives it, each once, in reading order."""
        seen: dict[str, Address] = {}
        for address in (*self.to, *self.cc, *self.bcc):
            seen.setdefault(address.key, address)
        return tuple(seen.values())


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """Where a draft is. `ref` names the draft, `message_ref` the message inside it (equal for most providers).
    `version` is another one after every change, where a changed draft keeps its ref."""

    ref: str
    message_ref: str
    thread_ref: str
    version: str = field(default="", compare=False)


CHANGED_MEANWHILE = (
    "The draft was changed in another program at the same moment. It is as that program saved it: read it again, and "
    "repeat the call if the change is still wanted."
)


@dataclass(frozen=True, slots=True)
class Identity:
    """An address this account may send as."""

    address: Address
    signature_html: str = ""
    is_default: bool = False
    ref: str = ""
    signature_text: str = ""  # where it has its own; otherwise it is made from the HTML
