"""Drafts. A draft keeps its id; the message in it gets another id with every change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import anyio.to_thread

from postroom.model.draft import SavedDraft
from postroom.model.errors import PostroomError, ProviderError
from postroom.model.message import Envelope, Page
from postroom.providers.gmail.mail.reading import Reader
from postroom.providers.gmail.mail.twin import with_twin
from postroom.providers.gmail.session.client import Client, is_gone
from postroom.providers.gmail.session.wire import (
    JSON,
    TRASH,
    UNITS,
    checked_id,
    draft,
    gone,
    object_of,
    text_of,
    texts_of,
)


@dataclass
class DraftBox:
    client: Client
    reader: Reader

    async def listed(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        most = offset + limit + 1
        entries, is_more = await self.client.listed("drafts", "drafts", {}, units=UNITS["drafts"], most=most)
        shown = [saved_of(entry) for entry in entries[offset : offset + limit]]
        rows = await self.reader.envelopes([saved.message_ref for saved in shown])
        items = tuple((saved, row) for saved, row in zip(shown, rows, strict=True) if row is not None)
        total = None if is_more else len(entries)
        return Page(items, total, limit, offset, has_more=len(entries) > offset + limit)

    async def find(self, ref: str) -> SavedDraft:
        return saved_of(await self.read(ref, form="minimal"))

    async def refs_of(self, message_refs: Collection[str]) -> dict[str, str]:
        entries, _ = await self.client.listed("drafts", "drafts", {}, units=UNITS["drafts"])
        drafts = {saved.message_ref: saved.ref for saved in map(saved_of, entries)}
        return {ref: drafts[ref] for ref in message_refs if ref in drafts}

    async def read(self, ref: str, *, form: str) -> JSON:
        """NotFound also for one in the trash: Gmail would still send it, but somebody has thrown it away."""
        found = await self.reader.one(draft(ref, form=form), "draft")
        if TRASH in texts_of(object_of(found.get("message")).get("labelIds")):
            raise gone("draft")
        return found

    async def create(self, raw: bytes, thread_ref: str) -> SavedDraft:
        return saved_of(await self.put("", await anyio.to_thread.run_sync(with_twin, raw), thread_ref))

    async def update(self, ref: str, raw: bytes, thread_ref: str) -> SavedDraft:
        return saved_of(await self.put(ref, await anyio.to_thread.run_sync(with_twin, raw), thread_ref))

    async def put(self, ref: str, raw: bytes, thread_ref: str) -> JSON:
        """Exactly these bytes, as a new draft or in place of an old one. A thread that is gone is no reason to fail."""
        self.reader.forget()
        path = f"drafts/{checked_id(ref, 'draft')}" if ref else "drafts"
        units = UNITS["draft.update"] if ref else UNITS["draft.create"]
        method = "PUT" if ref else "POST"
        if thread_ref:
            try:
                return await self.client.upload(method, path, _described(ref, thread_ref), raw, units=units)
            except PostroomError as error:
                if not is_gone(error):
                    raise
        try:
            return await self.client.upload(method, path, _described(ref, ""), raw, units=units)
        except PostroomError as error:
            raise gone("draft") if ref and is_gone(error) else error from None

    async def delete(self, ref: str) -> None:
        try:
            await self.client.delete(f"drafts/{checked_id(ref, 'draft')}", units=UNITS["draft.delete"])
        except PostroomError as error:
            raise gone("draft") if is_gone(error) else error from None


def saved_of(entry: JSON) -> SavedDraft:
    inner = object_of(entry.get("message"))
    ref, message_ref = text_of(entry.get("id")), text_of(inner.get("id"))
    if not ref or not message_ref:
        raise ProviderError("Gmail returned a draft without its ids. Call list_drafts to see whether it was saved.")
    return SavedDraft(ref, message_ref, text_of(inner.get("threadId")), version=message_ref)


def _described(ref: str, thread_ref: str) -> JSON:
    message = {"threadId": thread_ref} if thread_ref else {}
    return {**({"id": ref} if ref else {}), "message": message}
