"""users.messages and users.messages.attachments, and the profile."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail import payload
from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import bad
from tests.peers.gmail.paging import estimate
from tests.peers.gmail.search import search
from tests.peers.gmail.stored import StoredMessage, date_of

MOST_IDS = 1000


def get_profile(call: Call) -> dict[str, Any]:
    mailbox = call.mailbox
    return {
        "emailAddress": mailbox.address,
        "messagesTotal": len(mailbox.messages),
        "threadsTotal": len(mailbox.threads()),
        "historyId": str(mailbox.history.current),
    }


def list_messages(call: Call) -> dict[str, Any]:
    query, labels, token = call.text("q"), call.all("labelIds"), call.text("pageToken")
    hidden = call.flag("includeSpamTrash")
    found = search(call.mailbox, query, labels, include_hidden=hidden)
    of = ("messages", call.mailbox.address, query, tuple(labels), hidden)
    page, following = call.gmail.pages.cut(found, lambda one: one.key, of, token, call.number("maxResults"))
    value: dict[str, Any] = {"resultSizeEstimate": estimate(page, token, following)}
    if page:
        value["messages"] = [{"id": one.id, "threadId": one.thread_id} for one in page]
    return value | ({"nextPageToken": following} if following else {})


def get(call: Call) -> dict[str, Any]:
    message = call.mailbox.message(call.path["id"])
    return payload.shown(call.mailbox, message, call.text("format", "full").lower(), call.all("metadataHeaders"))


def get_attachment(call: Call) -> dict[str, Any]:
    message = call.mailbox.message(call.path["messageId"])
    content = payload.attachment(call.mailbox, message, call.path["id"])
    if content is None:
        raise bad("Invalid attachment token")
    return {"size": len(content), "data": payload.encoded(content)}


def send(call: Call) -> dict[str, Any]:
    raw = call.content(call.body)
    return payload.brief(call.gmail.send(call.mailbox, raw, call.body.get("threadId", "")))


def insert(call: Call) -> dict[str, Any]:
    raw, labels = call.content(call.body), call.body.get("labelIds", [])
    call.mailbox.labels.check_inserted(labels)
    return _inserted(
        call, raw, labels, call.mailbox.thread_asked_for(raw, call.body.get("threadId", "")), "receivedTime"
    )


def import_(call: Call) -> dict[str, Any]:
    """Threaded as if it had come by mail; it is in no place but those that the caller names."""
    raw, labels = call.content(call.body), call.body.get("labelIds", [])
    call.mailbox.labels.check_inserted(labels)
    thread = call.mailbox.thread_asked_for(raw, call.body.get("threadId", "")) or call.mailbox.thread_found(raw)
    return _inserted(call, raw, labels, thread, "dateHeader")


def _inserted(call: Call, raw: bytes, labels: list[str], thread: str, default_date: str) -> dict[str, Any]:
    uses_header = call.text("internalDateSource", default_date) == "dateHeader"
    moment = date_of(raw) if uses_header else None
    message = call.mailbox.add(raw, labels, internal_date=moment, thread_id=thread)
    value = payload.brief(message)
    if call.flag("deleted"):  # for Google Vault alone
        call.mailbox.delete(message)
    return value


def modify(call: Call) -> dict[str, Any]:
    message = call.mailbox.message(call.path["id"])
    change_labels(call, [message])
    return payload.brief(message)


def batch_modify(call: Call) -> None:
    change_labels(call, _named(call))


def change_labels(call: Call, messages: list[StoredMessage]) -> None:
    added, removed = call.body.get("addLabelIds", []), call.body.get("removeLabelIds", [])
    call.mailbox.labels.check_change(added, removed)
    for message in messages:
        call.mailbox.change_labels(message, added, removed)


def batch_delete(call: Call) -> None:
    """Says nothing of ids that do not exist, as documented."""
    for message in _named(call):
        call.mailbox.delete(message)


def _named(call: Call) -> list[StoredMessage]:
    ids = call.body.get("ids", [])
    if not ids:
        raise bad("No message ids specified")
    if len(ids) > MOST_IDS:
        raise bad(f"Too many message ids specified, at most {MOST_IDS}")
    return [call.mailbox.messages[each] for each in dict.fromkeys(ids) if each in call.mailbox.messages]


def trash(call: Call) -> dict[str, Any]:
    message = call.mailbox.message(call.path["id"])
    call.mailbox.change_labels(message, {"TRASH"})
    return payload.brief(message)


def untrash(call: Call) -> dict[str, Any]:
    """Out of the trash; not back into the inbox."""
    message = call.mailbox.message(call.path["id"])
    call.mailbox.change_labels(message, (), {"TRASH"})
    return payload.brief(message)


def delete(call: Call) -> None:
    call.mailbox.delete(call.mailbox.message(call.path["id"]))


HANDLERS = {
    "getProfile": get_profile,
    "messages.list": list_messages,
    "messages.get": get,
    "messages.attachments.get": get_attachment,
    "messages.send": send,
    "messages.insert": insert,
    "messages.import": import_,
    "messages.modify": modify,
    "messages.batchModify": batch_modify,
    "messages.batchDelete": batch_delete,
    "messages.trash": trash,
    "messages.untrash": untrash,
    "messages.delete": delete,
}
