"""Folders get another name where they stand. Where refs contain the name, everything noted by an old ref follows."""

from __future__ import annotations

from functools import partial

import anyio

from postroom.mime.clean import clean_line
from postroom.model.address import refuse_line_breaks
from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.model.folder import Folder, RenamedFolder, at_or_below, check_level, renamed_path
from postroom.providers.protocol import FolderInRefs, FolderRenamer
from postroom.service.accounts.folders import folder_view, folders_now, pick_folder
from postroom.service.gateway import Account, Gateway
from postroom.service.organising.places import check_new_folder
from postroom.service.views import FolderView, UndoView
from postroom.store.journal import Operation


async def rename_folder(
    gateway: Gateway, name: str, new_name: str, *, account: str | None = None
) -> tuple[FolderView, str]:
    """As it is now, and the operation that `undo` takes. `new_name` is its last level, or all of it in the same
    parent."""
    refuse_line_breaks(new_name, "new_name")
    opened = await gateway.accounts.open(account)
    renamer = opened.folder_renamer
    folders = await folders_now(opened)
    folder = pick_folder(opened, folders, name)
    level = _level(folder, new_name)
    _require_no_role(folders, folder)
    renamed = await _rename(gateway, opened, renamer, folders, folder, level)
    detail = {"folder_ref": renamed.folder.ref, "before": folder.name.rpartition("/")[2], "after": level}
    operation = await gateway.in_thread(gateway.store.journal.record, opened.name, "rename_folder", [], detail)
    return folder_view(opened.name, renamed.folder), operation


async def rename_back(gateway: Gateway, operation: Operation) -> UndoView:
    opened = await gateway.accounts.open(operation.account)
    folders, detail = await folders_now(opened), operation.detail
    folder = next((one for one in folders if one.ref == detail["folder_ref"]), None)
    if folder is None:
        raise NotFound("The folder is gone, so it cannot get its old name back.", reason="folder_unknown")
    if folder.name.rpartition("/")[2] != detail["after"]:
        raise Conflict(f"The folder was renamed again since, to {clean_line(folder.name)}. It keeps that name.")
    renamed = await _rename(gateway, opened, opened.folder_renamer, folders, folder, detail["before"])
    return UndoView("", (), 1, 0, operation.action, (clean_line(renamed.folder.name),), "has its old name again")


def _level(folder: Folder, new_name: str) -> str:
    above, _, level = new_name.strip().rpartition("/")
    if above and above != folder.name.rpartition("/")[0]:
        raise InvalidRequest(
            "A folder is renamed where it stands: give only the last part of its new name, without '/'.",
            details={"field": "new_name"},
        )
    level = check_level(level)
    if level == folder.name.rpartition("/")[2]:
        raise InvalidRequest("The folder has that name already.", details={"field": "new_name"})
    return level


def _require_no_role(folders: list[Folder], folder: Folder) -> None:
    with_role = next((one for one in at_or_below(folders, folder) if one.role is not None), None)
    if with_role is not None and with_role.role is not None:
        raise InvalidRequest(
            f"{clean_line(with_role.name)} is the account's {with_role.role.value} folder and keeps its name.",
            details={"field": "name"},
        )


async def _rename(
    gateway: Gateway, account: Account, renamer: FolderRenamer, folders: list[Folder], folder: Folder, level: str
) -> RenamedFolder:
    """Nobody is left with the old refs once the server has renamed it, even if the caller has gone."""
    check_new_folder(renamed_path(folder.name, level), folders)
    with anyio.CancelScope(shield=True):
        try:
            renamed = await renamer.rename_folder(folder.ref, level)
        finally:
            account.folders.forget()
        if renamed.refs:
            ref_after = None
            if isinstance(account.mailbox, FolderInRefs):
                ref_after = partial(account.mailbox.ref_after_rename, folders=renamed.refs)
            await gateway.in_thread(gateway.store.follow_renamed, account.name, renamed.refs, ref_after)
    return renamed
