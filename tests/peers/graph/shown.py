"""A message, a folder and an attachment as the API shows them."""

from __future__ import annotations

import base64
import re
from typing import Any

from tests.peers.graph.content import Content, File, Person
from tests.peers.graph.errors import bad
from tests.peers.graph.mailbox import Folder, Mailbox
from tests.peers.graph.stored import StoredMessage, moment
from tests.peers.graph.writing import IN_REPLY_TO, REFERENCES

SIZE = "Integer 0xe08"
_PREVIEW = 255
_ON_DEMAND = ("internetMessageHeaders", "uniqueBody", "attachments", "singleValueExtendedProperties")
_NAMES = (
    *("id", "createdDateTime", "lastModifiedDateTime", "changeKey", "categories", "receivedDateTime", "sentDateTime"),
    *("hasAttachments", "internetMessageId", "subject", "bodyPreview", "importance", "parentFolderId"),
    *("conversationId", "conversationIndex", "isDeliveryReceiptRequested", "isReadReceiptRequested", "isRead"),
    *("isDraft", "webLink", "inferenceClassification", "body", "sender", "from", "toRecipients", "ccRecipients"),
    *("bccRecipients", "replyTo", "flag", *_ON_DEMAND),
)


def check(select: list[str]) -> None:
    for name in select:
        if name not in _NAMES:
            text = f"Could not find a property named '{name}' on type 'microsoft.graph.message'."
            raise bad(f"Parsing OData Select and Expand failed: {text}", "RequestBroker--ParseUri")


def message(
    mailbox: Mailbox, stored: StoredMessage, *, immutable: bool, select: list[str], as_text: bool = False
) -> dict[str, Any]:
    """All but what must be asked for, or exactly what is selected."""
    value = _values(mailbox, stored, immutable=immutable, as_text=as_text)
    wanted = set(select) | {"id"} if select else set(_NAMES) - set(_ON_DEMAND)
    if "internetMessageHeaders" in wanted and not stored.is_draft:
        headers = stored.content.headers
        value["internetMessageHeaders"] = [{"name": name, "value": text} for name, text in headers]
    etag = {"@odata.etag": f'W/"{stored.change_key}"'}
    return etag | {name: each for name, each in value.items() if name in wanted}


def _values(mailbox: Mailbox, stored: StoredMessage, *, immutable: bool, as_text: bool) -> dict[str, Any]:
    content, when = stored.content, moment(stored.received)
    kind, text = ("text", content.text) if as_text else content.body
    sender = person((content.people("Sender") or content.people("From") or [("", "")])[0])
    body = {"contentType": kind, "content": text}
    return {
        "id": stored.immutable_id if immutable else stored.entry_id,
        "createdDateTime": when,
        "lastModifiedDateTime": when,
        "changeKey": stored.change_key,
        "categories": list(stored.categories),
        "receivedDateTime": when,
        "sentDateTime": when,
        "hasAttachments": stored.has_attachments,
        "internetMessageId": content.message_id,
        "subject": content.subject,
        "bodyPreview": " ".join(content.text.split())[:_PREVIEW],
        "importance": content.header("Importance").strip().lower() or "normal",
        "parentFolderId": stored.folder,
        "conversationId": stored.conversation,
        "conversationIndex": base64.b64encode(stored.conversation[-22:].encode()).decode(),
        "isDeliveryReceiptRequested": False if not stored.is_draft else None,
        "isReadReceiptRequested": False,
        "isRead": stored.is_read,
        "isDraft": stored.is_draft,
        "webLink": f"https://outlook.example/owa/?ItemID={stored.order}&exvsurl=1&viewmodel=ReadMessageItem",
        "inferenceClassification": "focused",
        "body": body,
        "uniqueBody": body,
        "sender": sender,
        "from": person((content.people("From") or [("", "")])[0]),
        "toRecipients": people(content, "To"),
        "ccRecipients": people(content, "Cc"),
        "bccRecipients": people(content, "Bcc"),
        "replyTo": people(content, "Reply-To"),
        "flag": {"flagStatus": stored.flag},
    }


def person(given: Person) -> dict[str, Any]:
    """Who has no name is called by the address."""
    return {"emailAddress": {"name": given[0] or given[1], "address": given[1]}}


def people(content: Content, header: str) -> list[dict[str, Any]]:
    return [person(each) for each in content.people(header)]


def extended(stored: StoredMessage, wanted: list[str]) -> list[dict[str, str]]:
    """Those properties that are asked for and that the message has, in the spelling of the service."""
    content = stored.content
    known = {
        **stored.properties,
        SIZE: str(len(stored.raw)),
        IN_REPLY_TO: content.header("In-Reply-To"),
        REFERENCES: content.header("References"),
    }
    ids = [canonical(each) for each in wanted]
    return [{"id": name, "value": known[name]} for name in ids if known.get(name)]


def canonical(property_id: str) -> str:
    """``Integer 0x0E08`` and ``integer 0xe08`` are one property."""
    kind, _, number = property_id.partition(" ")
    if not re.fullmatch(r"0x[0-9A-Fa-f]{1,4}", number):
        return property_id
    return f"{kind.capitalize()} 0x{int(number, 16):x}"


def file(given: str, stored: StoredMessage, of: File, *, full: bool) -> dict[str, Any]:
    kind = "item" if of.is_item else "file"
    value: dict[str, Any] = {
        "@odata.type": f"#microsoft.graph.{kind}Attachment",
        "id": given,
        "lastModifiedDateTime": moment(stored.received),
        "name": of.name,
        "contentType": None if of.is_item else of.mime_type,
        "size": len(of.content),
        "isInline": of.is_inline,
    }
    if not of.is_item:
        value |= {"contentId": of.content_id or None, "contentLocation": None}
        if full:
            value["contentBytes"] = base64.b64encode(of.content).decode()
    return value


def folder(mailbox: Mailbox, given: Folder) -> dict[str, Any]:
    inside = mailbox.within(given.id)
    return {
        "id": given.id,
        "displayName": given.name,
        "parentFolderId": given.parent,
        "childFolderCount": len(mailbox.children(given.id)),
        "unreadItemCount": sum(not each.is_read for each in inside),
        "totalItemCount": len(inside),
        "isHidden": given.is_hidden,
    }
