"""Lists of messages: which combinations of ``$search``, ``$filter`` and ``$orderby`` are taken, and their pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from tests.peers.graph import attachments, kql, shown
from tests.peers.graph.call import Call
from tests.peers.graph.errors import Refused, bad, inefficient
from tests.peers.graph.filters import Filter, is_efficient, order_of
from tests.peers.graph.stored import StoredMessage

DEFAULT, MOST = 10, 1000
_EXPANDED = re.compile(r"(\w+)(?:\((.*)\))?\Z", re.DOTALL)
_PROPERTY_ID = re.compile(r"id eq '([^']+)'", re.IGNORECASE)


def list_messages(call: Call) -> dict[str, Any]:
    shown.check(call.names("$select"))
    found = _found(call)
    top = int(call.text("$top") or DEFAULT)
    if not 1 <= top <= MOST:
        raise bad(f"Invalid page size specified: '{top}'. Must be between 1 and {MOST} inclusive.")
    skip = int(call.text("$skiptoken") or call.text("$skip") or 0)
    value: dict[str, Any] = {"@odata.context": f"{call.graph.url}/v1.0/$metadata#users('x')/messages"}
    if call.text("$count") == "true":
        value["@odata.count"] = len(found)
    if any(has_unreadable_body(call, each) for each in found[skip : skip + top]):
        raise Refused(500, "Error while processing response.")
    value["value"] = [shown_in(call, each) for each in found[skip : skip + top]]
    if len(found) > skip + top:
        value["@odata.nextLink"] = _next_link(call, skip + top)
    return value


def has_unreadable_body(call: Call, stored: StoredMessage) -> bool:
    return stored.damage == "body" and (not call.names("$select") or "body" in call.names("$select"))


def count(call: Call) -> int:
    return len(_found(call))


def shown_in(call: Call, stored: StoredMessage) -> dict[str, Any]:
    """With what ``$select`` and ``$expand`` ask for."""
    shown.check(call.names("$select"))
    value = shown.message(
        call.mailbox, stored, immutable=call.immutable, select=call.names("$select"), as_text=call.as_text
    )
    for name, options in _expanded(call.text("$expand")):
        if name == "attachments":
            value["attachments"] = attachments.all_of(stored, _selected(options))
        elif name == "singleValueExtendedProperties":
            held = shown.extended(stored, _PROPERTY_ID.findall(options))
            value |= {"singleValueExtendedProperties": held} if held else {}
        else:
            raise bad(f"Parsing OData Select and Expand failed: Could not find a property named '{name}'.")
    return value


def _found(call: Call) -> list[StoredMessage]:
    folder = call.path.get("in_folder")
    messages = call.mailbox.within(call.mailbox.folder(folder).id) if folder else list(call.mailbox)
    search, given, order = call.text("$search"), call.text("$filter"), call.text("$orderby")
    if search:
        for name, code in (
            ("$filter", "SearchWithFilter"),
            ("$orderby", "SearchWithOrderBy"),
            ("$skip", "SearchWithSkip"),
        ):
            if call.text(name):
                raise bad(f"The query parameter '{name}' is not supported with '$search'.", code)
        test = kql.read_search(search)
        return [message for message in messages if test(message)][: kql.MOST]
    if given:
        condition = Filter(given)
        if order and not is_efficient(order_of(order), condition.properties):
            raise inefficient()
        messages = [message for message in messages if condition.test(_plain(call, message))]
    return _ordered(call, messages, order) if order else messages


def _plain(call: Call, message: StoredMessage) -> dict[str, Any]:
    return shown.message(call.mailbox, message, immutable=call.immutable, select=[])


def _ordered(call: Call, messages: list[StoredMessage], order: str) -> list[StoredMessage]:
    for name, falls in reversed(order_of(order)):
        if name not in ("receivedDateTime", "sentDateTime", "subject", "isRead", "hasAttachments", "importance"):
            raise bad(f"Could not find a property named '{name}' to order by.")
        key: Callable[[StoredMessage], Any] = (
            (lambda message: message.key)
            if name.endswith("DateTime")
            else (lambda message, name=name: _plain(call, message)[name])
        )
        messages = sorted(messages, key=key, reverse=falls)
    return messages


def _next_link(call: Call, skip: int) -> str:
    name = "$skiptoken" if call.text("$search") else "$skip"
    params = {**{key: value for key, value in call.params.items() if key not in ("$skip", "$skiptoken")}, name: skip}
    return f"{call.here}?{urlencode(params, quote_via=quote, safe='$')}"


def _expanded(text: str) -> list[tuple[str, str]]:
    found, depth, part = [], 0, ""
    for sign in f"{text},":
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            if part.strip():
                match = _EXPANDED.match(part.strip())
                if match is None:
                    raise bad("Parsing OData Select and Expand failed.")
                found.append((match[1], match[2] or ""))
            part = ""
        else:
            part += sign
    return found


def _selected(options: str) -> list[str]:
    found = re.search(r"\$select=([\w,@.]+)", options)
    return found[1].split(",") if found else []
