"""users.labels."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import bad
from tests.peers.gmail.label_set import Label


def list_labels(call: Call) -> dict[str, Any]:
    """Without counts: only `get` has those."""
    return {"labels": [label.shown() for label in call.mailbox.labels]}


def get(call: Call) -> dict[str, Any]:
    label = call.mailbox.labels.get(call.path["id"])
    messages = call.mailbox.labelled(label.id)
    unread = [message for message in messages if "UNREAD" in message.labels]
    return label.shown() | {
        "messagesTotal": len(messages),
        "messagesUnread": len(unread),
        "threadsTotal": len({message.thread_id for message in messages}),
        "threadsUnread": len({message.thread_id for message in unread}),
    }


def create(call: Call) -> dict[str, Any]:
    color = _color(call)
    label = call.mailbox.labels.create(call.body.get("name", ""))
    _set(label, call.body, color)
    return label.shown()


def update(call: Call) -> dict[str, Any]:
    """Replaces all of it: what is not named goes back to its default."""
    whole = {"labelListVisibility": "labelShow", "messageListVisibility": "show", "color": {}} | call.body
    return _changed(call, whole)


def patch(call: Call) -> dict[str, Any]:
    return _changed(call, call.body)


def _changed(call: Call, given: dict[str, Any]) -> dict[str, Any]:
    label = call.mailbox.labels.get(call.path["id"])
    if label.type == "system":
        raise bad("Invalid update request")
    color = _color(call)
    name = call.mailbox.labels.checked_name(given["name"], label.id) if "name" in given else label.name
    _set(label, given, color)
    label.name = name
    return label.shown()


def _set(label: Label, given: dict[str, Any], color: dict[str, str] | None) -> None:
    label.label_list = given.get("labelListVisibility", label.label_list)
    label.message_list = given.get("messageListVisibility", label.message_list)
    if "color" in given:
        label.color = color or {}


def _color(call: Call) -> dict[str, str] | None:
    color: dict[str, str] = call.body.get("color") or {}
    for value in color.values():
        if call.gmail.palette and value not in call.gmail.palette:
            raise bad(f"Label color {value} is not on the allowed color palette")
    if color and set(color) != {"textColor", "backgroundColor"}:
        raise bad("Both text color and background color must be set")
    return color


def delete(call: Call) -> None:
    call.mailbox.labels.remove(call.path["id"])
    for message in call.mailbox.labelled(call.path["id"]):
        call.mailbox.change_labels(message, (), {call.path["id"]})


HANDLERS = {
    "labels.list": list_labels,
    "labels.get": get,
    "labels.create": create,
    "labels.update": update,
    "labels.patch": patch,
    "labels.delete": delete,
}
