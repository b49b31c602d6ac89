"""Attachments: files, items and references; in one piece, or by an upload session in pieces."""

from __future__ import annotations

import secrets
from typing import Any

from tests.peers.graph import shown
from tests.peers.graph.call import Call
from tests.peers.graph.content import Content, File
from tests.peers.graph.errors import Refused, bad, malformed_id, not_found
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.stored import StoredMessage, is_id, moment, new_id
from tests.peers.graph.writing import decoded, fields_of, written
from tests.peers.web.messages import Answer

LARGEST_AT_ONCE = 3 * 1024 * 1024
LARGEST = 150 * 1024 * 1024


def all_of(stored: StoredMessage, select: list[str], *, full: bool = True) -> list[dict[str, Any]]:
    found = [
        shown.file(given, stored, of, full=full)
        for given, of in zip(stored.file_ids(), stored.content.files, strict=True)
    ]
    kept = {"@odata.type", "id", *select}
    both = [*found, *stored.links]
    return [{name: value for name, value in one.items() if name in kept} for one in both] if select else both


def list_all(call: Call) -> dict[str, Any]:
    return {"value": all_of(call.message, call.names("$select"))}


def get(call: Call) -> dict[str, Any]:
    wanted = call.path["attachment"]
    for one in all_of(call.message, call.names("$select")):
        if one["id"] == wanted:
            return one
    raise not_found() if is_id(wanted) else malformed_id()


def content(call: Call) -> Answer:
    """The bytes of a file, the MIME of an item; a reference has none here."""
    stored, wanted = call.message, call.path["attachment"]
    if any(link["id"] == wanted for link in stored.links):
        raise Refused(405, "The OData request is not supported for a reference attachment.", "ErrorInvalidRequest")
    for given, of in zip(stored.file_ids(), stored.content.files, strict=True):
        if given == wanted:
            return Answer(200, of.content, {"content-type": of.mime_type})
    raise not_found() if is_id(wanted) else malformed_id()


def create(call: Call) -> dict[str, Any]:
    if len(call.request.body) > LARGEST_AT_ONCE * 4 / 3 + 10_000:
        raise Refused(413, "The attachment is larger than 3 MB; use an upload session.", "RequestEntityTooLarge")
    return _added(call, call.message, call.body)


def _added(call: Call, stored: StoredMessage, given: dict[str, Any]) -> dict[str, Any]:
    if (link := link_of(given, stored)) is not None:
        stored.links.append(link)
        call.mailbox.touched(stored)
        return link
    put(call.mailbox, stored, file_of(given))
    return all_of(stored, [])[len(stored.content.files) - 1]


def file_of(given: dict[str, Any]) -> File:
    kind = str(given.get("@odata.type", "")).rpartition(".")[2]
    if kind == "itemAttachment":
        item = given.get("item") or {}
        return File(given.get("name") or "", "message/rfc822", written(item, [], ("", "nobody@graph.example")))
    if kind != "fileAttachment" or "contentBytes" not in given:
        raise bad("The attachment has no type, or none that can be added.", "ErrorInvalidRequest")
    mime_type = given.get("contentType") or "application/octet-stream"
    is_inline = bool(given.get("isInline")) and bool(given.get("contentId"))
    return File(
        given.get("name") or "", mime_type, decoded(given["contentBytes"]), is_inline, given.get("contentId") or ""
    )


def link_of(given: dict[str, Any], stored: StoredMessage) -> dict[str, Any] | None:
    kind = str(given.get("@odata.type", "")).rpartition(".")[2]
    if kind != "referenceAttachment":
        return None
    return {
        "@odata.type": "#microsoft.graph.referenceAttachment",
        "id": new_id("AAMkAGIR"),
        "lastModifiedDateTime": moment(stored.received),
        "name": given.get("name") or "",
        "contentType": None,
        "size": 382,
        "isInline": False,
    }


def put(mailbox: Mailbox, stored: StoredMessage, file: File) -> None:
    sender = (mailbox.name, mailbox.address)
    stored.content = Content(written(fields_of(stored.content), [*stored.content.files, file], sender))
    mailbox.touched(stored)


def delete(call: Call) -> None:
    stored, wanted = call.message, call.path["attachment"]
    if wanted not in [*stored.file_ids(), *(link["id"] for link in stored.links)]:
        raise not_found() if is_id(wanted) else malformed_id()
    files = [of for given, of in zip(stored.file_ids(), stored.content.files, strict=True) if given != wanted]
    stored.links = [link for link in stored.links if link["id"] != wanted]
    sender = (call.mailbox.name, call.mailbox.address)
    stored.content = Content(written(fields_of(stored.content), files, sender))
    call.mailbox.touched(stored)


def begin_upload(call: Call) -> dict[str, Any]:
    item = call.argument("AttachmentItem") or {}
    if item.get("attachmentType") != "file" or not item.get("name") or not item.get("size"):
        raise bad("An attachment item needs attachmentType, name and size.", "ErrorInvalidRequest")
    if item["size"] > LARGEST:
        raise bad("The attachment is larger than 150 MB.", "ErrorAttachmentSizeLimitExceeded")
    key = secrets.token_urlsafe(24)
    session = call.graph.uploads.begin(key, call.mailbox, call.message, item, call.graph.clock())
    return session.shown() | {"uploadUrl": f"{call.graph.url}/api/AttachmentSessions('{key}')?authtoken={key[::-1]}"}


HANDLERS = {
    "attachments.list": list_all,
    "attachments.get": get,
    "attachments.content": content,
    "attachments.create": create,
    "attachments.delete": delete,
    "attachments.upload": begin_upload,
}
