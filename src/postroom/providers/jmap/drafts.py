"""Drafts: messages in the Drafts folder. Their content never changes; a new version is a new message."""

from __future__ import annotations

from typing import Any

from postroom.model.draft import SavedDraft
from postroom.model.errors import NotFound, PermissionDenied, PostroomError, ProviderError
from postroom.model.folder import Role
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import In, Query
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.convert import Email, mailboxes_of
from postroom.providers.jmap.folders import Directory
from postroom.providers.jmap.reading import Reader
from postroom.providers.jmap.wire import DRAFT, SEEN, set_error


class DraftFolder:
    def __init__(self, client: JmapClient, directory: Directory, reader: Reader) -> None:
        self._client = client
        self._directory = directory
        self._reader = reader

    async def page(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        folder = await self._directory.with_role(Role.DRAFTS)
        page = await self._reader.search(Query(In(folder.ref)), limit=limit, offset=offset)
        items = tuple((SavedDraft(row.ref, row.ref, row.thread_ref), row) for row in page.items)
        return Page(items, page.total, limit, offset, page.has_more)

    async def create(self, raw: bytes, *keywords: str) -> SavedDraft:
        """The bytes as they are, uploaded and imported."""
        folder = await self._directory.with_role(Role.DRAFTS)
        wanted = {
            "blobId": await self._client.upload(raw),
            "mailboxIds": {folder.ref: True},
            "keywords": dict.fromkeys((DRAFT, SEEN, *keywords), True),
        }
        reply = (await self._client.write(("Email/import", {"emails": {"new": wanted}})))[0]
        made = (reply.get("created") or {}).get("new")
        if not isinstance(made, dict) or not isinstance(made.get("id"), str):
            raise set_error((reply.get("notCreated") or {}).get("new"))
        return SavedDraft(made["id"], made["id"], str(made.get("threadId") or made["id"]))

    async def update(self, ref: str, raw: bytes) -> SavedDraft:
        await self.find(ref)
        new = await self.create(raw)
        try:
            await self._destroy(ref)
        except PostroomError as error:
            raise ProviderError(
                "The new version of the draft is saved, but the old one could not be removed. List the drafts."
            ) from error
        return new

    async def find(self, ref: str) -> SavedDraft:
        email = (await self._reader.emails([ref])).get(ref)
        if email is None:
            raise _gone()
        if not await self.is_draft(email):
            raise PermissionDenied(
                "This message is not a draft and cannot be changed or sent as one. Call list_drafts.",
                reason="not_a_draft",
            )
        return SavedDraft(ref, ref, str(email.get("threadId") or ref))

    async def is_draft(self, email: Email) -> bool:
        return (await self._directory.with_role(Role.DRAFTS)).ref in mailboxes_of(email)

    async def delete(self, ref: str) -> None:
        await self.find(ref)
        await self._destroy(ref)

    async def _destroy(self, ref: str) -> None:
        reply: dict[str, Any] = (await self._client.write(("Email/set", {"destroy": [ref]})))[0]
        if ref in (reply.get("destroyed") or ()):
            return
        error = set_error((reply.get("notDestroyed") or {}).get(ref))
        raise _gone() if isinstance(error, NotFound) else error


def _gone() -> NotFound:
    return NotFound("This draft no longer exists. Call list_drafts to see the drafts.", reason="draft_gone")
