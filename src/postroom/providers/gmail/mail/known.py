"""Envelopes that were read before. A message never changes, only its labels do, and Gmail's history names every change:
one cheap request brings everything up to date that would cost one of twenty units for each message.

Replaying a change that is known already does no harm, because changes are replayed in order and to the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import anyio

from postroom.model.errors import PostroomError
from postroom.model.message import Envelope
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import (
    JSON,
    UNITS,
    Get,
    object_of,
    objects_of,
    text_of,
    texts_of,
)

_MOST = 5000  # envelopes
_PAGES = 10  # of history; after more changes than that everything is read again
_KINDS = {"labelsAdded": True, "labelsRemoved": False}
_EXCLUSIVE = frozenset({"INBOX", "SPAM", "TRASH"})


@dataclass(slots=True)
class Entry:
    envelope: Envelope
    labels: frozenset[str]


class Known:
    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._synced_at = float("-inf")
        self._entries: dict[str, Entry] = {}
        self._lock = anyio.Lock()
        self.cursor = ""  # everything up to this point of the history is in the entries

    def begin(self, history_id: str) -> None:
        if not self.cursor:
            self.cursor = history_id

    async def current(self, refs: Iterable[str], *, max_age: float = 0.0) -> dict[str, Entry]:
        """Those of the messages that are known, with their labels of now, or of at most so many seconds ago."""
        refs = list(refs)
        if any(ref in self._entries for ref in refs) and self._clock() >= self._synced_at + max_age:
            async with self._lock:
                await self._catch_up()
                self._synced_at = self._clock()
        return {ref: self._entries[ref] for ref in refs if ref in self._entries}

    def keep(self, entries: Iterable[tuple[Envelope, frozenset[str]]], *, read_at: str) -> None:
        """`read_at` is the cursor from before they were read: what changed after another one might be missed."""
        if not read_at or read_at != self.cursor:
            return
        for envelope, labels in entries:
            self._entries.pop(envelope.ref, None)
            self._entries[envelope.ref] = Entry(envelope, labels)
        for ref in list(self._entries)[: max(0, len(self._entries) - _MOST)]:
            del self._entries[ref]

    async def changed(self, refs: Sequence[str], add: frozenset[str], remove: frozenset[str]) -> None:
        """By ourselves, just now: the history may not tell of it yet."""
        async with self._lock:
            gone = remove | (_EXCLUSIVE - add if add & _EXCLUSIVE else frozenset())
            for ref in refs:
                if (entry := self._entries.get(ref)) is not None:
                    entry.labels = (entry.labels - gone) | add

    def doubt(self) -> None:
        """A change whose outcome nobody knows: the history is asked, however short a time ago it was."""
        self._synced_at = float("-inf")

    async def _catch_up(self) -> None:
        try:
            pages = await self._history()
        except PostroomError:
            pages = None
        if pages is None:
            profile = await self._client.get(Get("profile", UNITS["profile"]))  # without an answer all stays as it is
            self._entries, self.cursor = {}, text_of(profile.get("historyId"))
            return
        for page in pages:
            for record in objects_of(page.get("history")):
                self._replay(record)
        self.cursor = text_of(pages[-1].get("historyId")) or self.cursor

    async def _history(self) -> list[JSON] | None:
        """None where it is too long, or does not reach back that far."""
        pages: list[JSON] = []
        token = ""
        for _ in range(_PAGES):
            params = {"startHistoryId": self.cursor, "maxResults": 500, **({"pageToken": token} if token else {})}
            pages.append(await self._client.get(Get("history", UNITS["history"], params)))
            if not (token := text_of(pages[-1].get("nextPageToken"))):
                return pages
        return None

    def _replay(self, record: JSON) -> None:
        for entry in objects_of(record.get("messagesDeleted")):
            self._entries.pop(text_of(object_of(entry.get("message")).get("id")), None)
        for kind, is_added in _KINDS.items():
            for entry in objects_of(record.get(kind)):
                known = self._entries.get(text_of(object_of(entry.get("message")).get("id")))
                if known is not None:
                    labels = frozenset(texts_of(entry.get("labelIds")))
                    known.labels = known.labels | labels if is_added else known.labels - labels
