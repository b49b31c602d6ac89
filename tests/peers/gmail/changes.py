"""users.history."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import bad, not_found
from tests.peers.gmail.history import TYPES


def list_history(call: Call) -> dict[str, Any]:
    """What came after an id, oldest first. An id that is too old or not yet given out is not found."""
    history, start = call.mailbox.history, call.text("startHistoryId")
    if not start.isdigit():
        raise bad("Missing/invalid parameter: startHistoryId")
    if not history.oldest <= int(start) <= history.current:
        raise not_found()
    types, label, token = call.all("historyTypes") or list(TYPES), call.text("labelId"), call.text("pageToken")
    found = [
        change
        for change in history.changes
        if change.id > int(start)
        and change.type in types
        and (not label or label in (*change.message_labels, *change.labels))
    ]
    of = ("history", call.mailbox.address, start, tuple(types), label)
    page, following = call.gmail.pages.cut(found, lambda one: -one.id, of, token, call.number("maxResults"))
    value: dict[str, Any] = {"historyId": str(history.current)}
    if page:
        value["history"] = [change.shown() for change in page]
    return value | ({"nextPageToken": following} if following else {})


HANDLERS = {"history.list": list_history}
