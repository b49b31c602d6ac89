"""users.threads."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail import payload
from tests.peers.gmail.call import Call
from tests.peers.gmail.messages import change_labels
from tests.peers.gmail.paging import estimate
from tests.peers.gmail.search import search
from tests.peers.gmail.stored import StoredMessage


def list_threads(call: Call) -> dict[str, Any]:
    """Threads of which a message fits, newest message first."""
    query, labels, token = call.text("q"), call.all("labelIds"), call.text("pageToken")
    hidden = call.flag("includeSpamTrash")
    fitting = {one.thread_id for one in search(call.mailbox, query, labels, include_hidden=hidden)}
    found = [messages for thread, messages in call.mailbox.threads().items() if thread in fitting]
    of = ("threads", call.mailbox.address, query, tuple(labels), hidden)
    page, following = call.gmail.pages.cut(found, lambda one: one[-1].key, of, token, call.number("maxResults"))
    value: dict[str, Any] = {"resultSizeEstimate": estimate(page, token, following)}
    if page:
        value["threads"] = [_line(messages) for messages in page]
    return value | ({"nextPageToken": following} if following else {})


def _line(messages: list[StoredMessage]) -> dict[str, Any]:
    return {"id": messages[-1].thread_id, "snippet": payload.snippet(messages[-1]), "historyId": _history(messages)}


def _history(messages: list[StoredMessage]) -> str:
    return str(max(message.history_id for message in messages))


def get(call: Call) -> dict[str, Any]:
    messages = call.mailbox.thread(call.path["id"])
    form, headers = call.text("format", "full").lower(), call.all("metadataHeaders")
    return {
        "id": call.path["id"],
        "historyId": _history(messages),
        "messages": [payload.shown(call.mailbox, message, form, headers) for message in messages],
    }


def modify(call: Call) -> dict[str, Any]:
    messages = call.mailbox.thread(call.path["id"])
    change_labels(call, messages)
    return _changed(call, messages)


def trash(call: Call) -> dict[str, Any]:
    messages = call.mailbox.thread(call.path["id"])
    for message in messages:
        call.mailbox.change_labels(message, {"TRASH"})
    return _changed(call, messages)


def untrash(call: Call) -> dict[str, Any]:
    messages = call.mailbox.thread(call.path["id"])
    for message in messages:
        call.mailbox.change_labels(message, (), {"TRASH"})
    return _changed(call, messages)


def delete(call: Call) -> None:
    for message in list(call.mailbox.thread(call.path["id"])):
        call.mailbox.delete(message)


def _changed(call: Call, messages: list[StoredMessage]) -> dict[str, Any]:
    return {"id": call.path["id"], "messages": [payload.brief(message) for message in messages]}


HANDLERS = {
    "threads.list": list_threads,
    "threads.get": get,
    "threads.modify": modify,
    "threads.trash": trash,
    "threads.untrash": untrash,
    "threads.delete": delete,
}
