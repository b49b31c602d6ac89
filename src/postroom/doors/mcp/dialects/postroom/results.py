"""From views to results: structured content in the shapes of the dialect, and the same as compact text."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from mcp_types import CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent
from pydantic_core import to_json

from postroom.doors.mcp.dialects.postroom import shapes, text
from postroom.doors.mcp.schema import SHOWN_AS
from postroom.model.capabilities import Capabilities
from postroom.model.errors import ProviderError

if TYPE_CHECKING:
    from postroom.service.views import (
        AccountView,
        AttachmentText,
        AttachmentView,
        DraftPage,
        DraftView,
        EmailPage,
        EmailRow,
        FolderView,
        IdentityView,
        ItemView,
        OpenEmail,
        PersonView,
        ReadItem,
        SavedFile,
        ThreadView,
        UndoView,
        WriteView,
    )

PAGE_BUDGET = 8_350  # bytes of a page's rows and lines together: snippets get what the other fields leave
MAX_SUBJECT, MAX_RECIPIENTS = 120, 3  # in a listing; read_email shows all
# What an account may be able to do, and the tool or request that does it. A capability that no tool uses would only
# make a model look for one.
ADVERTISED = {
    "can_draft": "create_draft",
    "can_send": "send_email",
    "can_label": "apply_label",
    "can_create_folder": "create_folder",
    "can_rename_folder": "rename_folder",
    "can_create_alias": "create_alias",
    "has_vacation": "set_vacation",
    "has_threading": "get_thread",
    "has_push": "resources/subscribe",
}
# Those of a toolset that is off by default.
_OF_TOOLSET = {"can_rename_folder": "folders", "can_create_alias": "identities", "has_vacation": "vacation"}
UNTRUSTED_FIELDS = ["from", "to", "subject", "snippet", "labels"]


def answer(structured: Any, words: str, links: Iterable[ContentBlock] = ()) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=words), *links], structured_content=structured)


def email_page(page: EmailPage, *, with_account: bool = False) -> CallToolResult:
    """A short list shows long snippets, a long list short ones or none, so pages are about the same size."""
    rows = [_listed_row(row) for row in page.results]
    listed = text.lines(page, with_account=with_account)
    cost = len(to_json(rows)) + text.size_of("".join(listed[1]))
    room = max(0, PAGE_BUDGET - cost) // (2 * len(rows) or 1)
    for shown, row in zip(rows, page.results, strict=True):
        shown["snippet"] = text.cut(row.snippet, min(room, text.MAX_SNIPPET))
    # Without its notices: they are given as text, and filters_not_applied names the accounts.
    structured: dict[str, Any] = {
        "results": rows,
        "total_count": page.total_count,
        "limit": page.limit,
        "offset": page.offset,
        "has_more": page.has_more,
        "filters_not_applied": list(page.filters_not_applied),
    }
    if page.as_of:  # otherwise the server itself answered, or a mirror that it never confirmed, which is not complete
        structured["as_of"] = page.as_of
    if page.as_of or not page.complete:
        structured["complete"] = page.complete and not page.notices
    structured["untrusted_fields"] = UNTRUSTED_FIELDS
    notices = [TextContent(type="text", text=f"Notice: {each}") for each in page.notices]
    return answer(structured, text.email_page(page, listed, room), notices)


def open_email(email: OpenEmail, *, has_fences: bool = True) -> CallToolResult:
    marker = text.new_marker() if has_fences else ""
    structured = _open_email(email, marker)
    return answer(structured, text.open_email(email, marker), _links(structured["attachments"]))


def open_emails(items: Sequence[ReadItem]) -> CallToolResult:
    """One result per id, in order. If none could be read the result is an error: that of the first."""
    marker = text.new_marker()
    emails = [
        _open_email(item.email, marker) if item.email else {"email_id": item.email_id, "error": plain(item.error)}
        for item in items
    ]
    failed = sum(item.email is None for item in items)
    structured: dict[str, Any] = {"emails": emails, "failed": failed}
    result = answer(structured, text.open_emails(items, marker))
    if failed == len(items):
        result.is_error = True
        structured["error"] = emails[0]["error"]
    return result


def _open_email(email: OpenEmail, marker: str) -> dict[str, Any]:
    row = email.row
    return {
        "email_id": row.email_id,
        "thread_id": row.thread_id,
        "account": row.account,
        "mailbox": row.mailbox,
        "from": row.sender,
        "to": list(row.to),
        "cc": list(email.cc),
        "bcc": list(email.bcc),
        "reply_to": list(email.reply_to),
        "subject": row.subject,
        "date": row.date,
        "unread": row.unread,
        "starred": row.starred,
        "labels": list(row.labels),
        "size": row.size,
        "sender_checks": plain(email.facts),
        "attachments": _attachments(email),
        "body_format": email.body_format,
        "offset": email.body_offset,
        "total_chars": email.body_chars,
        "truncated": email.truncated,
        "quoted_folded": email.quoted_folded,
        "hidden_removed": email.hidden_removed,
        "defects": list(email.defects),
        "untrusted": {"marker": marker, "body": email.body},
    }


def thread(view: ThreadView) -> CallToolResult:
    marker = text.new_marker()
    structured: shapes.Thread = {
        "thread_id": view.thread_id,
        "account": view.account,
        "subject": view.subject,
        "emails": [_thread_email(email, marker) for email in view.emails],
        "total_count": view.total_count,
        "has_more": view.has_more,
    }
    return answer(structured, text.thread(view, marker))


def attachments(account: str, email_id: str, views: Sequence[AttachmentView]) -> CallToolResult:
    listed = [_attachment(account, email_id, view) for view in views]
    structured: shapes.Attachments = {"email_id": email_id, "attachments": listed}
    return answer(structured, text.attachments(email_id, views), _links(listed))


def saved_file(file: SavedFile) -> CallToolResult:
    structured = {name: value for name, value in plain(file).items() if value != ""}
    return answer(structured, text.saved_file(file), [_link(file.uri, file.filename, file.mime_type, file.size)])


def attachment_text(view: AttachmentText) -> CallToolResult:
    """A picture is shown as one, and what cannot be read as a link."""
    marker = text.new_marker()
    named = ("kind", "filename", "mime_type", "size", "total_chars", "truncated", "notes", "uri")
    structured = {name: plain(getattr(view, name)) for name in named}
    structured["untrusted"] = {"marker": marker, "body": view.text}
    blocks: list[ContentBlock] = []
    if view.kind == "image":
        data = base64.b64encode(view.image).decode("ascii")
        blocks = [ImageContent(type="image", data=data, mime_type=view.mime_type)]
    elif view.kind == "file":
        blocks = [_link(view.uri, view.filename, view.mime_type, view.size)]
    return answer(structured, text.attachment_text(view, marker), blocks)


def accounts(views: Sequence[AccountView]) -> CallToolResult:
    return answer({"accounts": [plain(view) for view in views]}, text.accounts(views))


def capabilities(account: str, able: Capabilities, toolsets: Collection[str]) -> CallToolResult:
    told = [name for name in ADVERTISED if name not in _OF_TOOLSET or _OF_TOOLSET[name] in toolsets]
    claims = {name.removeprefix("can_").removeprefix("has_"): getattr(able, name) for name in told}
    structured: shapes.Capabilities = {
        "account": account,
        "provider": able.provider,
        "can": [name for name, true in claims.items() if true],
        "cannot": [name for name, true in claims.items() if not true],
        "max_attachment_size_mb": able.max_attachment_size_mb,
        "requests_per_second": able.requests_per_second,
        "filters_not_applied": list(able.search_not_applied),
    }
    return answer(structured, text.capabilities(structured))


def folders(views: Sequence[FolderView]) -> CallToolResult:
    return answer({"folders": [plain(view) for view in views]}, text.folders(views))


def created_folder(view: FolderView, operation_id: str, done: str = "Created") -> CallToolResult:
    words = f"{done} folder {view.name} in account {view.account}. Undo with operation_id {operation_id}."
    return answer({"folder": plain(view), "operation_id": operation_id}, words)


def labels(account: str, names: Sequence[str]) -> CallToolResult:
    return answer(
        {"account": account, "labels": list(names)}, text.set_apart("\n".join(names)) if names else "No labels."
    )


def identities(views: Sequence[IdentityView]) -> CallToolResult:
    return answer({"identities": [plain(view) for view in views]}, text.identities(views))


def people(views: Sequence[PersonView]) -> CallToolResult:
    return answer({"people": [plain(view) for view in views]}, text.people(views))


def written(view: WriteView, done: str) -> CallToolResult:
    """`done` completes "3 of 4 emails ...". If nothing succeeded the result is an error: that of the first message."""
    if not _may_have_changed(view):
        view = replace(view, operation_id="")
    structured = {**plain(view), "results": [_item(item) for item in view.results]}
    result = answer(structured, text.written(view, done))
    result.is_error = view.failed > 0 and view.succeeded == 0
    if result.is_error:
        structured["error"] = structured["results"][0]["error"]
    return result


def _may_have_changed(view: WriteView) -> bool:
    """Whether there is something to undo. After a provider's error, what was asked for may have been done."""
    errors = [item.error for item in view.results if item.error is not None]
    return view.succeeded > 0 or any(error.code == ProviderError.code for error in errors)


def undone(view: UndoView) -> CallToolResult:
    result = written(view, view.done)
    assert result.structured_content is not None
    del result.structured_content["done"]
    if view.action in ("create_folder", "delete_folder", "rename_folder"):
        result.content = [TextContent(type="text", text=f"Folder {', '.join(view.folders)} {view.done}.")]
    return result


def draft(view: DraftView, done: str) -> CallToolResult:
    return answer(plain(view), text.draft(view, done))


def draft_page(page: DraftPage) -> CallToolResult:
    return answer(plain(page), text.draft_page(page))


def deleted_draft(draft_id: str, operation_id: str) -> CallToolResult:
    structured: shapes.Deleted = {"draft_id": draft_id, "status": "deleted", "operation_id": operation_id}
    undo = f"moved to the trash. Undo with operation_id {operation_id}." if operation_id else "permanently deleted."
    return answer(structured, f"Draft {draft_id} {undo}")


def attachment_uri(account: str, email_id: str, attachment_id: str) -> str:
    return f"mail://{quote(account, safe='')}/{email_id}/attachments/{quote(attachment_id, safe='')}"


def plain(view: Any) -> Any:
    """A view as JSON values. `sender` is shown as `from`, as everywhere in email."""
    if view is None or isinstance(view, (str, int, float, dict)):
        return view
    if isinstance(view, tuple):
        return [plain(item) for item in view]
    return {shown: plain(getattr(view, name)) for name, shown in _names(view.__class__)}


@cache
def _names(view: Any) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, SHOWN_AS.get(field.name, field.name)) for field in fields(view))


def _listed_row(row: EmailRow) -> shapes.EmailRow:
    """Without its snippet; a long subject is cut, and only the first recipients are listed, by address."""
    to = [address.rpartition("<")[2].removesuffix(">") for address in row.to[:MAX_RECIPIENTS]]
    if len(row.to) > MAX_RECIPIENTS:
        to.append(f"and {len(row.to) - MAX_RECIPIENTS} more")
    return {
        "email_id": row.email_id,
        "thread_id": row.thread_id,
        "account": row.account,
        "mailbox": row.mailbox,
        "from": row.sender,
        "to": to,
        "subject": text.cut(row.subject, MAX_SUBJECT),
        "date": row.date,
        "snippet": "",
        "unread": row.unread,
        "starred": row.starred,
        "has_attachments": row.has_attachments,
        "labels": list(row.labels),
        "size": row.size,
    }


def _thread_email(email: OpenEmail, marker: str) -> shapes.ThreadEmail:
    row = email.row
    return {
        "email_id": row.email_id,
        "mailbox": row.mailbox,
        "from": row.sender,
        "to": list(row.to),
        "date": row.date,
        "unread": row.unread,
        "attachments": cast("list[dict[str, Any]]", _attachments(email)),
        "warnings": [*email.facts.warnings, *email.defects],
        "truncated": email.truncated,
        "quoted_folded": email.quoted_folded,
        "untrusted": {"marker": marker, "body": email.body},
    }


def _attachments(email: OpenEmail) -> list[shapes.Attachment]:
    return [_attachment(email.row.account, email.row.email_id, view) for view in email.attachments]


def _attachment(account: str, email_id: str, view: AttachmentView) -> shapes.Attachment:
    return cast("shapes.Attachment", {**plain(view), "uri": attachment_uri(account, email_id, view.attachment_id)})


def _links(listed: Sequence[shapes.Attachment]) -> list[ContentBlock]:
    return [
        _link(entry["uri"], entry["filename"], entry["mime_type"], entry["size"])
        for entry in listed
        if not entry["inline"]
    ]


def _link(uri: str, filename: str, mime_type: str, size: int) -> ResourceLink:
    return ResourceLink(type="resource_link", uri=uri, name=filename, mime_type=mime_type, size=size)


def _item(view: ItemView) -> dict[str, Any]:
    return {name: value for name, value in plain(view).items() if value not in ("", None)}
