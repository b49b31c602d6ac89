"""Putting mail in order: flags, folders, labels, trash. Every change is journalled first, so `undo` can reverse it.

One id or a thousand: each item gets its own answer, and a part that failed is never reported as success.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from postroom.model.address import refuse_line_breaks
from postroom.model.errors import Conflict, InvalidRequest, PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.outcome import ItemResult
from postroom.model.query import Flag
from postroom.service.accounts import find_folder, folder_view
from postroom.service.house import Account, House
from postroom.service.showing import error_view, gone, require_account
from postroom.service.views import FolderView, ItemView, WriteView
from postroom.store import JournalItem

MarkFlag = Literal["read", "unread", "starred", "unstarred"]
Progress = Callable[[int, int], Awaitable[None]]
MAX_BATCH = 1000
_BLOCK = 100  # items between two progress reports


@dataclass(frozen=True, slots=True)
class Change:
    """One verb, as a batch needs it: what it does, and what the journal should know before and after."""

    action: str
    apply: Callable[[Account, Sequence[str]], Awaitable[list[ItemResult]]]
    before: Callable[[Envelope], dict[str, Any]]
    after: dict[str, Any]

    def alters(self, envelope: Envelope) -> bool:
        return self.before(envelope) != self.after


async def mark(
    house: House, email_ids: Sequence[str], flag: str, *, account: str | None = None, progress: Progress | None = None
) -> WriteView:
    if flag not in get_args(MarkFlag):
        raise InvalidRequest("flag must be read, unread, starred or unstarred.", details={"field": "flag"})
    return await _run(house, email_ids, account, progress, lambda _: _marking(flag))  # type: ignore[arg-type]


async def move(
    house: House,
    email_ids: Sequence[str],
    to_mailbox: str,
    *,
    account: str | None = None,
    progress: Progress | None = None,
) -> WriteView:
    async def plan(opened: Account) -> Change:
        folder = await find_folder(opened, to_mailbox)
        return _moving("move", folder.ref, folder.name)

    return await _run(house, email_ids, account, progress, plan)


async def delete(
    house: House, email_ids: Sequence[str], *, account: str | None = None, progress: Progress | None = None
) -> WriteView:
    """To the trash, never further: a person empties it."""

    async def plan(opened: Account) -> Change:
        folder = await find_folder(opened, "trash")
        return _moving("delete", folder.ref, folder.name)

    return await _run(house, email_ids, account, progress, plan)


async def apply_label(
    house: House, email_ids: Sequence[str], label: str, *, account: str | None = None, progress: Progress | None = None
) -> WriteView:
    _check_label(label)
    return await _run(house, email_ids, account, progress, lambda _: _labelling(label, True))


async def remove_label(
    house: House, email_ids: Sequence[str], label: str, *, account: str | None = None, progress: Progress | None = None
) -> WriteView:
    _check_label(label)
    return await _run(house, email_ids, account, progress, lambda _: _labelling(label, False))


async def create_folder(house: House, name: str, *, account: str | None = None) -> tuple[FolderView, str]:
    """The new folder and the operation that `undo` takes."""
    refuse_line_breaks(name, "folder name")
    if not name.strip() or len(name) > 255:
        raise InvalidRequest("A folder name has 1 to 255 characters; '/' separates levels.", details={"field": "name"})
    opened = await house.accounts.open(account)
    folder = await opened.folder_maker.create_folder(name)
    operation = await house.stored(
        house.store.journal.record, opened.name, "create_folder", [], {"folder_ref": folder.ref}
    )
    return folder_view(opened.name, folder), operation


async def undo(house: House, operation_id: str) -> WriteView:
    """Reverse one operation. Items that were changed again since are left alone and reported."""
    operation = await house.stored(house.store.journal.load, operation_id)
    opened = await house.accounts.open(operation.account)
    await house.stored(house.store.journal.mark_undone, operation_id)
    if operation.action == "create_folder":
        await opened.folder_maker.delete_folder(operation.detail["folder_ref"])
        return WriteView("", (), 1, 0)
    return await _reverse(house, opened, operation.items)


def _marking(flag: Flag) -> Change:
    key = "unread" if flag in ("read", "unread") else "starred"
    return Change(
        "mark",
        lambda account, refs: account.mailbox.set_flags(refs, add=[flag]),
        lambda envelope: {key: getattr(envelope, key)},
        {key: flag in ("unread", "starred")},
    )


def _moving(action: str, folder_ref: str, folder_name: str) -> Change:
    return Change(
        action,
        lambda account, refs: account.mailbox.move(refs, folder_ref),
        lambda envelope: {"folder": envelope.folder},
        {"folder": folder_name},
    )


def _labelling(label: str, wanted: bool) -> Change:
    def apply(account: Account, refs: Sequence[str]) -> Awaitable[list[ItemResult]]:
        verb = account.labels.apply_label if wanted else account.labels.remove_label
        return verb(refs, label)

    return Change(
        "label",
        apply,
        lambda envelope: {"label": label, "on": label in envelope.labels},
        {"label": label, "on": wanted},
    )


def _reversing(state: dict[str, Any]) -> Callable[[Account], Awaitable[Change]]:
    """The change that brings back a journalled state."""

    async def plan(account: Account) -> Change:
        if "folder" in state:
            folder = await find_folder(account, state["folder"])
            return _moving("move", folder.ref, folder.name)
        if "label" in state:
            return _labelling(state["label"], state["on"])
        key, value = next(iter(state.items()))
        return _marking(key if value else {"unread": "read", "starred": "unstarred"}[key])  # type: ignore[arg-type]

    return plan


async def _reverse(house: House, account: Account, items: Sequence[JournalItem]) -> WriteView:
    groups: dict[str, list[JournalItem]] = {}
    for item in items:
        groups.setdefault(repr(sorted(item.before.items())), []).append(item)
    views = [
        await _run(
            house,
            [item.handle for item in group],
            account.name,
            None,
            _reversing(group[0].before),
            expect=group[0].after,
        )
        for group in groups.values()
    ]
    results = tuple(result for view in views for result in view.results)
    return _written(next((view.operation_id for view in views if view.operation_id), ""), results)


async def _run(
    house: House,
    email_ids: Sequence[str],
    account: str | None,
    progress: Progress | None,
    plan: Callable[[Account], Change | Awaitable[Change]],
    expect: dict[str, Any] | None = None,
) -> WriteView:
    """Resolve, journal, apply: per account, in blocks, one answer per id and in the order asked."""
    ids = _checked_ids(email_ids)
    answers: dict[str, ItemView] = {}
    by_account = await _resolved(house, ids, account, answers)
    operation_id = ""
    for name, refs in by_account.items():
        opened = await house.accounts.open(name)
        planned = plan(opened)
        change = planned if isinstance(planned, Change) else await planned
        done = await _apply(house, opened, refs, change, answers, progress, expect)
        operation_id = operation_id or done
    return _written(operation_id, tuple(answers[email_id] for email_id in ids))


async def _resolved(
    house: House, ids: Sequence[str], account: str | None, answers: dict[str, ItemView]
) -> dict[str, dict[str, str]]:
    """account -> {email_id: ref}; ids that resolve to nothing get their answer at once."""
    found: dict[str, dict[str, str]] = {}

    def resolve_all() -> None:
        for email_id in ids:
            try:
                handle = house.store.handles.resolve(email_id, Kind.EMAIL)
                require_account(house, handle.account, account, email_id)
                found.setdefault(handle.account, {})[email_id] = handle.ref
            except PostroomError as error:
                answers[email_id] = ItemView(email_id, False, error=error_view(error))

    await house.stored(resolve_all)
    return found


async def _apply(
    house: House,
    account: Account,
    refs: dict[str, str],
    change: Change,
    answers: dict[str, ItemView],
    progress: Progress | None,
    expect: dict[str, Any] | None,
) -> str:
    """Change what needs changing; what is so already is ok, what is gone or moved on is said."""
    todo: list[tuple[str, Envelope]] = []
    current = await account.mailbox.envelopes(list(refs.values()))
    for email_id, envelope in zip(refs, current, strict=True):
        if envelope is None:
            answers[email_id] = ItemView(email_id, False, error=error_view(gone(email_id)))
        elif not change.alters(envelope):
            answers[email_id] = ItemView(email_id, True)
        elif expect is not None and change.before(envelope) != expect:
            moved_on = Conflict("The mail was changed again since; it was left as it is.")
            answers[email_id] = ItemView(email_id, False, error=error_view(moved_on))
        else:
            todo.append((email_id, envelope))
    if not todo:
        return ""
    items = [JournalItem(email_id, change.before(envelope), change.after) for email_id, envelope in todo]
    operation_id = await house.stored(house.store.journal.record, account.name, change.action, items, {})
    for start in range(0, len(todo), _BLOCK):
        block = todo[start : start + _BLOCK]
        results = await change.apply(account, [envelope.ref for _, envelope in block])
        await _settle(house, account, block, results, answers)
        if progress is not None:
            await progress(min(start + _BLOCK, len(todo)), len(todo))
    return operation_id


async def _settle(
    house: House,
    account: Account,
    block: Sequence[tuple[str, Envelope]],
    results: Sequence[ItemResult],
    answers: dict[str, ItemView],
) -> None:
    """Handles follow their mails to new refs; then each item gets its answer."""
    renamed = {result.ref: result.new_ref for result in results if result.ok and result.new_ref}
    if renamed:
        await house.stored(house.store.handles.rename, Kind.EMAIL, account.name, renamed)
    for (email_id, _), result in zip(block, results, strict=True):
        error = error_view(result.error) if result.error else None
        answers[email_id] = ItemView(email_id, result.ok, error=error)


def _checked_ids(email_ids: Sequence[str]) -> list[str]:
    ids = list(dict.fromkeys(email_ids))
    if not ids:
        raise InvalidRequest("email_id is empty: name at least one mail.", details={"field": "email_id"})
    if len(ids) > MAX_BATCH:
        raise InvalidRequest(
            f"At most {MAX_BATCH} mails at once; {len(ids)} were named.", details={"field": "email_id"}
        )
    return ids


def _check_label(label: str) -> None:
    refuse_line_breaks(label, "label")
    if not label.strip() or len(label) > 100:
        raise InvalidRequest("A label has 1 to 100 characters.", details={"field": "label"})


def _written(operation_id: str, results: tuple[ItemView, ...]) -> WriteView:
    succeeded = sum(result.ok for result in results)
    return WriteView(operation_id, results, succeeded, len(results) - succeeded)
