"""Handles follow their messages to where these are moved, also when a process died before it noted the new refs.

What the journal keeps for that is the target folder as it was before, and what the message looked like. A Message-ID is
the sender's to choose: what was in the folder before, does not look the same, or is not the only one is left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from postroom.model.errors import PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope, shown_of
from postroom.providers.protocol import MovedLookup
from postroom.service.gateway import Account, Gateway
from postroom.store import JournalItem
from postroom.store.handles import Handle

Trail = dict[str, Any]
_MAX_ID = 250  # characters: many are asked for at once, and one that a server refuses would keep all from being found


async def lead_on(gateway: Gateway, account: str, renamed: Mapping[str, str]) -> None:
    """Old refs to new ones. A draft is also a message, under a handle of its own; a message without Message-ID is a
    thread by its own ref."""
    for kind in (Kind.EMAIL, Kind.DRAFT, Kind.THREAD) if renamed else ():
        await gateway.in_thread(gateway.store.handles.rename, kind, account, renamed)


async def trails(account: Account, into: str) -> Callable[[Envelope], Trail]:
    """What the journal keeps of a message before it is moved into that folder; nothing where it keeps its ref."""
    mark = ""
    if into and isinstance(account.mailbox, MovedLookup):
        with suppress(PostroomError):  # the move itself will tell
            mark = await account.mailbox.folder_mark(into)

    def trail_of(envelope: Envelope) -> Trail:
        if not mark or not _can_be_asked_for(envelope.message_id):
            return {}
        kept = {"ref": envelope.ref, "folder_ref": into, "mark": mark}
        return {**kept, "message_id": envelope.message_id, "shown": _digest(envelope)}

    return trail_of


def _can_be_asked_for(message_id: str) -> bool:
    return 0 < len(message_id) <= _MAX_ID and message_id.isascii() and message_id.isprintable()


async def catch_up(gateway: Gateway, items: Iterable[JournalItem]) -> None:
    """The handles of what was moved without anybody noting where to; of several trails of a handle the last one counts.
    What is not found again stays where it is."""
    trails_of: dict[str, list[Trail]] = {}
    for item in items:
        if item.trail:
            trails_of.setdefault(item.handle, []).append(item.trail)
    lost: dict[str, dict[str, Trail]] = {}
    for handle, known in (await gateway.in_thread(_resolved, gateway, trails_of)).items():
        for trail in trails_of[handle]:
            if trail["ref"] == known.ref:  # or else the new one was noted
                lost.setdefault(known.account, {})[known.ref] = trail
    for account, unsettled in lost.items():
        with suppress(PostroomError):
            await _look(gateway, await gateway.accounts.open(account), unsettled)


def _resolved(gateway: Gateway, handles: Iterable[str]) -> dict[str, Handle]:
    found: dict[str, Handle] = {}
    for handle in handles:
        with suppress(PostroomError):
            found[handle] = gateway.store.handles.resolve(handle, Kind.EMAIL)
    return found


async def _look(gateway: Gateway, account: Account, unsettled: Mapping[str, Trail]) -> None:
    if not isinstance(account.mailbox, MovedLookup):
        return
    envelopes = await account.mailbox.envelopes(list(unsettled))
    gone = [trail for trail, envelope in zip(unsettled.values(), envelopes, strict=True) if envelope is None]
    places: dict[tuple[str, str], list[Trail]] = {}
    for trail in gone:
        places.setdefault((trail["folder_ref"], trail["mark"]), []).append(trail)
    for (folder_ref, mark), wanted in places.items():
        ids = list(dict.fromkeys(trail["message_id"] for trail in wanted))
        found = await account.mailbox.came_since(folder_ref, mark, ids)
        await lead_on(gateway, account.name, _recognised(wanted, found))


def _recognised(wanted: Sequence[Trail], found: Sequence[Envelope]) -> dict[str, str]:
    """Old refs to new ones, only where there is no doubt."""
    asked = Counter(trail["message_id"] for trail in wanted)
    there = Counter(envelope.message_id for envelope in found)
    sure = {envelope.message_id: envelope for envelope in found if there[envelope.message_id] == 1}
    return {
        trail["ref"]: sure[message_id].ref
        for trail in wanted
        if asked[message_id := trail["message_id"]] == 1
        and message_id in sure
        and _digest(sure[message_id]) == trail["shown"]
    }


def _digest(envelope: Envelope) -> str:
    return hashlib.sha256(json.dumps(shown_of(envelope)).encode()).hexdigest()
