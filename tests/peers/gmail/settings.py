"""users.settings: send-as addresses and the vacation reply."""

from __future__ import annotations

from typing import Any

from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import Refused, bad, not_found

_DELEGATES_ONLY = "Access restricted to service accounts that have been delegated domain-wide authority"
_SETTABLE = ("displayName", "replyToAddress", "signature", "isDefault", "treatAsAlias")


def list_send_as(call: Call) -> dict[str, Any]:
    return {"sendAs": [dict(entry) for entry in call.mailbox.send_as.values()]}


def get_send_as(call: Call) -> dict[str, Any]:
    return dict(_entry(call))


def create_send_as(call: Call) -> dict[str, Any]:
    _need_delegation(call)
    address = call.body.get("sendAsEmail", "")
    if "@" not in address:
        raise bad("Invalid sendAsEmail")
    if address.lower() in call.mailbox.send_as:
        raise Refused(409, "The requested send-as address already exists", "alreadyExists")
    is_known = call.gmail.is_local(address)
    entry = {
        "sendAsEmail": address,
        "displayName": call.body.get("displayName", ""),
        "replyToAddress": call.body.get("replyToAddress", ""),
        "signature": call.body.get("signature", ""),
        "treatAsAlias": call.body.get("treatAsAlias", True),
        "verificationStatus": "accepted" if is_known else "pending",
    }
    call.mailbox.send_as[address.lower()] = entry
    return dict(entry)


def change_send_as(call: Call) -> dict[str, Any]:
    entry = _entry(call)
    entry |= {name: call.body[name] for name in _SETTABLE if name in call.body}
    if call.body.get("isDefault"):
        for other in call.mailbox.send_as.values():
            if other is not entry:
                other.pop("isDefault", None)
    return dict(entry)


def delete_send_as(call: Call) -> None:
    _need_delegation(call)
    if _entry(call).get("isPrimary"):
        raise bad("The primary address cannot be deleted", "failedPrecondition")
    del call.mailbox.send_as[call.path["sendAsEmail"].lower()]


def _need_delegation(call: Call) -> None:
    if not call.token.delegated:
        raise Refused(403, _DELEGATES_ONLY)


def _entry(call: Call) -> dict[str, Any]:
    entry = call.mailbox.send_as.get(call.path["sendAsEmail"].lower())
    if entry is None:
        raise not_found()
    return entry


def get_vacation(call: Call) -> dict[str, Any]:
    return dict(call.mailbox.vacation)


def update_vacation(call: Call) -> dict[str, Any]:
    given = dict(call.body)
    start, end = int(given.get("startTime", 0)), int(given.get("endTime", 2**62))
    if start >= end:
        raise bad("Start time must be before end time", "failedPrecondition")
    if given.get("enableAutoReply") and not (
        given.get("responseSubject") or given.get("responseBodyPlainText") or given.get("responseBodyHtml")
    ):
        raise bad("Subject or body of the reply must be set", "failedPrecondition")
    texts = {name: str(given[name]) for name in ("startTime", "endTime") if name in given}
    call.mailbox.vacation = {"enableAutoReply": False} | given | texts
    return dict(call.mailbox.vacation)


HANDLERS = {
    "settings.sendAs.list": list_send_as,
    "settings.sendAs.get": get_send_as,
    "settings.sendAs.create": create_send_as,
    "settings.sendAs.update": change_send_as,
    "settings.sendAs.patch": change_send_as,
    "settings.sendAs.delete": delete_send_as,
    "settings.getVacation": get_vacation,
    "settings.updateVacation": update_vacation,
}
