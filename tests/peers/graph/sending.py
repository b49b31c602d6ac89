"""Sending: new messages, drafts, replies and forwards; as drafts to be completed, or at once."""

from __future__ import annotations

import html
from typing import Any

from tests.peers.graph import attachments, listing, messages
from tests.peers.graph.call import Call
from tests.peers.graph.content import Content
from tests.peers.graph.errors import bad, denied
from tests.peers.graph.shown import people
from tests.peers.graph.stored import StoredMessage
from tests.peers.graph.writing import IN_REPLY_TO, REFERENCES, decoded

_VERBS = {"reply": "102", "replyAll": "103", "forward": "104"}
LAST_VERB = "Integer 0x1081"


def send_mail(call: Call) -> None:
    if call.request.header("content-type").startswith("text/plain"):
        stored, keeps = messages.draft(call), True
    else:
        given = call.argument("Message")
        if not isinstance(given, dict):
            raise bad("The parameter 'Message' is missing.", "ErrorInvalidParameter")
        stored, keeps = messages.made(call, given), call.argument("SaveToSentItems") is not False
    _left(call, stored, keeps=keeps)


def send(call: Call) -> None:
    stored = call.message
    if not stored.is_draft:
        raise bad("The message is no draft and cannot be sent.", "ErrorInvalidRequest")
    call.graph.submit(call.mailbox, stored)


def create_answer(call: Call) -> dict[str, Any]:
    return listing.shown_in(call, _answer(call, call.operation.name.rpartition("create")[2]))


def answer_now(call: Call) -> None:
    name = call.operation.name.rpartition(".")[2]
    if call.token.scopes.isdisjoint({"Mail.ReadWrite", "Mail.Send"}):
        raise denied()
    stored, original = _answer(call, name[0].upper() + name[1:]), call.message
    _left(call, stored, keeps=True)
    original.properties[LAST_VERB] = _VERBS[name]
    call.mailbox.touched(original)


def _left(call: Call, stored: StoredMessage, *, keeps: bool) -> None:
    try:
        call.graph.submit(call.mailbox, stored, keeps=keeps)
    except Exception:
        call.mailbox.remove(stored)  # it was never a draft that somebody made
        raise


def _answer(call: Call, kind: str) -> StoredMessage:
    """Reply, ReplyAll or Forward: to whom, under which subject, with the original below."""
    original, comment, given = call.message, call.argument("Comment"), call.argument("Message") or {}
    if call.request.header("content-type").startswith("text/plain"):
        decoded(call.request.body.decode("ascii", "replace").strip())
        raise bad("MIME replies are not here.", "ErrorNotSupported")
    if comment is not None and "body" in given:
        raise bad("The parameters 'Comment' and 'Message.Body' cannot both be given.", "ErrorInvalidRequest")
    fields: dict[str, Any] = {**_addressed(call, original.content, kind), **given}
    if kind == "Forward":
        fields["toRecipients"] = call.argument("ToRecipients") or given.get("toRecipients") or []
        if not fields["toRecipients"] and "create" not in call.operation.name:
            raise bad("At least one recipient is not valid.", "ErrorInvalidRecipients")
    fields["subject"] = given.get("subject") or _subject(original.subject, "FW:" if kind == "Forward" else "RE:")
    fields["body"] = _body(original.content, comment, given)
    content = original.content
    fields["singleValueExtendedProperties"] = [
        {"id": IN_REPLY_TO, "value": content.message_id},
        {"id": REFERENCES, "value": " ".join([*content.header("References").split(), content.message_id])},
    ]
    stored = messages.made(call, fields, conversation=original.conversation)
    if kind == "Forward":
        for file in content.files:
            attachments.put(call.mailbox, stored, file)
    return stored


def _addressed(call: Call, content: Content, kind: str) -> dict[str, Any]:
    if kind == "Forward":
        return {}
    asked = people(content, "Reply-To") or people(content, "From")
    if kind == "Reply":
        return {"toRecipients": asked}
    own = {call.mailbox.address.lower(), *call.mailbox.aliases}
    seen = {one["emailAddress"]["address"].lower() for one in asked}
    others = {
        name: [one for one in people(content, name) if one["emailAddress"]["address"].lower() not in own | seen]
        for name in ("To", "Cc")
    }
    return {"toRecipients": [*asked, *others["To"]], "ccRecipients": others["Cc"]}


def _subject(subject: str, prefix: str) -> str:
    return subject if subject.upper().startswith(prefix) else f"{prefix} {subject}"


def _body(original: Content, comment: str | None, given: dict[str, Any]) -> dict[str, str]:
    if "body" in given:
        return dict(given["body"])
    kind, text = original.body
    quoted = text if kind == "html" else f"<pre>{html.escape(text)}</pre>"
    said = html.escape(comment or "").replace("\n", "<br>")
    whom = html.escape(original.header("From"))
    content = f"<html><body>{said}<hr><div>From: {whom}</div>{quoted}</body></html>"
    return {"contentType": "html", "content": content}


HANDLERS = {
    "sendMail": send_mail,
    "messages.send": send,
    **dict.fromkeys(("messages.createReply", "messages.createReplyAll", "messages.createForward"), create_answer),
    **dict.fromkeys(("messages.reply", "messages.replyAll", "messages.forward"), answer_now),
}
