"""The mailbox's verbs for a mirror: what there is, what changed, and messages in bulk."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from postroom.model.changes import BulkMail, Evidence, FolderChanges, FolderState, Identified
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.sync import states
from postroom.providers.imap.sync.bulk import bulk
from postroom.providers.imap.sync.changes import evidence, folder_changes, identify, newest

if TYPE_CHECKING:
    from datetime import datetime

    from postroom.providers.imap.folders.directory import Directory
    from postroom.providers.imap.session.pool import Pool


class SyncVerbs:
    """FolderSync, but for searching and watching, and Greeted."""

    _pool: Pool
    _directory: Directory

    async def greeting(self) -> None:
        await self._pool.greeting()

    async def folder_states(self) -> list[FolderState]:
        return await self._pool.run(states.KEPT_OPEN, states.folder_states)

    async def newest(self, folder_ref: str, count: int) -> FolderChanges:
        return await self._pool.run(folder_ref, newest, folder_ref, count)

    async def folder_changes(
        self, folder_ref: str, epoch: str, since: FolderState | None, oldest: datetime | None = None
    ) -> FolderChanges:
        return await self._pool.run(folder_ref, folder_changes, folder_ref, epoch, since, oldest)

    def explains(self, changes: FolderChanges, before: str, now: str, *, kept: int, new: Collection[int]) -> bool:
        return states.explains(changes, before, now, kept=kept, new=new)

    async def evidence(self, folder_ref: str, epoch: str) -> dict[int, Evidence]:
        return await self._pool.run(folder_ref, evidence, folder_ref, epoch)

    def ref_of(self, folder_ref: str, epoch: str, number: int) -> str:
        return str(MailRef(folder_ref, int(epoch), number))

    async def identify(self, folder_ref: str, epoch: str, numbers: Sequence[int]) -> list[Identified]:
        return await self._pool.run(folder_ref, identify, folder_ref, epoch, list(numbers))

    async def bulk(
        self, folder_ref: str, epoch: str, numbers: Sequence[int], *, max_bytes: int
    ) -> AsyncGenerator[list[BulkMail], None]:
        name = await self._directory.name_of(folder_ref)
        async with aclosing(bulk(self._pool, folder_ref, name, epoch, numbers, max_bytes)) as batches:
            async for batch in batches:
                yield batch
