"""Flags, labels and places, as changes of label sets: one request for up to a thousand messages.

Gmail does not say which of them exist, and looking at each costs more than the change itself. So one list of a label
that most of them have answers for those; only the rest are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from postroom.model.errors import InvalidRequest, PostroomError, Unsupported
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag
from postroom.providers.gmail.mail.labels import ANSWERED, ARCHIVE, DISCARDED, FORWARDED, PLACES, Labels, LabelSet
from postroom.providers.gmail.mail.reading import Reader
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import (
    DRAFT,
    INBOX,
    PER_BATCH,
    PER_CHANGE,
    PER_PAGE,
    PROVIDER,
    SENT,
    STARRED,
    UNITS,
    UNREAD,
    gone,
    text_of,
    texts_of,
)

_RECENT = 5.0  # seconds: whoever changes messages has looked at them just before
_FIXED = frozenset({SENT, DRAFT})  # Gmail alone puts these on a message
_CLAIMS: dict[Flag, tuple[str, bool]] = {
    "read": (UNREAD, False),
    "unread": (UNREAD, True),
    "starred": (STARRED, True),
    "unstarred": (STARRED, False),
    "answered": (ANSWERED, True),
    "forwarded": (FORWARDED, True),
}

Known = dict[str, frozenset[str]]  # of a message its labels, as far as they matter


@dataclass(frozen=True, slots=True)
class Change:
    add: frozenset[str] = frozenset()
    remove: frozenset[str] = frozenset()


@dataclass
class Organiser:
    client: Client
    labels: Labels
    reader: Reader

    async def set_flags(self, refs: Sequence[str], flags: Sequence[Flag]) -> list[ItemResult]:
        if unknown := [flag for flag in flags if flag not in _CLAIMS]:
            error = Unsupported(PROVIDER, f"the {unknown[0]} flag")
            return [ItemResult(ref, error) for ref in refs]
        add, remove = set[str](), set[str]()
        for flag in flags:
            label, wanted = _CLAIMS[flag]
            name = (await self.labels.made(label)).id if label in (ANSWERED, FORWARDED) else label
            (add if wanted else remove).add(name)
        change = Change(frozenset(add), frozenset(remove))
        return await self._changed(refs, lambda _: change, hint=next(iter(remove), INBOX))

    async def set_label(self, refs: Sequence[str], label_id: str, *, wanted: bool) -> list[ItemResult]:
        ids = frozenset({label_id})
        change = Change(add=ids) if wanted else Change(remove=ids)
        return await self._changed(refs, lambda _: change, hint=INBOX if wanted else label_id)

    async def check(self, refs: Sequence[str]) -> list[ItemResult]:
        """Nothing to change: only whether they are there."""
        return await self._changed(refs, lambda _: Change(), hint=INBOX)

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        known = await self.labels.current()
        target = known.folder_of_ref(folder_ref)
        hint = "" if target in _FIXED else INBOX
        return await self._changed(refs, lambda labels: _moving(known, labels, target), hint=hint)

    async def put_into(self, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        known = await self.labels.current()
        targets = [known.folder_of_ref(ref) for ref in folder_refs]
        return await self._changed(refs, lambda labels: _placing(known, labels, targets), hint="")

    async def _changed(
        self, refs: Sequence[str], change: Callable[[frozenset[str]], Change], *, hint: str
    ) -> list[ItemResult]:
        """Messages with the same change go together."""
        known = await self._known(list(dict.fromkeys(refs)), hint)
        groups: dict[Change, list[str]] = {}
        failed: dict[str, PostroomError] = {}
        for ref, labels in known.items():
            try:
                groups.setdefault(change(labels), []).append(ref)
            except PostroomError as error:
                failed[ref] = error
        for wanted, members in groups.items():
            failed.update(await self._apply(wanted, members))
        return [ItemResult(ref, failed.get(ref) if ref in known else gone("message")) for ref in refs]

    async def _apply(self, change: Change, refs: Sequence[str]) -> dict[str, PostroomError]:
        failed: dict[str, PostroomError] = {}
        if not change.add and not change.remove:
            return failed
        self.reader.forget()
        for start in range(0, len(refs), PER_CHANGE):
            some = refs[start : start + PER_CHANGE]
            body = {"ids": some, "addLabelIds": sorted(change.add), "removeLabelIds": sorted(change.remove)}
            try:
                await self.client.post("messages/batchModify", body, units=UNITS["batchModify"])
                await self.reader.known.changed(some, change.add, change.remove)
            except PostroomError as error:
                self.reader.known.doubt()
                failed.update(dict.fromkeys(some, error))
        return failed

    async def _known(self, refs: Sequence[str], hint: str) -> Known:
        """The labels of those that exist. A message found by the hint is known to have that label; of its others none
        matter for what is asked here, but that it is neither in Trash nor in Spam."""
        recent = await self.reader.known.current(refs, max_age=_RECENT)
        found: Known = {ref: entry.labels for ref, entry in recent.items()}
        rest = [ref for ref in refs if ref not in found]
        if hint and len(rest) > PER_BATCH:
            found |= await self._listed(rest, hint)
        rest = [ref for ref in refs if ref not in found]
        messages = await self.reader.messages(rest, form="minimal", fields="id,labelIds")
        for ref, one in zip(rest, messages, strict=True):
            if one is not None and text_of(one.get("id")):
                found[ref] = frozenset(texts_of(one.get("labelIds")))
        return found

    async def _listed(self, refs: Sequence[str], label: str) -> Known:
        most = (len(refs) // PER_PAGE + 2) * PER_PAGE
        entries, _ = await self.client.listed(
            "messages", "messages", {"labelIds": [label], "fields": "messages/id,nextPageToken"},
            units=UNITS["messages"], most=most,
        )  # fmt: skip
        there = {text_of(one.get("id")) for one in entries}
        return {ref: frozenset({label}) for ref in refs if ref in there}


def _moving(known: LabelSet, labels: frozenset[str], target: str) -> Change:
    """Out of where it is shown and into the target; into Trash and Spam, out of everywhere."""
    shown = known.place_ids(sorted(labels))[0]
    if shown == target:
        return Change()
    if target in _FIXED and target not in labels:
        raise InvalidRequest(
            f"Gmail alone files messages in {PLACES[target][0]}; no other message can be moved there. Choose another "
            "folder.",
            details={"field": "folder"},
        )
    entered = frozenset({target}) - _FIXED - {ARCHIVE}
    left = frozenset({shown}) - _FIXED - {ARCHIVE}
    return Change(entered, left | ({INBOX, *DISCARDED} - {target} if target in DISCARDED else frozenset()))


def _placing(known: LabelSet, labels: frozenset[str], targets: Iterable[str]) -> Change:
    """Sent and Drafts are neither entered nor left: only Gmail decides about these."""
    wanted = frozenset(targets) - _FIXED - {ARCHIVE}
    if wanted & DISCARDED:
        return Change(wanted, frozenset({INBOX, *DISCARDED}) - wanted)
    held = frozenset(label for label in labels if label in PLACES) | frozenset(known.user_ids(labels))
    return Change(wanted - held, held - wanted - _FIXED)
