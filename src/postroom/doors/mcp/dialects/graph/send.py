"""Toolset `send`: the contract's three tools. Without `confirm: true` each returns a preview and sends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.doors.mcp.dialects.graph import answers
from postroom.doors.mcp.dialects.graph.arguments import (
    AnsweredId,
    Attachments,
    Bcc,
    Body,
    BodyType,
    Cc,
    Confirm,
    ForwardedId,
    ForwardText,
    ForwardTo,
    IdempotencyKey,
    Importance,
    ReplyAll,
    ReplyText,
    SaveToSentItems,
    Subject,
    To,
    UserId,
    account_of,
)
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order, Wishes

toolset = Toolset("send")
_sending = SendingTools(toolset, answers.Sent, answers.worded).tool


@_sending("E-Mail senden")
async def send_email(
    gateway: Gateway,
    to: To,
    subject: Subject,
    body: Body,
    cc: Cc = [],  # noqa: B006 - read, never changed
    bcc: Bcc = [],  # noqa: B006
    body_type: BodyType = "text",
    importance: Importance = "normal",
    save_to_sent_items: SaveToSentItems = True,
    attachments: Attachments = [],  # noqa: B006
    user_id: UserId = "",
    idempotency_key: IdempotencyKey = "",
    confirm: Confirm = False,
) -> Order:
    """Sendet eine neue E-Mail. Für Antworten reply_email, zum Weiterleiten forward_email verwenden.

    Ohne confirm: true wird nichts gesendet, sondern eine Vorschau zurückgegeben, die der Benutzer bestätigen soll.
    """
    from postroom.service.attachment_files import EncodedFile
    from postroom.service.sending import send
    from postroom.service.writing import composing

    text, html = ("", body) if body_type == "html" else (body, "")
    files = tuple(EncodedFile(file.name, file.content_base64, file.content_type) for file in attachments)
    request = composing.DraftRequest(
        tuple(to), tuple(cc), tuple(bcc), subject, text, html, importance=importance, encoded_files=files
    )
    wishes = _wishes(gateway, confirm, idempotency_key, save_to_sent=save_to_sent_items)
    return await send.order_mail(gateway, request, wishes, account_of(gateway, user_id))


@_sending("E-Mail beantworten")
async def reply_email(
    gateway: Gateway,
    message_id: AnsweredId,
    comment: ReplyText,
    reply_all: ReplyAll = False,
    user_id: UserId = "",
    idempotency_key: IdempotencyKey = "",
    confirm: Confirm = False,
) -> Order:
    """Antwortet auf eine vorhandene E-Mail, in derselben Konversation; mit reply_all an alle Beteiligten.

    Für eine neue E-Mail send_email, zum Weiterleiten an andere forward_email verwenden.
    Ohne confirm: true wird nichts gesendet, sondern eine Vorschau mit Betreff und Absender des Originals und den
    Empfängern zurückgegeben. Die Antwort wird sofort gesendet, es entsteht kein Entwurf.
    """
    from postroom.service.sending import send
    from postroom.service.writing import composing

    request = composing.ReplyRequest(comment, reply_all=reply_all)
    wishes = _wishes(gateway, confirm, idempotency_key)
    return await send.order_reply(gateway, message_id, request, wishes, account_of(gateway, user_id))


@_sending("E-Mail weiterleiten")
async def forward_email(
    gateway: Gateway,
    message_id: ForwardedId,
    to: ForwardTo,
    comment: ForwardText = "",
    user_id: UserId = "",
    idempotency_key: IdempotencyKey = "",
    confirm: Confirm = False,
) -> Order:
    """Leitet eine vorhandene E-Mail mit ihren Anhängen an neue Empfänger weiter.

    Zum Antworten reply_email, für eine neue E-Mail send_email verwenden.
    Ohne confirm: true wird nichts gesendet, sondern eine Vorschau mit Betreff und Absender des Originals, den neuen
    Empfängern und dem Hinweis auf Anhänge zurückgegeben.
    """
    from postroom.service.sending import send
    from postroom.service.writing import composing

    request = composing.ForwardRequest(tuple(to), comment=comment)
    wishes = _wishes(gateway, confirm, idempotency_key)
    return await send.order_forward(gateway, message_id, request, wishes, account_of(gateway, user_id))


def _wishes(gateway: Gateway, confirm: bool, key: str, *, save_to_sent: bool = True) -> Wishes:
    """By the provider's own action where it has one: the contract names the endpoints."""
    from postroom.service.sending.order import Wishes

    seconds = gateway.settings.traits.key_seconds
    return Wishes(confirm, key, save_to_sent=save_to_sent, native=True, key_seconds=seconds)
