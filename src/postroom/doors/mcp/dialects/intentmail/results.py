"""From views to the contract's types. The text beside a result is the same object as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcp_types import CallToolResult
from pydantic_core import to_json

from postroom.doors.mcp.dialects.intentmail import shapes
from postroom.doors.mcp.dialects.intentmail.failures import as_error, item_error
from postroom.doors.mcp.dialects.postroom.results import answer
from postroom.doors.mcp.failures import advice_within

if TYPE_CHECKING:
    from postroom.model.capabilities import Capabilities
    from postroom.service.views import (
        AttachmentView,
        EmailPage,
        EmailRow,
        IdentityView,
        ItemView,
        OpenEmail,
        SavedFile,
        ThreadView,
        WholeEmail,
        WriteView,
    )

PROVIDERS = {"graph": "outlook", "jmap": "fastmail"}  # the contract's names; the others have their own
_OWN_ATTACHMENT_LIMIT = 25  # MB that a message written here may carry


def told(structured: Any) -> CallToolResult:
    return answer(structured, to_json(structured).decode())


def message_list(page: EmailPage) -> CallToolResult:
    """A provider that does not count has a lower bound, and that is said."""
    counted = page.offset + len(page.results) + page.has_more if page.total_count is None else page.total_count
    structured: shapes.MessageList = {
        "results": [summary(row) for row in page.results],
        "total_count": counted,
        "limit": page.limit,
        "offset": page.offset,
        "has_more": page.has_more,
    }
    if page.total_count is None and (page.has_more or not page.complete):
        structured["total_count_is_minimum"] = True
    if page.filters_not_applied:
        structured["filters_not_applied"] = list(page.filters_not_applied)
    if page.notices:
        structured["notices"] = list(page.notices)
    return told(structured)


def summary(row: EmailRow) -> shapes.Summary:
    return {
        "message_id": row.email_id,
        "thread_id": row.thread_id,
        "folder": row.mailbox,
        "from": row.sender,
        "to": list(row.to),
        "subject": row.subject,
        "date": row.date,
        "snippet": row.snippet,
        "labels": list(row.labels),
        "is_read": not row.unread,
        "is_starred": row.starred,
        "has_attachments": row.has_attachments,
        "size": row.size,
    }


def message(whole: WholeEmail, files: dict[str, SavedFile]) -> CallToolResult:
    structured = _message(whole.email, files)
    structured["headers"] = whole.headers
    if whole.html:
        structured["body_html"] = whole.html
    structured["is_truncated"] |= whole.html_truncated
    return told(structured)


def thread(view: ThreadView, limit: int) -> CallToolResult:
    structured: shapes.Thread = {
        "thread_id": view.thread_id,
        "subject": view.subject,
        "messages": {
            "results": [_message(email, {}) for email in view.emails],
            "total_count": view.total_count,
            "limit": limit,
            "offset": view.total_count - len(view.emails),
            "has_more": view.has_more,
        },
    }
    return told(structured)


def _warnings(email: OpenEmail) -> list[str]:
    left_out = f"{email.quoted_folded} characters of quoted earlier mail are left out here; get_message shows them."
    said = (*email.facts.warnings, *email.defects, *([left_out] if email.quoted_folded else ()))
    return list(map(advice_within, said))


def _message(email: OpenEmail, files: dict[str, SavedFile]) -> shapes.Message:
    shown: dict[str, Any] = {
        **summary(email.row),
        "cc": list(email.cc),
        "bcc": list(email.bcc),
        "reply_to": list(email.reply_to),
        "body_text": email.body,
        "is_truncated": email.truncated,
        "attachments": [_attachment(view, files.get(view.attachment_id)) for view in email.attachments],
        "warnings": _warnings(email),
    }
    return cast("shapes.Message", shown)


def _attachment(view: AttachmentView, file: SavedFile | None) -> shapes.Attachment:
    shown: shapes.Attachment = {
        "attachment_id": view.attachment_id,
        "filename": view.filename,
        "content_type": view.mime_type,
        "size": view.size,
        "is_inline": view.inline,
    }
    if file is not None and file.path:
        shown["path"] = file.path
    elif file is not None:
        shown["content_base64"] = file.content_base64
    return shown


def action(view: WriteView, name: str) -> CallToolResult:
    """Success is that of every message. Where the only one failed, its error is the result."""
    if len(view.results) == 1 and view.results[0].error is not None:
        raise as_error(view.results[0].error)
    structured: shapes.ActionResult = {
        "success": view.failed == 0,
        "action": name,
        "succeeded": view.succeeded,
        "failed": view.failed,
        "results": [_item(item) for item in view.results],
    }
    result = told(structured)
    result.is_error = view.succeeded == 0 and view.failed > 0
    return result


def _item(item: ItemView) -> shapes.ActionItem:
    shown: shapes.ActionItem = {"message_id": item.email_id, "success": item.ok}
    if item.new_email_id:
        shown["new_message_id"] = item.new_email_id
    if item.error is not None:
        shown["error"] = item_error(item.error)
    return shown


def identity(view: IdentityView) -> shapes.Identity:
    return {"email": view.email, "name": view.name, "is_default": view.is_default, "signature": view.signature_html}


def capabilities(able: Capabilities) -> CallToolResult:
    structured: shapes.Capabilities = {
        "provider": PROVIDERS.get(able.provider, able.provider),
        "has_threading": able.has_threading,
        "has_server_side_rules": able.has_server_side_rules,
        "max_attachment_size_mb": min(able.max_attachment_size_mb or _OWN_ATTACHMENT_LIMIT, _OWN_ATTACHMENT_LIMIT),
        "rate_limits": {"requests_per_second": able.requests_per_second, "burst": able.burst},
    }
    return told(structured)
