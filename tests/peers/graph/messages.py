"""Messages: read, made, changed, moved, removed."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail.raw_headers import with_value
from tests.peers.graph import attachments, listing
from tests.peers.graph.call import Call
from tests.peers.graph.content import Content
from tests.peers.graph.errors import Refused, bad
from tests.peers.graph.shown import canonical
from tests.peers.graph.stored import StoredMessage
from tests.peers.graph.writing import (
    IN_REPLY_TO,
    REFERENCES,
    decoded,
    fields_of,
    new_message_id,
    rewritten,
    written,
)
from tests.peers.web.messages import Answer

_OF_DRAFTS = (
    *("subject", "body", "toRecipients", "ccRecipients", "bccRecipients", "replyTo", "from", "sender"),
    *("internetMessageId", "internetMessageHeaders", "importance"),
)
_CONFLICT = (
    "The send or update operation could not be performed because the change key passed in the request does not match "
    "the current change key for the item."
)


def get(call: Call) -> dict[str, Any]:
    if listing.has_unreadable_body(call, call.message):
        said = "Content conversion failed., Content conversion: Body conversion failed."
        raise Refused(500, said, "ErrorContentConversionFailed")
    return listing.shown_in(call, call.message)


def mime(call: Call) -> Answer:
    stored = call.message
    if stored.damage:
        raise Refused(500, "MIME content conversion failed.", "ErrorMimeContentConversionFailed")
    raw = rewritten(stored.content) if call.graph.rewrites_mime else stored.raw
    return Answer(200, raw, {"content-type": "text/plain"})


def count(call: Call) -> Answer:
    return Answer(200, str(listing.count(call)).encode(), {"content-type": "text/plain"})


def create(call: Call) -> dict[str, Any]:
    """A draft, from JSON or from MIME."""
    return listing.shown_in(call, draft(call, call.path.get("in_folder", "drafts")))


def draft(call: Call, folder: str = "drafts") -> StoredMessage:
    if call.request.header("content-type").startswith("text/plain"):
        return call.mailbox.add(Content(_mime_of(call)), folder, is_draft=True, is_read=True)
    return made(call, call.body, folder)


def made(call: Call, given: dict[str, Any], folder: str = "drafts", conversation: str = "") -> StoredMessage:
    sender = (call.mailbox.name, call.mailbox.address)
    files = [attachments.file_of(one) for one in given.get("attachments") or [] if not _is_link(one)]
    stored = call.mailbox.add(
        Content(written(given, files, sender)), folder, is_draft=True, is_read=True, conversation=conversation
    )
    stored.links += [link for one in given.get("attachments") or [] if (link := attachments.link_of(one, stored))]
    apply(stored, given)
    return stored


def _is_link(given: dict[str, Any]) -> bool:
    return str(given.get("@odata.type", "")).endswith("referenceAttachment")


def _mime_of(call: Call) -> bytes:
    try:
        raw = decoded(call.request.body.decode("ascii").strip())
    except (UnicodeDecodeError, Refused):
        raise bad("Invalid base64 string for MIME content.", "ErrorMimeContentInvalidBase64String") from None
    content = Content(raw)
    if not content.people("From"):
        raw = with_value(content.raw, "From", f"{call.mailbox.name} <{call.mailbox.address}>")
    if call.graph.replaces_message_ids or not content.message_id:
        raw = with_value(Content(raw).raw, "Message-ID", new_message_id())
    return raw


def update(call: Call) -> dict[str, Any]:
    stored, expected = call.message, call.request.header("if-match")
    if expected and expected != "*" and expected.removeprefix('W/"').rstrip('"') != stored.change_key:
        raise Refused(412, _CONFLICT, "ErrorIrresolvableConflict")
    change(call, stored, call.body)
    return listing.shown_in(call, stored)


def change(call: Call, stored: StoredMessage, given: dict[str, Any]) -> None:
    of_draft = [name for name in given if name in _OF_DRAFTS]
    if of_draft and not stored.is_draft and of_draft != ["importance"]:
        raise bad(f"The property {of_draft[0]} can be set on drafts only.", "ErrorInvalidPropertySet")
    if of_draft:
        sender = (call.mailbox.name, call.mailbox.address)
        fields = fields_of(stored.content) | given
        stored.content = Content(written(fields, stored.content.files, sender))
    apply(stored, given)
    call.mailbox.touched(stored)


def apply(stored: StoredMessage, given: dict[str, Any]) -> None:
    stored.is_read = given.get("isRead", stored.is_read)
    stored.flag = (given.get("flag") or {}).get("flagStatus", stored.flag)
    stored.categories = list(dict.fromkeys(given.get("categories", stored.categories)))
    for one in given.get("singleValueExtendedProperties") or []:
        if canonical(one["id"]) not in (IN_REPLY_TO, REFERENCES):
            stored.properties[canonical(one["id"])] = one["value"]


def move(call: Call) -> dict[str, Any]:
    stored = call.message
    call.mailbox.move(stored, call.argument("DestinationId") or "")
    return listing.shown_in(call, stored)


def copy(call: Call) -> dict[str, Any]:
    stored, folder = call.message, call.argument("DestinationId") or ""
    twin = call.mailbox.add(
        stored.content,
        folder,
        received=stored.received,
        is_draft=stored.is_draft,
        is_read=stored.is_read,
        flag=stored.flag,
        categories=list(stored.categories),
        conversation=stored.conversation,
    )
    return listing.shown_in(call, twin)


def delete(call: Call) -> None:
    """Where it goes is not documented: here to where it was seen to go, the deleted items; from there for good."""
    stored = call.message
    if stored.folder == call.mailbox.well_known["deleteditems"]:
        call.mailbox.remove(stored)
    else:
        call.mailbox.move(stored, "deleteditems")


def permanent_delete(call: Call) -> None:
    call.mailbox.remove(call.message)


HANDLERS = {
    "messages.list": listing.list_messages,
    "messages.count": count,
    "messages.get": get,
    "messages.content": mime,
    "messages.create": create,
    "messages.update": update,
    "messages.move": move,
    "messages.copy": copy,
    "messages.delete": delete,
    "messages.permanentDelete": permanent_delete,
}
