"""users.settings.filters, and what filters do to mail that arrives."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import Refused, bad, not_found
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.search import fits
from tests.peers.gmail.stored import StoredMessage
from tests.peers.gmail_query import BadQuery

MOST = 1000


def list_filters(call: Call) -> dict[str, Any]:
    """The field is called `filter`, and is absent where there are none."""
    found = [dict(entry) for entry in call.mailbox.filters.values()]
    return {"filter": found} if found else {}


def get(call: Call) -> dict[str, Any]:
    return dict(_found(call))


def create(call: Call) -> dict[str, Any]:
    criteria, action = call.body.get("criteria", {}), call.body.get("action", {})
    _check(call, criteria, action)
    entry = {"id": "ANe1Bm" + secrets.token_urlsafe(32), "criteria": criteria, "action": action}
    call.mailbox.filters[entry["id"]] = entry
    return dict(entry)


def _check(call: Call, criteria: dict[str, Any], action: dict[str, Any]) -> None:
    if not any(criteria.values()):
        raise bad("Invalid criteria")
    if not any(action.values()):
        raise bad("Invalid action")
    for label in (*action.get("addLabelIds", []), *action.get("removeLabelIds", [])):
        if label not in call.mailbox.labels or label in ("DRAFT", "SENT", "CHAT"):
            raise bad(f"Invalid label: {label}")
    if (forward := action.get("forward")) and forward not in call.mailbox.forwarding_addresses:
        raise bad("Unrecognized forwarding address")
    if any((one["criteria"], one["action"]) == (criteria, action) for one in call.mailbox.filters.values()):
        raise bad("Filter already exists", "failedPrecondition")
    if len(call.mailbox.filters) >= MOST:
        raise Refused(500, "Internal error encountered.")
    try:
        matches(call.mailbox, criteria, StoredMessage("", "", b"\r\n", set(), 0, 0))
    except BadQuery as error:
        raise bad(f"Invalid criteria: {error}") from None


def delete(call: Call) -> None:
    _found(call)
    del call.mailbox.filters[call.path["id"]]


def _found(call: Call) -> dict[str, Any]:
    entry = call.mailbox.filters.get(call.path["id"])
    if entry is None:
        raise not_found()
    return entry


def matches(mailbox: Mailbox, criteria: dict[str, Any], message: StoredMessage) -> bool:
    return all(fits(mailbox, query, message) for query in _queries(criteria))


def _queries(criteria: dict[str, Any]) -> Iterator[str]:
    for field in ("from", "to", "subject"):
        if criteria.get(field):
            yield f"{field}:({criteria[field]})"
    if criteria.get("query"):
        yield criteria["query"]
    if criteria.get("negatedQuery"):
        yield f"-({criteria['negatedQuery']})"
    if criteria.get("hasAttachment"):
        yield "has:attachment"
    if criteria.get("size"):
        yield f"{criteria.get('sizeComparison', 'larger')}:{criteria['size']}"


HANDLERS = {
    "settings.filters.list": list_filters,
    "settings.filters.get": get,
    "settings.filters.create": create,
    "settings.filters.delete": delete,
}
