"""What a mailbox contains: envelopes (a line in a list), messages (opened), attachments (fetched one by one)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Generic, TypeVar

from postroom.model.address import Address
from postroom.model.by_fields import pickled_by_fields
from postroom.model.quickly_built import quickly_built

T = TypeVar("T")


@pickled_by_fields
@quickly_built
@dataclass(frozen=True, slots=True)
class Envelope:
    """Everything a list shows. `ref` and `thread_ref` are the provider's own ids, never shown by the default dialect.

    Text fields are as decoded from the wire: the service cleans untrusted text before anyone sees it.
    """

    ref: str
    thread_ref: str
    folder: str  # Folder.name: the one it is shown in
    sender: Address
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    subject: str = ""
    date: datetime | None = None  # aware
    snippet: str = ""
    unread: bool = False
    starred: bool = False
    answered: bool = False
    forwarded: bool = False
    draft: bool = False
    has_attachments: bool = False
    labels: tuple[str, ...] = ()
    size: int = 0
    message_id: str = ""  # with angle brackets
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    other_folders: tuple[str, ...] = ()  # names of the others it is in, each once, in a fixed order

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders it is in, the one it is shown in first. Most mailboxes have one per message; where labels are
        folders (Gmail) or a message may be in two folders (JMAP) there are several."""
        return (self.folder, *self.other_folders)


def shown_of(envelope: Envelope) -> list[object]:
    """What a list shows of a message that no move and no flag changes, as JSON has it."""
    people = [[one.email for one in group] for group in ((envelope.sender,), envelope.to, envelope.cc, envelope.bcc)]
    date = envelope.date.isoformat() if envelope.date else ""
    return [envelope.message_id, envelope.size, date, envelope.subject, people]


@quickly_built
@dataclass(frozen=True, slots=True)
class Attachment:
    """`part` names it within its message (``"2"``, ``"2.1"``: the IMAP part number, or the provider's own id)."""

    part: str
    filename: str
    mime_type: str
    size: int
    inline: bool = False
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """The two versions of a message's text. Empty string = absent."""

    text: str = ""
    html: str = ""
    starts: tuple[int, ...] = ()  # where in the HTML a further part of the message begins

    @property
    def documents(self) -> tuple[str, ...]:
        """The HTML of each part that is shown. What one of them leaves open, and its style sheet, end with it."""
        if not self.starts:
            return (self.html,)
        return tuple(self.html[start:end] for start, end in pairwise((0, *self.starts, len(self.html))))


@dataclass(frozen=True, slots=True)
class Message:
    envelope: Envelope
    body: Body
    attachments: tuple[Attachment, ...] = ()
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # lower-case names, decoded values
    defects: tuple[str, ...] = ()  # what was wrong with the message, in words


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of a longer list. `total` is None where the provider cannot count, or too many match."""

    items: tuple[T, ...]
    total: int | None
    limit: int
    offset: int
    has_more: bool
    not_applied: tuple[str, ...] = ()  # filters that neither the provider nor Postroom could apply
    as_of: datetime | None = None  # when the server confirmed this; None: now
    complete: bool = True  # False: a mirror answered that does not have everything yet
    gone: tuple[str, ...] = ()  # refs that belong to the items, and were not there any more when they were read
    bare: tuple[str, ...] = ()  # refs of items that were not given out: they are as listed, and may not match
    conversations: Mapping[str, str] | None = None  # what the items' thread refs stand for; None: nobody looked
