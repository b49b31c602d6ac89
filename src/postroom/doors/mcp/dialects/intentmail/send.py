"""Toolset `send`: through the gate, which by default asks a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from postroom.doors.mcp.dialects.intentmail import results, shapes
from postroom.doors.mcp.dialects.intentmail.failures import as_error
from postroom.doors.mcp.failures import advice_within
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.model.errors import InvalidRequest, PermissionDenied
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order
    from postroom.service.views import SendView

toolset = Toolset("send")
_NOT_YET = "Not sent yet. Ask the user whether to send exactly this; if so, repeat the same call."


class Attachment(BaseModel):
    """A file with its content, or the path of one in a folder allowed for attachments."""

    model_config = ConfigDict(extra="forbid")

    filename: str = ""
    content_type: str = ""
    content_base64: str | None = None
    path: str = ""


def _worded(view: SendView, _: Order | None) -> CallToolResult:
    if view.status == "rejected":
        why = f"{view.message} Refused: {view.refusals}." if view.refused else view.message
        if view.error is not None:
            raise as_error(view.error, why)
        raise (InvalidRequest if view.refused else PermissionDenied)(why)
    said = view.approval.how if view.approval else advice_within(view.message)
    message = _NOT_YET if view.status == "preview" else said
    known: dict[str, Any] = {
        "message_id": view.message_ref or view.message_id,
        "thread_id": view.thread_ref,
        "date": view.at,
        "accepted": list(view.accepted),
        "refused": view.refused,
        "warnings": list(view.warnings),
    }
    told = {name: value for name, value in known.items() if value}
    return results.told({"status": view.status, "message": message, **told})


_sending = SendingTools(toolset, shapes.SentMessage, _worded).tool


@_sending("Send message")
async def send_message(
    gateway: Gateway,
    to: Annotated[list[str], Field(min_length=1, description="Recipients")],
    subject: str,
    body_text: str = "",
    body_html: str = "",
    cc: list[str] = [],  # noqa: B006 - read, never changed
    bcc: list[str] = [],  # noqa: B006
    in_reply_to: Annotated[str, Field(description="message_id for replies")] = "",
    attachments: Annotated[
        list[Attachment], Field(description="Each with filename and content_base64, or with path")
    ] = [],  # noqa: B006
) -> Order:
    """Send email with optional attachments"""
    from postroom.service.attachment_files import EncodedFile
    from postroom.service.sending import send
    from postroom.service.sending.order import Wishes
    from postroom.service.writing.composing import DraftRequest

    for file in attachments:
        _check(file)
    given = [file for file in attachments if not file.path]
    request = DraftRequest(
        *(tuple(to), tuple(cc), tuple(bcc), subject, body_text, body_html),
        attachments=tuple(file.path for file in attachments if file.path),
        in_reply_to=in_reply_to,
        encoded_files=tuple(EncodedFile(file.filename, file.content_base64 or "", file.content_type) for file in given),
    )
    return await send.order_mail(gateway, request, Wishes(confirm=True))


def _check(file: Attachment) -> None:
    """One or the other; a name with the content, for the recipient sees it."""
    has_content = file.content_base64 is not None
    if bool(file.path) == has_content or (has_content and not file.filename.strip()):
        raise InvalidRequest(
            "Each attachment has either filename and content_base64, or path.", details={"field": "attachments"}
        )
