"""The structured results of the default dialect: one shape per kind of result, named as the model reads them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

EmailRow = TypedDict(
    "EmailRow",
    {
        "email_id": str,
        "thread_id": str,
        "account": str,
        "mailbox": str,
        "from": str,
        "to": list[str],
        "subject": str,
        "date": str,
        "snippet": str,
        "unread": bool,
        "starred": bool,
        "has_attachments": bool,
        "labels": list[str],
        "size": int,
    },
)


class EmailPage(TypedDict):
    results: list[EmailRow]
    total_count: int | None
    limit: int
    offset: int
    has_more: bool
    filters_not_applied: list[str]
    untrusted_fields: list[str]
    as_of: NotRequired[str]
    complete: NotRequired[bool]


class FoundEmails(EmailPage):
    """As EmailPage, said in fewer bytes."""

    results: list[dict[str, Any]]  # type: ignore[misc]  # EmailRow


class Attachment(TypedDict):
    attachment_id: str
    filename: str
    mime_type: str
    size: int
    inline: bool
    uri: str


class Attachments(TypedDict):
    email_id: str
    attachments: list[Attachment]


class SenderFacts(TypedDict):
    spf: str
    dkim: str
    dmarc: str
    warnings: list[str]


class Untrusted(TypedDict):
    """What the sender wrote. The marker is new in every result, so no message can close the fence around it."""

    marker: str
    body: str


Email = TypedDict(
    "Email",
    {
        "email_id": str,
        "thread_id": str,
        "account": str,
        "mailbox": str,
        "from": str,
        "to": list[str],
        "cc": list[str],
        "bcc": list[str],
        "reply_to": list[str],
        "subject": str,
        "date": str,
        "unread": bool,
        "starred": bool,
        "labels": list[str],
        "size": int,
        "sender_checks": dict[str, Any],  # SenderFacts
        "attachments": list[dict[str, Any]],  # Attachment
        "body_format": str,
        "offset": int,
        "total_chars": int,
        "truncated": bool,
        "quoted_folded": int,
        "hidden_removed": int,
        "defects": list[str],
        "untrusted": Untrusted,
    },
)


class Emails(TypedDict):
    """Each an Email, or `email_id` and `error`."""

    emails: list[dict[str, Any]]
    failed: int


ThreadEmail = TypedDict(
    "ThreadEmail",
    {
        "email_id": str,
        "mailbox": str,
        "from": str,
        "to": list[str],
        "date": str,
        "unread": bool,
        "attachments": list[dict[str, Any]],  # Attachment
        "warnings": list[str],
        "truncated": bool,
        "quoted_folded": int,
        "untrusted": Untrusted,
    },
)


class Thread(TypedDict):
    thread_id: str
    account: str
    subject: str
    emails: list[ThreadEmail]
    total_count: int
    has_more: bool


class Account(TypedDict):
    name: str
    provider: str
    address: str
    is_default: bool
    status: str


class Accounts(TypedDict):
    accounts: list[Account]


class Capabilities(TypedDict):
    account: str
    provider: str
    can: list[str]
    cannot: list[str]
    max_attachment_size_mb: int | None
    requests_per_second: float | None
    filters_not_applied: list[str]


class Folder(TypedDict):
    account: str
    name: str
    role: str
    total: int | None
    unread: int | None


class Folders(TypedDict):
    folders: list[Folder]


class CreatedFolder(TypedDict):
    folder: Folder
    operation_id: str


class Labels(TypedDict):
    account: str
    labels: list[str]


class Identity(TypedDict):
    account: str
    email: str
    name: str
    is_default: bool
    signature_html: str


class Identities(TypedDict):
    identities: list[Identity]


class People(TypedDict):
    people: list[dict[str, Any]]  # address, written_to, heard_from, last


class SavedFile(TypedDict):
    email_id: str
    attachment_id: str
    filename: str
    mime_type: str
    size: int
    path: NotRequired[str]
    uri: str
    content_base64: NotRequired[str]


class AttachmentText(TypedDict):
    kind: str  # text | image | file
    filename: NotRequired[str]
    mime_type: NotRequired[str]
    size: NotRequired[int]
    total_chars: NotRequired[int | None]
    truncated: NotRequired[bool]
    notes: NotRequired[list[str]]
    uri: NotRequired[str]
    untrusted: Untrusted


class Item(TypedDict):
    email_id: str
    ok: bool
    new_email_id: NotRequired[str]
    error: NotRequired[dict[str, Any]]  # code, message, details, retry_after


class Written(TypedDict):
    operation_id: str
    results: list[Item]
    succeeded: int
    failed: int


class Undone(Written):
    action: str
    folders: list[str]


class Draft(TypedDict):
    draft_id: str
    email_id: str
    thread_id: str
    account: str
    to: list[str]
    cc: list[str]
    bcc: list[str]
    subject: str
    date: str
    snippet: str
    has_attachments: bool


class DraftPage(TypedDict):
    results: list[dict[str, Any]]  # Draft
    total_count: int | None
    limit: int
    offset: int
    has_more: bool


class Deleted(TypedDict):
    draft_id: str
    status: Literal["deleted"]
    operation_id: str


class Vacation(TypedDict):
    account: str
    enabled: bool
    subject: str
    body: str
    start: str
    end: str
    note: str


class Sent(TypedDict):
    # preview | needs_approval | held | scheduled | sent | already_executed | unknown | rejected | cancelled |
    # needs_human | dev_mode | switched_off
    status: str
    account: str
    message: str
    send_id: NotRequired[str]
    message_id: NotRequired[str]
    thread_id: NotRequired[str]
    accepted: NotRequired[list[str]]
    refused: NotRequired[dict[str, str]]
    warnings: NotRequired[list[str]]
    preview: NotRequired[dict[str, Any]]  # service.views.Preview, with `sender` as `from`
    approval: NotRequired[dict[str, Any]]  # approval_id, expires, how


class Variable(TypedDict):
    name: str
    required: bool
    default: str
    description: str


class Template(TypedDict):
    name: str
    format: str
    subject: str
    description: str
    variables: list[Variable]


class Templates(TypedDict):
    templates: list[Template]
    problems: list[str]


class RenderedTemplate(TypedDict):
    template: str
    subject: str
    text: str
    html: str


class OutboxRow(TypedDict):
    send_id: str
    account: str
    kind: str
    state: str
    subject: str
    recipients: list[str]
    created: str
    updated: str
    attempts: int
    not_before: str
    reason: str
    approval_id: str


class OutboxPage(TypedDict):
    results: list[OutboxRow]
    total_count: int
    limit: int
    offset: int
    has_more: bool
