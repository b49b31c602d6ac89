"""users.drafts. A draft keeps its id; the message in it is another one after every update, and after sending."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail import payload
from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import bad
from tests.peers.gmail.outgoing import recipients_of
from tests.peers.gmail.paging import estimate
from tests.peers.gmail.search import search
from tests.peers.gmail.stored import StoredMessage


def list_drafts(call: Call) -> dict[str, Any]:
    query, token = call.text("q"), call.text("pageToken")
    hidden = call.flag("includeSpamTrash")
    found = [one for one in search(call.mailbox, query, ["DRAFT"], include_hidden=hidden) if one.draft_id]
    of = ("drafts", call.mailbox.address, query, hidden)
    page, following = call.gmail.pages.cut(found, lambda one: one.key, of, token, call.number("maxResults"))
    value: dict[str, Any] = {"resultSizeEstimate": estimate(page, token, following)}
    if page:
        value["drafts"] = [{"id": one.draft_id, "message": {"id": one.id, "threadId": one.thread_id}} for one in page]
    return value | ({"nextPageToken": following} if following else {})


def get(call: Call) -> dict[str, Any]:
    message = call.mailbox.draft(call.path["id"])
    return {
        "id": call.path["id"],
        "message": payload.shown(call.mailbox, message, call.text("format", "full").lower(), []),
    }


def create(call: Call) -> dict[str, Any]:
    return _put(call, "")


def update(call: Call) -> dict[str, Any]:
    call.mailbox.draft(call.path["id"])
    return _put(call, call.path["id"])


def _put(call: Call, draft_id: str) -> dict[str, Any]:
    given = call.body.get("message", {})
    if not given and call.media is None:
        raise bad("Missing draft message")
    raw = call.content(given)
    recipients_of(raw, required=False)
    return _brief(call.mailbox.put_draft(raw, given.get("threadId", ""), draft_id))


def send(call: Call) -> dict[str, Any]:
    """The draft as it stands, or with another content that comes along."""
    draft_id, given = call.body.get("id", ""), call.body.get("message", {})
    if not draft_id:
        return payload.brief(call.gmail.send(call.mailbox, call.content(given), given.get("threadId", "")))
    draft = call.mailbox.draft(draft_id)
    raw = call.content(given) if given.get("raw") or call.media is not None else draft.raw
    recipients_of(raw)
    thread = draft.thread_id
    call.mailbox.delete(draft)
    return payload.brief(call.gmail.send(call.mailbox, raw, thread, joined=True))


def delete(call: Call) -> None:
    """At once and for good, not into the trash."""
    call.mailbox.delete(call.mailbox.draft(call.path["id"]))


def _brief(message: StoredMessage) -> dict[str, Any]:
    return {"id": message.draft_id, "message": payload.brief(message)}


HANDLERS = {
    "drafts.list": list_drafts,
    "drafts.get": get,
    "drafts.create": create,
    "drafts.update": update,
    "drafts.send": send,
    "drafts.delete": delete,
}
