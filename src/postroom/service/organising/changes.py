"""The changes that can be made to messages, each with what the journal keeps of a message before and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from postroom.mime.clean import clean_line
from postroom.model.address import refuse_line_breaks
from postroom.model.errors import InvalidRequest
from postroom.model.folder import Folder
from postroom.model.message import Envelope
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag
from postroom.service.accounts.folders import folders_now
from postroom.service.gateway import Account
from postroom.service.organising.batch import Change, Plan
from postroom.service.organising.places import Places, folder_refs


def marking(flag: Flag) -> Change:
    key = "unread" if flag in ("read", "unread") else "starred"
    return Change(
        "mark",
        lambda account, refs: account.mailbox.set_flags(refs, add=[flag]),
        lambda envelope: {key: getattr(envelope, key)},
        lambda _: {key: flag in ("unread", "starred")},
    )


def moving(action: str, places: Places, target: Folder) -> Change:
    return Change(
        action,
        lambda account, refs: account.mailbox.move(refs, target.ref),
        lambda envelope: places.named(*envelope.folders),
        lambda envelope: places.after_move(envelope, target),
        into=target.ref,
    )


def putting_back(places: Places, state: dict[str, Any]) -> Change:
    """Into every folder it was in; with one folder per message that is a move."""
    wanted = places.still(state)
    refs_wanted = folder_refs(wanted)

    def apply(account: Account, refs: Sequence[str]) -> Awaitable[list[ItemResult]]:
        if account.capabilities.has_many_folders:
            return account.many_folders.put_into(refs, refs_wanted)
        return account.mailbox.move(refs, refs_wanted[0])

    return Change(
        "move", apply, lambda envelope: places.named(*envelope.folders), lambda _: wanted, into=refs_wanted[0]
    )


def has_label(envelope: Envelope, label: str) -> bool:
    """Every provider takes spellings that differ in case for one label."""
    return label.casefold() in map(str.casefold, envelope.labels)


def labelling(label: str, wanted: bool) -> Change:

    def apply(account: Account, refs: Sequence[str]) -> Awaitable[list[ItemResult]]:
        verb = account.labels.apply_label if wanted else account.labels.remove_label
        account.folders.forget()  # a new label is a new folder at some servers
        return verb(refs, label)

    return Change(
        "label",
        apply,
        lambda envelope: {"label": label, "on": has_label(envelope, label)},
        lambda _: {"label": label, "on": wanted},
    )


def relabelling(on: str, off: str) -> Change:
    """The one label instead of the other."""

    async def apply(account: Account, refs: Sequence[str]) -> list[ItemResult]:
        account.folders.forget()
        results = await account.labels.apply_label(refs, on)
        labelled = [result.new_ref or result.ref for result in results if result.ok]
        removed = iter(await account.labels.remove_label(labelled, off) if labelled else [])
        return [next(removed) if result.ok else result for result in results]

    return Change(
        "rename_label",
        apply,
        lambda envelope: {"relabel": [off, on] if has_label(envelope, off) else [on, off]},
        lambda _: {"relabel": [on, off]},
    )


def reversing(state: dict[str, Any]) -> Plan:
    """The change that brings back a journalled state."""

    async def plan(account: Account) -> Change:
        if "folder_ref" in state:
            return putting_back(Places(await folders_now(account)), state)
        if "relabel" in state:
            return relabelling(*state["relabel"])
        if "label" in state:
            return labelling(state["label"], state["on"])
        key, value = next(iter(state.items()))
        return marking(key if value else {"unread": "read", "starred": "unstarred"}[key])  # type: ignore[arg-type]

    return plan


def always(change: Change) -> Plan:
    async def plan(_: Account) -> Change:
        return change

    return plan


def check_label(label: str, *, is_new: bool = False) -> None:
    """What nobody sees in a new one would make it another label of the same look, which no call can name again."""
    refuse_line_breaks(label, "label")
    if is_new and clean_line(label).split() != label.split():
        raise InvalidRequest("The label has an invisible character. Write it without.", details={"field": "label"})
    if not label.strip() or len(label) > 100:
        raise InvalidRequest("A label has 1 to 100 characters.", details={"field": "label"})
    if label.strip().casefold() == "$forwarded":  # an index has that mark under this name (`index.labels`)
        raise InvalidRequest(
            "$Forwarded is not a label: it marks a message as forwarded. Choose another name.",
            details={"field": "label"},
        )
