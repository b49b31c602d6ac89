"""messageRules of the inbox, and what they do with arriving mail."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from tests.peers.graph.call import Call
from tests.peers.graph.content import Content
from tests.peers.graph.errors import bad, not_found
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.stored import StoredMessage


def list_all(call: Call) -> dict[str, Any]:
    _of_inbox(call)
    return {"value": sorted(call.mailbox.rules.values(), key=lambda rule: rule["sequence"])}


def get(call: Call) -> dict[str, Any]:
    _of_inbox(call)
    rule = call.mailbox.rules.get(call.path["rule"])
    if rule is None:
        raise not_found()
    return rule


def create(call: Call) -> dict[str, Any]:
    _of_inbox(call)
    given = call.body
    if not given.get("displayName") or not given.get("actions") or given.get("sequence", 0) < 1:
        raise bad("A rule needs a name, a sequence from 1 on, and actions.", "ErrorInvalidRequest")
    rule = {"isEnabled": True, "hasError": False, "isReadOnly": False, "conditions": None, **given, "id": _new_id()}
    call.mailbox.rules[rule["id"]] = rule
    return rule


def update(call: Call) -> dict[str, Any]:
    rule = get(call)
    rule |= call.body
    return rule


def delete(call: Call) -> None:
    del call.mailbox.rules[get(call)["id"]]


def _of_inbox(call: Call) -> None:
    if call.mailbox.folder(call.path["folder"]).id != call.mailbox.well_known["inbox"]:
        raise bad("Rules are kept for the inbox only.", "ErrorInvalidRequest")


def _new_id() -> str:
    return f"AQAA{uuid.uuid4().hex[:12]}="


def run(mailbox: Mailbox, message: StoredMessage) -> None:
    for rule in sorted(mailbox.rules.values(), key=lambda each: each["sequence"]):
        wanted, unwanted = rule.get("conditions") or {}, rule.get("exceptions") or {}
        if not rule["isEnabled"] or not all(_holds(message.content, *one) for one in wanted.items()):
            continue
        if any(_holds(message.content, *one) for one in unwanted.items()):
            continue
        _act(mailbox, message, rule["actions"])
        if rule["actions"].get("stopProcessingRules"):
            return


def _act(mailbox: Mailbox, message: StoredMessage, actions: dict[str, Any]) -> None:
    message.is_read = message.is_read or bool(actions.get("markAsRead"))
    message.categories += [each for each in actions.get("assignCategories") or [] if each not in message.categories]
    if actions.get("delete"):
        mailbox.move(message, "deleteditems")
    elif folder := actions.get("moveToFolder"):
        mailbox.move(message, folder)


def _holds(content: Content, name: str, wanted: Any) -> bool:
    if name not in _TESTS or wanted is None:
        assert wanted is None, f"the fake has no condition {name}"
        return True
    return _TESTS[name](content, wanted)


def _any_in(text: str, wanted: Sequence[str]) -> bool:
    return any(each.casefold() in text.casefold() for each in wanted)


def _any_address(content: Content, headers: Sequence[str], wanted: Sequence[dict[str, Any]]) -> bool:
    given = {address.lower() for header in headers for _, address in content.people(header)}
    return any(each["emailAddress"]["address"].lower() in given for each in wanted)


def _in_range(content: Content, wanted: dict[str, int]) -> bool:
    """In kilobytes."""
    size = len(content.raw) / 1024
    return (wanted.get("minimumSize") or 0) <= size <= (wanted.get("maximumSize") or float("inf"))


_TESTS: dict[str, Callable[[Content, Any], bool]] = {
    "subjectContains": lambda content, wanted: _any_in(content.subject, wanted),
    "bodyContains": lambda content, wanted: _any_in(content.text, wanted),
    "senderContains": lambda content, wanted: _any_in(content.header("From"), wanted),
    "recipientContains": lambda content, wanted: _any_in(content.header("To") + content.header("Cc"), wanted),
    "headerContains": lambda content, wanted: _any_in(str(content.head), wanted),
    "fromAddresses": lambda content, wanted: _any_address(content, ("From",), wanted),
    "sentToAddresses": lambda content, wanted: _any_address(content, ("To", "Cc"), wanted),
    "hasAttachments": lambda content, wanted: bool(content.files) is wanted,
    "withinSizeRange": _in_range,
}

HANDLERS = {
    "rules.list": list_all,
    "rules.get": get,
    "rules.create": create,
    "rules.update": update,
    "rules.delete": delete,
}
