"""The user, the master list of categories, the settings of the mailbox."""

from __future__ import annotations

from typing import Any

from tests.peers.graph.call import Call
from tests.peers.graph.errors import bad, not_found

_USER = ("id", "displayName", "mail", "userPrincipalName", "proxyAddresses")


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
    return {
        "archiveFolder": call.mailbox.well_known["archive"],
        "timeZone": "UTC",
        "dateFormat": "yyyy-MM-dd",
        "timeFormat": "HH:mm",
        "automaticRepliesSetting": {"status": "disabled", "externalAudience": "none"},
    }


HANDLERS = {
    "user.get": user,
    "categories.list": list_categories,
    "categories.create": create_category,
    "categories.delete": delete_category,
    "mailboxSettings.get": mailbox_settings,
}
