"""Sending: through the gate, which by default asks a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from postroom.doors.mcp.dialects.mailapi import wording
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order

sending = Toolset("send")
_sending = SendingTools(sending, None, lambda view, _: wording.sent(view)).tool


class SentFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    filename: str
    content_base64: str


@_sending("Send email")
async def send_email(
    gateway: Gateway,
    to: Annotated[list[str], Field(description="Recipient email addresses")],
    subject: Annotated[str, Field(description="Email subject line")],
    body: Annotated[str, Field(description="Email body (plain text)")],
    cc: Annotated[list[str], Field(description="CC recipients (optional)")] = [],  # noqa: B006 - read, never changed
    bcc: Annotated[list[str], Field(description="BCC recipients (optional)")] = [],  # noqa: B006
    attachments: Annotated[list[SentFile], Field(description="Files with their content (optional)")] = [],  # noqa: B006
    template: Annotated[str, Field(description="Saved template to fill in; leave body empty (optional)")] = "",
    variables: Annotated[dict[str, Any] | None, Field(description="Values for the template (optional)")] = None,
) -> Order:
    """Send a new email. IMPORTANT: Always confirm with the user before sending."""
    from postroom.service.attachment_files import EncodedFile
    from postroom.service.sending import send
    from postroom.service.sending.order import Wishes
    from postroom.service.writing import from_template
    from postroom.service.writing.composing import DraftRequest

    files = tuple(EncodedFile(file.filename, file.content_base64) for file in attachments)
    request = DraftRequest(tuple(to), tuple(cc), tuple(bcc), subject, body, encoded_files=files)
    request = await from_template.filled(gateway, request, template, variables)
    return await send.order_mail(gateway, request, Wishes(confirm=True))
