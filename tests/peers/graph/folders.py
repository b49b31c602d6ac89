"""Folders, with their well-known names and their children."""

from __future__ import annotations

from typing import Any

from tests.peers.graph import shown
from tests.peers.graph.call import Call
from tests.peers.graph.errors import Refused, bad
from tests.peers.graph.mailbox import ROOT, Folder

_DEFAULT = 10


def list_top(call: Call) -> dict[str, Any]:
    return _page(call, call.mailbox.children(call.mailbox.well_known[ROOT]))


def list_children(call: Call) -> dict[str, Any]:
    return _page(call, call.mailbox.children(call.mailbox.folder(call.path["folder"]).id))


def _page(call: Call, folders: list[Folder]) -> dict[str, Any]:
    hidden = call.text("includeHiddenFolders").lower() == "true"
    found = sorted((one for one in folders if hidden or not one.is_hidden), key=lambda one: one.name.casefold())
    top, skip = int(call.text("$top") or _DEFAULT), int(call.text("$skip") or 0)
    value: dict[str, Any] = {"value": [_selected(call, one) for one in found[skip : skip + top]]}
    if len(found) > skip + top:
        value["@odata.nextLink"] = f"{call.here}?$top={top}&$skip={skip + top}"
    return value


def _selected(call: Call, folder: Folder) -> dict[str, Any]:
    value, wanted = shown.folder(call.mailbox, folder), {*call.names("$select"), "id"}
    if unknown := wanted - set(value):
        raise bad(f"Could not find a property named '{unknown.pop()}' on type 'microsoft.graph.mailFolder'.")
    return {name: each for name, each in value.items() if name in wanted} if len(wanted) > 1 else value


def get(call: Call) -> dict[str, Any]:
    return _selected(call, call.mailbox.folder(call.path["folder"]))


def create(call: Call) -> dict[str, Any]:
    parent = call.mailbox.folder(call.path["folder"]).id if "folder" in call.path else ""
    name, hidden = call.body.get("displayName") or "", bool(call.body.get("isHidden"))
    return shown.folder(call.mailbox, call.mailbox.add_folder(name, parent, hidden=hidden))


def update(call: Call) -> dict[str, Any]:
    folder = call.mailbox.folder(call.path["folder"])
    _refuse_well_known(call, folder)
    name = call.body.get("displayName") or folder.name
    if any(one.name.casefold() == name.casefold() for one in call.mailbox.children(folder.parent) if one is not folder):
        raise Refused(409, "A folder with the specified name already exists.", "ErrorFolderExists")
    folder.name = name
    return shown.folder(call.mailbox, folder)


def delete(call: Call) -> None:
    """Into the deleted items, with all that is in it."""
    folder, trash = call.mailbox.folder(call.path["folder"]), call.mailbox.well_known["deleteditems"]
    _refuse_well_known(call, folder)
    if folder.parent == trash:
        call.mailbox.remove_folder(folder)
    else:
        folder.parent = trash


def permanent_delete(call: Call) -> None:
    folder = call.mailbox.folder(call.path["folder"])
    _refuse_well_known(call, folder)
    call.mailbox.remove_folder(folder)


def _refuse_well_known(call: Call, folder: Folder) -> None:
    if folder.id in call.mailbox.well_known.values():
        raise Refused(403, "Distinguished folders cannot be changed.", "ErrorDeleteDistinguishedFolder")


HANDLERS = {
    "folders.list": list_top,
    "folders.children": list_children,
    "folders.get": get,
    "folders.create": create,
    "folders.createChild": create,
    "folders.update": update,
    "folders.delete": delete,
    "folders.permanentDelete": permanent_delete,
}
