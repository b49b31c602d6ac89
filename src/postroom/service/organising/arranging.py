"""Folders and labels themselves: listed, renamed, removed. What happens to messages on the way is journalled like any
other change, so `undo` brings it back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from postroom.mime.clean import clean_line
from postroom.model.address import refuse_line_breaks
from postroom.model.errors import Conflict, InvalidRequest, NotFound, PostroomError
from postroom.model.folder import match_folder
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.query.tree import Label, Query
from postroom.providers.protocol import LabelNames
from postroom.service.accounts.folders import folder_view, folders_now, pick_folder
from postroom.service.gateway import Account, Gateway
from postroom.service.ids.handles import BY_HANDLE
from postroom.service.organising.batch import Change, Progress, Wanted, carry_out
from postroom.service.organising.changes import always, check_label, has_label, labelling, relabelling
from postroom.service.views import FolderView, WriteView

MAX_LABELLED = 10_000  # messages that one call changes
_PAGE = 100


async def delete_folder(gateway: Gateway, name: str, *, account: str | None = None) -> tuple[FolderView, str]:
    """Only an empty one without a role, as it was, and the operation that `undo` takes: it creates it again."""
    opened = await gateway.accounts.open(account)
    folder = pick_folder(opened, await folders_now(opened), name)
    if folder.role is not None:
        raise InvalidRequest(
            f"{clean_line(folder.name)} is the account's {folder.role.value} folder and stays.",
            details={"field": "name"},
        )
    try:
        await opened.folder_maker.delete_folder(folder.ref)
    except Conflict:
        raise Conflict(
            f"The folder {clean_line(folder.name)} is not empty, or has folders below it. Move or delete what is in it "
            "first; nothing was changed."
        ) from None
    finally:
        opened.folders.forget()
    detail = {"name": folder.name}
    operation = await gateway.in_thread(gateway.store.journal.record, opened.name, "delete_folder", [], detail)
    return folder_view(opened.name, folder), operation


async def list_labels(gateway: Gateway, *, account: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The account's name, and its labels."""
    opened = await gateway.accounts.open(account)
    return opened.name, tuple(clean_line(label) for label in await opened.labels.labels())


async def rename_label(
    gateway: Gateway, label: str, new_name: str, *, account: str | None = None, progress: Progress | None = None
) -> WriteView:
    """Every message that has the label gets the new one instead."""
    refuse_line_breaks(new_name, "new_name")
    check_label(new_name, is_new=True)
    opened = await gateway.accounts.open(account)
    old, new = await _existing(opened, label), new_name.strip()
    if old.casefold() == new.casefold():
        raise InvalidRequest("The label has that name already.", details={"field": "new_name"})

    def change_of(envelope: Envelope) -> Change:
        """One that has both keeps the new label also when this is undone."""
        return labelling(old, False) if has_label(envelope, new) else relabelling(new, old)

    return await _change_all(gateway, opened, old, change_of, progress)


async def delete_label(
    gateway: Gateway, label: str, *, account: str | None = None, progress: Progress | None = None
) -> WriteView:
    """Taken off every message that has it; no message is deleted."""
    opened = await gateway.accounts.open(account)
    old = await _existing(opened, label)
    return await _change_all(gateway, opened, old, lambda _: labelling(old, False), progress)


async def _existing(account: Account, label: str) -> str:
    labels = await account.labels.labels()
    found = [name for name in labels if name == label] or [one for one in labels if one.casefold() == label.casefold()]
    if not found:
        names = ", ".join(clean_line(name) for name in labels[:30]) or "none"
        raise NotFound(f"Account {account.name} has no label {label[:80]!r}. Labels: {names}.")
    return found[0]


async def _change_all(
    gateway: Gateway,
    account: Account,
    label: str,
    change_of: Callable[[Envelope], Change],
    progress: Progress | None,
) -> WriteView:
    changes: dict[str, tuple[Change, list[str]]] = {}
    for envelope in await _labelled(account, label):
        change = change_of(envelope)
        changes.setdefault(change.action, (change, []))[1].append(envelope.ref)
    issue = partial(gateway.store.handles.issue, Kind.EMAIL, account.name)
    wanted = [Wanted(await gateway.in_thread(issue, refs), always(change)) for change, refs in changes.values()]
    view = await carry_out(gateway, wanted, account.name, progress, BY_HANDLE)
    if not view.failed:
        await _drop_empty(account, label)
    return view


async def _labelled(account: Account, label: str) -> list[Envelope]:
    found: list[Envelope] = []
    while True:
        page = await account.mailbox.search(Query(Label(label), anywhere=True), limit=_PAGE, offset=len(found))
        found += page.items
        if len(found) > MAX_LABELLED:
            raise InvalidRequest(f"More than {MAX_LABELLED} messages have this label. Remove it from some first.")
        if not page.has_more or not page.items:
            return list({envelope.ref: envelope for envelope in found}.values())


async def _drop_empty(account: Account, label: str) -> None:
    """Its name, where the mailbox keeps a list of them. Where labels are folders, the empty one is left over: one that
    is still used, or has others below it, stays."""
    if isinstance(account.mailbox, LabelNames):
        await account.mailbox.forget_label(label)
        return
    account.folders.forget()
    folder = match_folder(await folders_now(account), label)
    if folder is not None and folder.role is None and folder.name == label and account.capabilities.can_create_folder:
        if label in await account.labels.labels():
            with suppress(PostroomError):
                await account.folder_maker.delete_folder(folder.ref)
        account.folders.forget()
