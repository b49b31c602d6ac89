"""The user, the master list of categories, the settings of the mailbox."""

from __future__ import annotations

from typing import Any

from tests.peers.graph.call import Call
from tests.peers.graph.errors import bad, not_found

_USER = ("id", "displayName", "mail", "userPrincipalName", "proxyAddresses")
_REPLIES = ("internalReplyMessage", "externalReplyMessage")
_PERIOD = ("scheduledStartDateTime", "scheduledEndDateTime")


def user(call: Call) -> dict[str, Any]:
    mailbox = call.mailbox
    value = {
        "id": mailbox.id,
        "displayName": mailbox.name,
        "mail": mailbox.address,
        "userPrincipalName": mailbox.address,
        "proxyAddresses": [f"SMTP:{mailbox.address}", *(f"smtp:{alias}" for alias in sorted(mailbox.aliases))],
    }
    wanted = call.names("$select") or list(_USER[:4])
    if unknown := set(wanted) - set(_USER):
        raise bad(f"Could not find a property named '{unknown.pop()}' on type 'microsoft.graph.user'.")
    return {name: value[name] for name in wanted}


def list_categories(call: Call) -> dict[str, Any]:
    return {"value": list(call.mailbox.categories.values())}


def create_category(call: Call) -> dict[str, Any]:
    if not call.body.get("displayName"):
        raise bad("A category needs a name.", "ErrorInvalidRequest")
    return call.mailbox.add_category(call.body["displayName"], call.body.get("color") or "none")


def delete_category(call: Call) -> None:
    if call.mailbox.categories.pop(call.path["category"], None) is None:
        raise not_found()


def mailbox_settings(call: Call) -> dict[str, Any]:
    value = {
        "archiveFolder": call.mailbox.well_known["archive"],
        "timeZone": "UTC",
        "dateFormat": "yyyy-MM-dd",
        "timeFormat": "HH:mm",
        "automaticRepliesSetting": dict(call.mailbox.automatic_replies),
    }
    wanted = call.names("$select") or list(value)
    return {name: value[name] for name in wanted}


def update_mailbox_settings(call: Call) -> dict[str, Any]:
    """Replies are kept as the HTML documents that Exchange makes of them, moments with seven digits of a second."""
    given = dict(call.body.get("automaticRepliesSetting") or {})
    setting = call.mailbox.automatic_replies | given
    if setting["status"] == "scheduled":
        start, end = (setting.get(name, {}).get("dateTime", "") for name in _PERIOD)
        if not start or not end or start >= end:
            raise bad("The start of scheduled automatic replies must be before their end.", "ErrorInvalidRequest")
    for name in _REPLIES:
        if given.get(name):
            setting[name] = f"<html>\n<body>\n{given[name]}\n</body>\n</html>\n"
    for name in _PERIOD:
        if name in given:
            setting[name] = given[name] | {"dateTime": f"{given[name]['dateTime'].partition('.')[0]}.0000000"}
    call.mailbox.automatic_replies = setting
    return {"automaticRepliesSetting": dict(setting)}


HANDLERS = {
    "user.get": user,
    "categories.list": list_categories,
    "categories.create": create_category,
    "categories.delete": delete_category,
    "mailboxSettings.get": mailbox_settings,
    "mailboxSettings.update": update_mailbox_settings,
}
