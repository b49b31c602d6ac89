"""Toolset `read`: what the flows of the contract start from. Nothing here changes a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.graph.arguments import MessageId, UserId, account_of
from postroom.doors.mcp.dialects.postroom.results import answer
from postroom.doors.mcp.toolbox import Toolset
from postroom.model.query.text import MAX_LENGTH
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.views import AttachmentView, EmailPage, EmailRow, OpenEmail

toolset = Toolset("read")

_NOT_ALL = "Es wurden nicht alle E-Mails durchsucht: Der Spiegel lässt Ordner aus oder ist noch nicht vollständig."

Folder = Annotated[
    str, Field(description="Ordner: inbox, sentitems, drafts, archive, deleteditems, junkemail oder Name")
]
Top = Annotated[int, Field(ge=1, le=100, description="Wie viele E-Mails höchstens")]
Skip = Annotated[int, Field(ge=0, le=100_000, description="Wie viele E-Mails überspringen")]

Row = TypedDict(
    "Row",
    {
        "message_id": str,
        "subject": str,
        "from": str,
        "to": list[str],
        "receivedDateTime": str,
        "bodyPreview": str,
        "isRead": bool,
        "hasAttachments": bool,
    },
)


class Page(TypedDict):
    emails: list[Row]
    totalCount: int | None
    hasMore: bool
    warnings: list[str]  # what the page lacks, such as a filter that the provider cannot apply


class Attachment(TypedDict):
    attachment_id: str
    name: str
    contentType: str
    size: int
    isInline: bool


class Attachments(TypedDict):
    message_id: str
    attachments: list[Attachment]


class Message(Row):
    cc: list[str]
    body: str
    bodyChars: int  # noqa: N815 (the names of Graph)
    attachments: list[Attachment]
    warnings: list[str]


class File(TypedDict):
    name: str
    contentType: str
    size: int
    path: str
    contentBase64: str


@toolset.tool("E-Mails auflisten", returns=Page, read_only=True, idempotent=True)
async def list_emails(
    gateway: Gateway,
    folder: Folder = "inbox",
    unread_only: Annotated[bool, Field(description="Nur ungelesene")] = False,
    top: Top = 25,
    skip: Skip = 0,
    user_id: UserId = "",
) -> CallToolResult:
    """Listet die E-Mails eines Ordners auf, neueste zuerst, mit ihren message_ids."""
    from postroom.service.reading import search

    account = account_of(gateway, user_id)
    page = await search.list_emails(
        gateway, account=account, mailbox=folder, limit=top, offset=skip, unread_only=unread_only
    )
    return _page(page)


@toolset.tool("E-Mails suchen", returns=Page, read_only=True, idempotent=True)
async def search_emails(
    gateway: Gateway,
    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_LENGTH,
            description='Wörter, "Wortgruppen", from: to: subject: has:attachment is:unread after:YYYY-MM-DD',
        ),
    ],
    folder: Annotated[str, Field(description="Nur in diesem Ordner suchen")] = "",
    top: Top = 25,
    skip: Skip = 0,
    user_id: UserId = "",
) -> CallToolResult:
    """Sucht E-Mails nach Inhalt, Absender oder Betreff, neueste zuerst."""
    from postroom.service.reading import search

    account = account_of(gateway, user_id)
    page = await search.search_emails(gateway, query, account=account, mailbox=folder or None, limit=top, offset=skip)
    return _page(page)


@toolset.tool("E-Mail lesen", returns=Message, read_only=True, idempotent=True)
async def read_email(
    gateway: Gateway,
    message_id: MessageId,
    include_quoted: Annotated[bool, Field(description="Auch zitierte frühere E-Mails")] = False,
    offset: Annotated[int, Field(ge=0, description="Ab welchem Zeichen des Textes")] = 0,
    user_id: UserId = "",
) -> CallToolResult:
    """Liest eine E-Mail: Kopfzeilen, Text und Liste der Anhänge. Sie bleibt ungelesen."""
    from postroom.service.reading import read

    email = await read.read_email(
        gateway, message_id, account=account_of(gateway, user_id), include_quoted=include_quoted, offset=offset
    )
    warnings = [*email.facts.warnings, *email.defects, *_left_out(email)]
    structured = {
        **_row(email.row),
        "cc": list(email.cc),
        "body": email.body,
        "bodyChars": email.body_chars,
        "attachments": [_attachment(view) for view in email.attachments],
        "warnings": warnings,
    }
    return answer(structured, "\n".join([_line(email.row), *_warned(warnings), "", email.body]))


@toolset.tool("Anhänge auflisten", returns=Attachments, read_only=True, idempotent=True)
async def list_attachments(gateway: Gateway, message_id: MessageId, user_id: UserId = "") -> CallToolResult:
    """Listet die Anhänge einer E-Mail mit Name, Typ und Größe auf."""
    from postroom.service.reading import read

    views = await read.list_attachments(gateway, message_id, account=account_of(gateway, user_id))
    listed = [_attachment(view) for view in views]
    lines = [
        f"{file['attachment_id']}: {file['name']} ({file['contentType']}, {file['size']} Bytes)" for file in listed
    ]
    return answer({"message_id": message_id, "attachments": listed}, "\n".join(lines) or "Keine Anhänge.")


@toolset.tool("Anhang herunterladen", returns=File, read_only=True)
async def download_attachment(
    gateway: Gateway,
    message_id: MessageId,
    attachment_id: Annotated[str, Field(description="Aus read_email oder list_attachments")],
    as_base64: Annotated[bool, Field(description="Inhalt zurückgeben statt speichern; höchstens 64 KB")] = False,
    user_id: UserId = "",
) -> CallToolResult:
    """Speichert einen Anhang im Download-Ordner und gibt den Pfad zurück."""
    from postroom.service.reading import read

    account = account_of(gateway, user_id)
    file = await read.download_attachment(gateway, message_id, attachment_id, account=account, as_base64=as_base64)
    structured: File = {
        "name": file.filename,
        "contentType": file.mime_type,
        "size": file.size,
        "path": file.path,
        "contentBase64": file.content_base64,
    }
    return answer(structured, f"{file.filename} ({file.size} Bytes){f': {file.path}' if file.path else ''}")


def _page(page: EmailPage) -> CallToolResult:
    structured: Page = {
        "emails": [_row(row) for row in page.results],
        "totalCount": page.total_count,
        "hasMore": page.has_more,
        "warnings": [*_unapplied(page), *([_NOT_ALL] if page.notices and not page.complete else page.notices)],
    }
    rows = list(map(_line, page.results)) or ["Keine E-Mails gefunden."]
    return answer(structured, "\n".join([*rows, *_warned(structured["warnings"])]))


def _unapplied(page: EmailPage) -> list[str]:
    names = ", ".join(page.filters_not_applied)
    return [f"Der Anbieter kann diese Filter nicht anwenden: {names}."] if names else []


def _left_out(email: OpenEmail) -> list[str]:
    """What of the text is not shown here, and how to get it."""
    end = email.body_offset + len(email.body)
    parts = [
        (email.truncated, f"Der Text geht weiter: offset={end}."),
        (email.quoted_folded, "Zitierte frühere E-Mails sind weggelassen: include_quoted=true."),
        (email.hidden_removed, "Text, den kein Leser sieht, wurde entfernt."),
    ]
    return [sentence for holds, sentence in parts if holds]


def _warned(warnings: list[str]) -> list[str]:
    return [f"Warnung: {warning}" for warning in warnings]


def _row(row: EmailRow) -> Row:
    return {
        "message_id": row.email_id,
        "subject": row.subject,
        "from": row.sender,
        "to": list(row.to),
        "receivedDateTime": row.date,
        "bodyPreview": row.snippet,
        "isRead": not row.unread,
        "hasAttachments": row.has_attachments,
    }


def _attachment(view: AttachmentView) -> Attachment:
    return {
        "attachment_id": view.attachment_id,
        "name": view.filename,
        "contentType": view.mime_type,
        "size": view.size,
        "isInline": view.inline,
    }


def _line(row: EmailRow) -> str:
    return f"{row.email_id} {row.date} {row.sender} | {row.subject}"
