"""Conditions as an OData ``$filter``: only plain ones that must all hold, which the service takes with an order.

``$orderby`` is accepted only if its properties come first in the filter, so every filter begins with the date.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from postroom.model.query.tree import After, And, Before, HasAttachment, Is, Label, MessageId, Node, Not, Or
from postroom.providers.graph.session.wire import literal

ORDER = "receivedDateTime desc"
_ALWAYS = "receivedDateTime ge 1900-01-01T00:00:00Z"
_FLAGS = {"read": "isRead eq true", "unread": "isRead eq false", "starred": "flag/flagStatus eq 'flagged'"}
_OPPOSITES = {"read": "unread", "unread": "read"}
PER_REQUEST = 15  # Message-IDs in one filter: the service limits its length


def clause(node: Node) -> str:
    """The condition, exactly; empty where it is decided here."""
    match node:
        case Is(flag):
            return "isDraft eq true" if flag == "draft" else _FLAGS.get(flag, "")
        case Not(Is(flag)):
            return _FLAGS.get(_OPPOSITES.get(flag, ""), "")
        case HasAttachment():
            return "hasAttachments eq true"
        case Not(HasAttachment()):
            return "hasAttachments eq false"
        case Label(name):
            return f"categories/any(c:c eq {literal(name)})"
        case After(moment):
            return f"receivedDateTime ge {_written(moment)}"
        case Before(moment):
            return f"receivedDateTime lt {_written(moment)}"
    return ""


def ordered(clauses: Sequence[str]) -> str:
    """All of them, so that the result may be ordered by date; empty without any."""
    if not clauses:
        return ""
    dates = [one for one in clauses if one.startswith("receivedDateTime ")]
    return " and ".join([*(dates or [_ALWAYS]), *(one for one in clauses if one not in dates)])


def message_ids(node: Node) -> tuple[str, ...]:
    """The Message-IDs of which a message must have one; none where the condition is another."""
    if isinstance(node, And):
        return next((found for child in node.nodes if (found := message_ids(child))), ())
    if isinstance(node, Or):
        each = [message_ids(child) for child in node.nodes]
        return tuple(one for some in each for one in some) if all(each) else ()
    return (node.value,) if isinstance(node, MessageId) else ()


def by_message_id(ids: Sequence[str]) -> str:
    return " or ".join(f"internetMessageId eq {literal(one)}" for one in ids)


def _written(moment: datetime) -> str:
    """Without fractions of a second, which Exchange does not keep."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
