"""Organise messages: flags, folders, labels, trash. Every change is journalled first, so `undo` can reverse it.

One id or a thousand, of one account or several: each item gets its own result, and a partial failure is never reported
as success.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, get_args

import anyio

from postroom.mime.clean import clean_line
from postroom.model.address import refuse_line_breaks
from postroom.model.errors import Conflict, InvalidRequest, PostroomError
from postroom.model.folder import Role
from postroom.model.ids import Kind
from postroom.service.accounts.folders import folder_view, folders_now, folders_of, pick_folder
from postroom.service.gateway import Account, Gateway, IdScheme
from postroom.service.ids.handles import BY_HANDLE
from postroom.service.organising.batch import Change, Part, Plan, Progress, Wanted, carry_out, checked_ids
from postroom.service.organising.changes import always, check_label, labelling, marking, moving, reversing
from postroom.service.organising.places import Places, check_new_folder, check_unlike, folder_refs
from postroom.service.organising.renaming import rename_back
from postroom.service.organising.trails import catch_up
from postroom.service.views import FolderView, ItemView, UndoView, WriteView
from postroom.store import JournalItem, Operation
from postroom.store.handles import unknown

MarkFlag = Literal["read", "unread", "starred", "unstarred"]


async def mark(
    gateway: Gateway,
    email_ids: Sequence[str],
    flag: str,
    *,
    account: str | None = None,
    progress: Progress | None = None,
) -> WriteView:
    if flag not in get_args(MarkFlag):
        raise InvalidRequest("flag must be read, unread, starred or unstarred.", details={"field": "flag"})
    return await _run(gateway, email_ids, account, progress, always(marking(flag)))  # type: ignore[arg-type]


async def move(
    gateway: Gateway,
    email_ids: Sequence[str],
    to_mailbox: str,
    *,
    account: str | None = None,
    progress: Progress | None = None,
) -> WriteView:
    async def plan(opened: Account) -> Change:
        places = Places(await folders_now(opened))
        folder = pick_folder(opened, places.folders, to_mailbox)
        places.require_open_to_all(folder)
        return moving("move", places, folder)

    return await _run(gateway, email_ids, account, progress, plan)


async def delete(
    gateway: Gateway,
    email_ids: Sequence[str],
    *,
    account: str | None = None,
    progress: Progress | None = None,
    ids: IdScheme | None = None,
) -> WriteView:
    """To the trash, never further: a person empties it."""

    async def plan(opened: Account) -> Change:
        places = Places(await folders_now(opened))
        trash = places.with_role(Role.TRASH) or pick_folder(opened, places.folders, Role.TRASH)
        return moving("delete", places, trash)

    return await _run(gateway, email_ids, account, progress, plan, ids)


async def set_label(
    gateway: Gateway,
    email_ids: Sequence[str],
    label: str,
    on: bool,
    *,
    account: str | None = None,
    progress: Progress | None = None,
) -> WriteView:
    check_label(label, is_new=on)
    return await _run(gateway, email_ids, account, progress, always(labelling(label.strip(), on)))


async def create_folder(gateway: Gateway, name: str, *, account: str | None = None) -> tuple[FolderView, str]:
    """The new folder and the operation that `undo` takes."""
    refuse_line_breaks(name, "folder name")
    if not name.strip() or len(name) > 255:
        raise InvalidRequest("A folder name has 1 to 255 characters; '/' separates levels.", details={"field": "name"})
    opened = await gateway.accounts.open(account)
    maker = opened.folder_maker
    folders = await folders_now(opened)
    check_new_folder(name, folders)
    check_unlike(name.strip(), folders)
    try:
        folder = await maker.create_folder(name)
    finally:
        opened.folders.forget()
    operation = await gateway.in_thread(
        gateway.store.journal.record, opened.name, "create_folder", [], {"folder_ref": folder.ref}
    )
    return folder_view(opened.name, folder), operation


async def undo(gateway: Gateway, operation_id: str) -> UndoView:
    """Reverse one operation. Items that were changed again since are left alone and reported.

    Two calls never reverse it at once. What could not be reversed now can be tried again.
    """
    operation = await gateway.in_thread(gateway.store.journal.load, operation_id)
    await _require_visible(gateway, operation)
    await gateway.in_thread(gateway.store.journal.begin_undo, operation_id)
    is_complete = False
    try:
        view = await _UNDOING.get(operation.action, _reverse)(gateway, operation)
        is_complete = not view.failed
    finally:
        with anyio.CancelScope(shield=True):
            await gateway.in_thread(gateway.store.journal.end_undo, operation_id, is_complete=is_complete)
    return view


async def _require_visible(gateway: Gateway, operation: Operation) -> None:
    """A client of some accounts cannot even learn of an operation on others."""
    if gateway.accounts.owners is None:
        return

    def owners() -> set[str]:
        found = {gateway.store.handles.resolve(item.handle, Kind.EMAIL).account for item in operation.items}
        return found or {operation.account}

    if not all(map(gateway.accounts.may_see, await gateway.in_thread(owners))):
        raise unknown(operation.operation_id, Kind.OPERATION)


async def _unmake(gateway: Gateway, operation: Operation) -> UndoView:
    opened = await gateway.accounts.open(operation.account)
    names = await _folder_names(opened, {operation.detail["folder_ref"]})
    try:
        await opened.folder_maker.delete_folder(operation.detail["folder_ref"])
    finally:
        opened.folders.forget()
    return UndoView("", (), 1, 0, operation.action, names, "removed")


async def _make_again(gateway: Gateway, operation: Operation) -> UndoView:
    view, _ = await create_folder(gateway, operation.detail["name"], account=operation.account)
    return UndoView("", (), 1, 0, operation.action, (view.name,), "created again")


async def _undo_parts(gateway: Gateway, operation: Operation) -> UndoView:
    """The last part first: what was labelled and then moved is moved back and then loses the label."""
    if await gateway.in_thread(gateway.store.plans.is_running, operation.detail["plan_id"]):
        raise Conflict("The run is still going on. Wait until it has ended, then undo it.", retry_after=5.0)
    parts = await gateway.in_thread(gateway.store.journal.parts, operation.operation_id)
    undone = [await undo(gateway, part.operation_id) for part in reversed(parts) if not part.is_undone]
    results: dict[str, ItemView] = {}
    for item in (item for view in undone for item in view.results):
        before = results.get(item.email_id)
        results[item.email_id] = item if before is None or before.ok else before
    failed = sum(not item.ok for item in results.values())
    folders = tuple(dict.fromkeys(folder for view in undone for folder in view.folders))
    done = " or ".join(dict.fromkeys(view.done for view in undone)) or "put back"
    return UndoView("", tuple(results.values()), len(results) - failed, failed, operation.action, folders, done)


async def _reverse(gateway: Gateway, operation: Operation) -> UndoView:
    """Also what an earlier attempt, whose process died, has put back already."""
    attempts = await gateway.in_thread(gateway.store.journal.parts, operation.operation_id)
    await catch_up(gateway, [item for one in (operation, *attempts) for item in one.items])
    groups: dict[str, list[JournalItem]] = {}
    for item in operation.items:
        groups.setdefault(repr((item.before, item.after)), []).append(item)
    wanted = [
        Wanted([item.handle for item in group], reversing(group[0].before), group[0].after) for group in groups.values()
    ]
    part = Part(operation.operation_id, len(attempts))
    view = await carry_out(gateway, wanted, None, None, BY_HANDLE, part, each_for_itself=True)
    folders: tuple[str, ...] = ()
    with suppress(PostroomError):  # what was put back is back, whether or not its folders can be named
        folders = await _folders_again(gateway, operation)
    done = {_again(item.before) for item in operation.items} - {""}
    said = " or ".join(sorted(done)) or (f"moved back to {', '.join(folders)}" if folders else "moved back")
    return UndoView(view.operation_id, view.results, view.succeeded, view.failed, operation.action, folders, said)


def _again(before: dict[str, Any]) -> str:
    """What undo does to a message, as text; empty for one that goes back to its folder."""
    if "relabel" in before:
        return f"labelled {clean_line(before['relabel'][0])} again"
    if "label" in before:
        label = clean_line(before["label"])
        return f"labelled {label} again" if before["on"] else f"no longer labelled {label}"
    flags = {"unread": ("unread", "read"), "starred": ("starred", "unstarred")}
    return next((f"marked {yes if before[key] else no} again" for key, (yes, no) in flags.items() if key in before), "")


async def _folders_again(gateway: Gateway, operation: Operation) -> tuple[str, ...]:
    """The folders its messages were in, of any account."""
    refs: dict[str, set[str]] = {}

    def look_up() -> None:
        for item in operation.items:
            if "folder_ref" in item.before:
                account = gateway.store.handles.resolve(item.handle, Kind.EMAIL).account
                refs.setdefault(account, set()).update(folder_refs(item.before))

    await gateway.in_thread(look_up)
    named = [await _folder_names(await gateway.accounts.open(name), wanted) for name, wanted in refs.items()]
    return tuple(dict.fromkeys(name for names in named for name in names))


async def _folder_names(account: Account, refs: set[str]) -> tuple[str, ...]:
    return tuple(clean_line(folder.name) for folder in await folders_of(account) if folder.ref in refs)


_UNDOING = {
    "create_folder": _unmake,
    "delete_folder": _make_again,
    "rename_folder": rename_back,
    "run_rule": _undo_parts,
}


async def _run(
    gateway: Gateway,
    email_ids: Sequence[str],
    account: str | None,
    progress: Progress | None,
    plan: Plan,
    ids: IdScheme | None = None,
) -> WriteView:
    ids = ids or gateway.ids
    return await carry_out(gateway, [Wanted(checked_ids(email_ids, ids), plan)], account, progress, ids)
