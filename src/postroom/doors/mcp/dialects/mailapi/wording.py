"""The contract's sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from postroom.doors.mcp.failures import advice_within
from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    RateLimited,
)

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.service.templates.library import Broken
    from postroom.service.templates.rendering import Rendered
    from postroom.service.templates.template import Template, Variable
    from postroom.service.views import (
        AttachmentView,
        EmailPage,
        EmailRow,
        ErrorView,
        OpenEmail,
        SavedFile,
        SendView,
        WriteView,
    )

PREVIEW = 100  # characters
_FAILED_TO = {
    "list_emails": "fetch emails",
    "read_email": "read email",
    "send_email": "send email",
    "search_emails": "search emails",
    "delete_email": "delete email",
    "move_email": "move email",
    "mark_email": "mark email",
    "list_attachments": "list attachments",
    "get_attachment": "get attachment",
    "delete_emails": "delete emails",
    "move_emails": "move emails",
    "mark_emails": "mark emails",
    "list_templates": "list templates",
    "save_template": "save template",
    "render_template": "render template",
}
_KINDS = (InvalidRequest, NotFound, PermissionDenied, AuthRequired, RateLimited, Conflict)
_NOT_THERE = ("unknown_tool", "tool_not_enabled")


def failure(error: PostroomError, tool: str) -> MCPError:
    """Wrong arguments are the caller's mistake; everything else is reported as a failed attempt."""
    data: dict[str, Any] = {"code": error.code, "reason": error.reason}
    if error.retry_after is not None:
        data["retry_after"] = error.retry_after
    if isinstance(error, InvalidRequest) or error.reason in _NOT_THERE:
        return MCPError(INVALID_PARAMS, error.message, data)
    return MCPError(INTERNAL_ERROR, f"Failed to {_FAILED_TO.get(tool, tool)}: {error.message}", data)


def said(*texts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts])


def summary(gateway: Gateway, page: EmailPage, *, unread_in: str = "") -> CallToolResult:
    """`unread_in` names the mailbox whose unread emails were asked for. What the contract has no words for, such as a
    filter that could not be applied, is in a block of its own."""
    rows = page.results
    head = f"Found {len(rows)} unread emails in {unread_in}:" if unread_in else f"Found {len(rows)} email(s):"
    listed = "".join(_row(gateway, number, row) for number, row in enumerate(rows, 1))
    left_out = [f"Filters that could not be applied: {', '.join(page.filters_not_applied)}."]
    notes = [*(left_out if page.filters_not_applied else ()), *page.notices]
    return said(f"{head}\n\n{listed}" if rows else "No emails found.", *notes)


def _row(gateway: Gateway, number: int, row: EmailRow) -> str:
    return (
        f"{number}. From: {row.sender}\n   Subject: {row.subject}\n   Date: {_date(gateway, row.date)}\n"
        f"   Preview: {row.snippet[:PREVIEW]}\n   ID: {row.email_id}\n\n"
    )


def opened(gateway: Gateway, email: OpenEmail) -> CallToolResult:
    row = email.row
    rest = f"\n\n[{email.body_chars - len(email.body)} more characters]" if email.truncated else ""
    return said(
        f"From: {row.sender}\nTo: {', '.join(row.to)}\nSubject: {row.subject}\n"
        f"Date: {_date(gateway, row.date)}\n\n{email.body}{rest}"
    )


def _date(gateway: Gateway, moment: str) -> str:
    """In UTC, unless the operator names a time zone."""
    if not moment:
        return ""
    read = datetime.fromisoformat(moment)
    return (read if gateway.settings.server.timezone else read.astimezone(UTC)).strftime("%Y-%m-%d %H:%M")


def sent(view: SendView) -> CallToolResult:
    if view.status in ("sent", "already_executed"):
        return said(f"Email sent successfully. Message ID: {view.message_ref or view.message_id}")
    if view.status == "rejected":
        raise ProviderError(f"{view.message} Refused: {view.refusals}." if view.refused else view.message)
    message = advice_within(view.message)
    if view.status == "unknown":
        return said(f"It is not known whether the email was sent. {message}")
    if view.status == "preview":
        return said("Email not sent yet. Ask the user whether to send exactly this; if so, repeat the same call.")
    if view.status == "dev_mode":
        return said(message)
    return said(f"Email not sent yet. {view.approval.how if view.approval else message}")


def changed(view: WriteView, done: str) -> CallToolResult:
    """For one email."""
    (item,) = view.results
    if item.error is not None:
        raise _raised(item.error)
    new_id = f" Its ID is now {item.new_email_id}." if item.new_email_id else ""
    return said(f"Email {done}.{new_id}")


def all_changed(view: WriteView, done: str) -> CallToolResult:
    """For several: each that failed is named, and each whose ID changed."""
    lines = [f"{view.succeeded} of {len(view.results)} email(s) {done}."]
    for item in view.results:
        if item.error is not None:
            lines.append(f"Failed: {item.email_id}: {advice_within(item.error.message)}")
        elif item.new_email_id:
            lines.append(f"ID {item.email_id} is now {item.new_email_id}")
    return said("\n".join(lines))


def attachments(views: Sequence[AttachmentView]) -> CallToolResult:
    if not views:
        return said("No attachments found.")
    rows = [
        f"{number}. Filename: {view.filename}\n   Type: {view.mime_type}\n   Size: {view.size} bytes\n"
        f"   ID: {view.attachment_id}\n\n"
        for number, view in enumerate(views, 1)
    ]
    return said(f"Found {len(views)} attachment(s):\n\n{''.join(rows)}")


def attachment(file: SavedFile) -> CallToolResult:
    where = f"Content (base64): {file.content_base64}" if file.content_base64 else f"Saved as: {file.path}"
    return said(f"Filename: {file.filename}\nType: {file.mime_type}\nSize: {file.size} bytes\n{where}")


def templates(found: Sequence[Template], broken: Sequence[Broken]) -> CallToolResult:
    """Each file that cannot be used is in a block of its own."""
    rows = [f"{number}. {_template(each, '   ')}\n\n" for number, each in enumerate(found, 1)]
    head = f"Found {len(found)} template(s):\n\n{''.join(rows)}" if found else "No templates found."
    return said(head, *(f"Not usable: {each.problem}" for each in broken))


def template_saved(template: Template) -> CallToolResult:
    return said(f"Template saved.\n\n{_template(template)}")


def _template(template: Template, indent: str = "") -> str:
    lines = [f"Name: {template.name}", f"Subject: {template.subject}", f"Format: {template.format}"]
    lines += [f"Description: {template.description}"] if template.description else []
    lines.append(f"Variables: {', '.join(map(_variable, template.variables)) or 'none'}")
    return f"\n{indent}".join(lines)


def _variable(variable: Variable) -> str:
    if variable.required:
        return variable.name
    return f"{variable.name} (default: {variable.default})" if variable.default else f"{variable.name} (optional)"


def rendered(email: Rendered) -> CallToolResult:
    return said(f"Subject: {email.subject}\n\n{email.text or email.html}")


def _raised(error: ErrorView) -> PostroomError:
    kind = next((kind for kind in _KINDS if kind.code == error.code), ProviderError)
    return kind(error.message, details=error.details, retry_after=error.retry_after)
