"""What the service returns, ready for any door: ids instead of refs, untrusted text already cleaned.

Names are those of the default dialect; `sender` is shown as `from`. Dates are ISO 8601 with an offset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from postroom.model.quickly_built import quickly_built


@quickly_built
@dataclass(frozen=True, slots=True)
class EmailRow:
    """A message in a list."""

    email_id: str
    thread_id: str
    account: str
    mailbox: str
    sender: str
    to: tuple[str, ...]
    subject: str
    date: str
    snippet: str
    unread: bool
    starred: bool
    has_attachments: bool
    labels: tuple[str, ...]
    size: int
    is_draft: bool = False

    @property
    def marks(self) -> str:
        marks = ("*" if self.unread else "") + ("!" if self.starred else "")
        return marks + ("@" if self.has_attachments else "") + ("~" if self.is_draft else "")


@dataclass(frozen=True, slots=True)
class EmailPage:
    results: tuple[EmailRow, ...]
    total_count: int | None
    limit: int
    offset: int
    has_more: bool
    filters_not_applied: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()  # whole sentences about what is missing from the page
    as_of: str = ""  # when the server confirmed what a mirror answered; empty: the server itself answered
    complete: bool = True  # False: the mirror does not have everything yet


@dataclass(frozen=True, slots=True)
class AttachmentView:
    attachment_id: str  # the part, unique within its message
    filename: str  # made safe for a file system
    mime_type: str
    size: int
    inline: bool


@dataclass(frozen=True, slots=True)
class SenderFacts:
    """What is known about who really wrote a message; warnings are whole sentences."""

    spf: str = ""
    dkim: str = ""
    dmarc: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenEmail:
    """A message, opened. `body` is one page of the chosen format, starting at `body_offset`."""

    row: EmailRow
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    reply_to: tuple[str, ...]
    body: str
    body_format: str  # markdown | text | html | raw
    body_offset: int
    body_chars: int  # of the whole body in this format
    truncated: bool
    quoted_folded: int  # characters of quoted history left out
    hidden_removed: int  # pieces of text a reader could not have seen
    attachments: tuple[AttachmentView, ...]
    facts: SenderFacts
    defects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadItem:
    """One of several messages that were to be read: opened, or what was wrong with it."""

    email_id: str
    email: OpenEmail | None = None
    error: ErrorView | None = None


@dataclass(frozen=True, slots=True)
class WholeEmail:
    """A message as text, its HTML version made safe (empty if it has none), and its headers."""

    email: OpenEmail
    html: str
    html_truncated: bool
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class ThreadView:
    thread_id: str
    account: str
    subject: str
    total_count: int
    emails: tuple[OpenEmail, ...]
    has_more: bool


@dataclass(frozen=True, slots=True)
class FolderView:
    account: str
    name: str
    role: str
    total: int | None
    unread: int | None


@dataclass(frozen=True, slots=True)
class AccountView:
    name: str
    provider: str
    address: str
    is_default: bool
    status: str  # ok | the reason why it cannot be used


@dataclass(frozen=True, slots=True)
class IdentityView:
    account: str
    email: str
    name: str
    is_default: bool
    signature_html: str = ""


@dataclass(frozen=True, slots=True)
class PersonView:
    """Somebody one writes with, as far as was looked: how many messages went to them, and came from them."""

    address: str
    written_to: int
    heard_from: int
    last: str


@dataclass(frozen=True, slots=True)
class ErrorView:
    code: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ItemView:
    email_id: str
    ok: bool
    new_email_id: str = ""
    error: ErrorView | None = None


@dataclass(frozen=True, slots=True)
class WriteView:
    """What a write did. `operation_id` is what `undo` takes; empty where nothing changed."""

    operation_id: str
    results: tuple[ItemView, ...]
    succeeded: int
    failed: int


@dataclass(frozen=True, slots=True)
class UndoView(WriteView):
    """`action` is what was undone; `folders` are those that messages went back to, or the one that was removed; `done`
    completes "3 of 4 messages ..."."""

    action: str = ""
    folders: tuple[str, ...] = ()
    done: str = ""


@dataclass(frozen=True, slots=True)
class DraftView:
    """`draft_id` is empty where dev mode kept the draft from being saved."""

    draft_id: str
    email_id: str
    thread_id: str
    account: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    date: str
    snippet: str = ""
    has_attachments: bool = False


@dataclass(frozen=True, slots=True)
class DraftPage:
    results: tuple[DraftView, ...]
    total_count: int | None
    limit: int
    offset: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A downloaded attachment: where it is, or its bytes when they were asked for and small."""

    email_id: str
    attachment_id: str
    filename: str
    mime_type: str
    size: int
    path: str = ""
    uri: str = ""
    content_base64: str = ""


@dataclass(frozen=True, slots=True)
class AttachmentText:
    """An attachment, read. `text` is one page of what it says; `image` its bytes, if it is a picture to be shown. A
    `file` has neither, and `notes` say why."""

    email_id: str
    attachment_id: str
    filename: str
    mime_type: str  # what the bytes are, where that is known
    size: int
    kind: str  # text | image | file
    offset: int
    total_chars: int | None  # None: there is more, and nobody counted it
    truncated: bool
    notes: tuple[str, ...]
    uri: str
    text: str = ""
    image: bytes = b""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person needs to decide. Hidden and deceiving characters are shown as ``⟨U+202E⟩``."""

    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    body_excerpt: str  # the whole body; of a long one its beginning
    body_chars: int
    attachments: tuple[str, ...]  # "name (type, size)"
    body_ending: str = ""  # of a long body
    original_subject: str = ""
    original_sender: str = ""
    original_date: str = ""  # of one that goes along whole, with its attachments
    original_attachments: tuple[str, ...] = ()
    send_at: str = ""
    reply_to: tuple[str, ...] = ()  # where replies would go instead, set by another program in a draft
    html_chars: int = 0  # of the HTML version, which most readers are shown
    html_excerpt: str = ""  # the HTML as text, where it differs from the text version
    html_ending: str = ""
    link_hosts: tuple[str, ...] = ()  # where the links really lead
    importance: str = ""
    copy_in_sent: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """An approval that is still awaited, and how a person gives it."""

    approval_id: str
    expires: str
    how: str


@dataclass(frozen=True, slots=True)
class VacationView:
    """`start` and `end` are empty where it begins at once, or lasts until it is switched off. `note` is what could not
    be found out."""

    account: str
    enabled: bool
    subject: str
    body: str
    start: str
    end: str
    note: str = ""


_TOLD = 5


@dataclass(frozen=True, slots=True)
class SendView:
    """What a send did. `sent` means that the provider accepted it, never that it was delivered."""

    status: str
    account: str
    message: str  # one sentence for the model: what happened and what to do next
    send_id: str = ""
    message_id: str = ""
    thread_id: str = ""
    accepted: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    preview: Preview | None = None
    approval: ApprovalView | None = None
    # For dialects that speak of them; never shown by the default one:
    tool: str = ""
    message_ref: str = ""  # the provider's own ids
    thread_ref: str = ""
    at: str = ""  # when it got where it is
    findings: dict[str, str] = field(default_factory=dict)  # those of `warnings` that the gate found, by code
    error: ErrorView | None = None  # why the provider refused it, or has not taken it yet

    @property
    def refusals(self) -> str:
        """Whom the provider refused and why, in one line; the first of many."""
        told = [f"{address} ({reason.rstrip('.')})" for address, reason in self.refused.items()]
        more = [f"{len(told) - _TOLD} more"] if len(told) > _TOLD else []
        return ", ".join([*told[:_TOLD], *more])


@dataclass(frozen=True, slots=True)
class OutboxRow:
    send_id: str
    account: str
    kind: str
    state: str
    subject: str
    recipients: tuple[str, ...]
    created: str
    updated: str
    attempts: int
    not_before: str = ""
    reason: str = ""
    approval_id: str = ""


@dataclass(frozen=True, slots=True)
class OutboxPage:
    results: tuple[OutboxRow, ...]
    total_count: int
    limit: int
    offset: int
    has_more: bool
