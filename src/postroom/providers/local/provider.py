"""The embedded mailbox behind the provider interface. Methods run in worker threads: a locked file never blocks the
event loop, and a method that has begun is finished even when its caller is cancelled. Only where little is to be read
that does not wait for anything, the event loop reads it itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio.to_thread

from postroom.index import folders, labels, placing, rows, search, threads, writing
from postroom.index.database import Database
from postroom.model.address import Address, parse_address
from postroom.model.capabilities import Capabilities
from postroom.model.draft import Identity, SavedDraft
from postroom.model.errors import Conflict, PostroomError
from postroom.model.folder import Folder, RenamedFolder
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag, Query
from postroom.providers.context import ProviderContext
from postroom.providers.local import adding, contents, convert, drafts, identities
from postroom.providers.local.convert import NewMail, Prepared
from postroom.providers.local.neighbourhood import Neighbourhood, mailbox_path
from postroom.providers.local.reading_ahead import ahead, prepared, prepared_blocks
from postroom.providers.local.schema import SCHEMA
from postroom.providers.local.transport import LocalTransport
from postroom.providers.local.watching import watch
from postroom.sqlite.at_once import AtOnce

if TYPE_CHECKING:
    from postroom.settings import LocalAccount

__all__ = ["LocalMailbox", "LocalTransport", "NewMail"]

P = ParamSpec("P")
R = TypeVar("R")

_FEW = 50  # messages that the event loop looks up itself
_SMALL = 48 * 1024  # bytes of messages that it parses itself: twenty milliseconds for the worst found

CAPABILITIES = Capabilities(
    provider="local",
    can_draft=True,
    can_send=True,
    can_label=True,
    can_create_folder=True,
    can_rename_folder=True,
    can_create_alias=True,
    has_threading=True,
    has_raw=True,
    has_push=True,
    has_uids=True,
    max_attachment_size_mb=25,
)


class _TooMuch(Exception):
    """For the event loop."""


class LocalMailbox:
    """Mailbox and every optional protocol except ManyFolders and Rules, over one file."""

    def __init__(self, account: LocalAccount, context: ProviderContext) -> None:
        self._account = account
        self._database = Database(mailbox_path(account, context), SCHEMA, read_only=context.read_only)
        self.neighbourhood = Neighbourhood(account, self._database, context)
        # Three queues: writers that wait for a locked file must not keep readers from a thread, nor must
        # messages that take long to read.
        self._readers = anyio.CapacityLimiter(8)
        self._writers = anyio.CapacityLimiter(4)
        self._thinkers = anyio.CapacityLimiter(8)
        self._at_once = AtOnce()

    async def connect(self) -> Capabilities:
        await anyio.to_thread.run_sync(self._database.open, limiter=self._writers)
        return CAPABILITIES

    async def close(self) -> None:
        await anyio.to_thread.run_sync(self.neighbourhood.close, limiter=self._writers)

    # --- reading

    async def folders(self) -> list[Folder]:
        return await self._read(folders.list_folders)

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        return await self._glance(
            lambda _: search.is_quick(query, offset),
            partial(search.search, query=query, limit=limit, offset=offset),
        )

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        return await self._glance(lambda _: len(refs) <= _FEW, partial(rows.envelopes, refs=refs))

    async def fetch(self, ref: str) -> Message:
        found = await self._glance(_are_small(ref), partial(convert.fetched, ref=ref))
        return found if isinstance(found, Message) else await self._aside(found)

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        found = await self._glance(_are_small(*refs), partial(convert.fetched_all, refs=refs))
        return found if isinstance(found, list) else await self._aside(found)

    async def fetch_raw(self, ref: str) -> bytes:
        return await self._read(contents.content, ref)

    async def fetch_part(self, ref: str, part: str) -> bytes:
        return await self._read(convert.open_part, ref, part)

    async def thread(self, thread_ref: str) -> list[Envelope]:
        return await self._glance(
            lambda connection: threads.are_short(connection, [threads.current(connection, thread_ref)], _FEW),
            partial(threads.thread_envelopes, thread_ref=thread_ref),
        )

    async def mails_with_ids(self, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        return await self._glance(
            lambda connection: threads.are_short(connection, threads.linked(connection, message_ids), _FEW),
            partial(threads.mails_with_ids, message_ids=message_ids),
        )

    def changes(self) -> AsyncGenerator[str, None]:
        return watch(partial(self._read, folders.revisions))

    async def unreachable(self, recipients: Sequence[str]) -> list[str]:
        """Only local accounts have a mailbox here."""

        def without_mailbox() -> list[str]:
            return [email for email in recipients if self.neighbourhood.mailbox_of(email) is None]

        return await self._aside(without_mailbox)

    # --- organising

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        return await self._write(writing.set_flags, refs, add)

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        return await self._write(placing.move, refs, folder_ref)

    async def labels(self) -> list[str]:
        return await self._read(labels.list_labels)

    async def apply_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        return await self._write(writing.apply_label, refs, label)

    async def remove_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        return await self._write(writing.remove_label, refs, label)

    async def forget_label(self, label: str) -> None:
        await self._write(labels.forget_label, label)

    async def create_folder(self, name: str) -> Folder:
        return await self._write(adding.make_folder, name)

    async def delete_folder(self, folder_ref: str) -> None:
        await self._write(folders.remove_folder, folder_ref)

    async def rename_folder(self, folder_ref: str, level: str) -> RenamedFolder:
        return await self._write(folders.rename_folder, folder_ref, level)

    # --- drafts

    async def list_drafts(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        return await self._read(drafts.list_drafts, limit, offset)

    async def create_draft(self, raw: bytes, *, thread_ref: str = "") -> SavedDraft:
        return await self._write(drafts.create_draft, await self._aside(drafts.as_draft, raw), thread_ref)

    async def update_draft(self, draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        draft = await self._aside(drafts.as_draft, raw)
        return await self._write(drafts.update_draft, draft_ref, draft, thread_ref, version)

    async def find_draft(self, draft_ref: str) -> SavedDraft:
        return await self._read(drafts.find_draft, draft_ref)

    async def delete_draft(self, draft_ref: str) -> None:
        await self._write(drafts.delete_draft, draft_ref)

    # --- numbers

    async def uid_of(self, ref: str) -> int:
        return int(ref)

    async def mail_with_uid(self, uid: int, folder_ref: str) -> Envelope | None:
        (found,) = await self.envelopes([str(uid)])
        names = {folder.name for folder in await self.folders() if folder.ref == folder_ref}
        return found if found is not None and names.intersection(found.folders) else None

    # --- identities

    async def identities(self) -> list[Identity]:
        own = Identity(Address(self._account.address, self._account.display_name), is_default=True)
        return [own, *await self._read(identities.list_aliases)]

    async def create_alias(self, address: Address, signature_html: str) -> Identity:
        """An address already used in this gateway is refused: its messages would be misdelivered."""
        parse_address(address.email)
        taken = await self._aside(self.neighbourhood.mailbox_of, address.email)
        if taken is not None:
            raise Conflict("This address already belongs to an account. Choose another one.")
        return await self._write(identities.add_alias, address, signature_html)

    # --- filling

    async def add_message(
        self,
        raw: bytes,
        folder: str = "INBOX",
        flags: Sequence[Flag] = (),
        labels: Sequence[str] = (),
        date: datetime | None = None,
    ) -> str:
        """Returns the new message's ref. See `NewMail` for what the arguments mean."""
        mail = await self._aside(convert.prepare, NewMail(raw, folder, flags, labels, date))
        return await self._write(adding.add_one, mail)

    async def add_messages(self, mails: Iterable[NewMail], *, skip_known: bool = False) -> list[str]:
        """Block by block, in order. The iterable is consumed in a thread, so it may read files, and somewhat ahead of
        what is on disk. With `skip_known` a message whose exact bytes are already stored gets an empty ref."""
        refs: list[str] = []
        async with aclosing(ahead(prepared_blocks(mails))) as blocks:
            async for block in blocks:
                refs += await self.add_prepared(block, skip_known=skip_known)
        return refs

    async def add_to_empty(self, mails: Iterable[NewMail]) -> list[str]:
        """One transaction: all of them where this mailbox is empty, else none."""
        block = await self._aside(lambda: list(prepared(mails)))
        return await self._write(adding.add_to_empty, block)

    async def add_prepared(self, block: Sequence[Prepared], *, skip_known: bool = False) -> list[str]:
        """One transaction: all of them or none."""
        return await self._write(adding.add_block, block, skip_known=skip_known)

    async def _aside(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """For slow work without file access: it blocks no reader or writer."""
        return await anyio.to_thread.run_sync(partial(work, *args, **kwargs), limiter=self._thinkers)

    async def _glance(self, is_little: Callable[[Connection], bool], verb: Callable[[Connection], R]) -> R:
        """On the event loop where that is little, else in a thread; there, too, where it failed, so that whatever is
        wrong with the file is waited for and told in one way."""

        def glanced() -> R:
            with self._database.snapshot(waits=False) as connection:
                if not is_little(connection):
                    raise _TooMuch
                return verb(connection)

        if self._at_once.is_advisable:
            with suppress(_TooMuch, PostroomError):
                return self._at_once.timed(glanced)
        return await self._read(verb)

    async def _read(self, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        def run() -> R:
            with self._database.snapshot() as connection:
                return verb(connection, *args, **kwargs)

        return await anyio.to_thread.run_sync(run, limiter=self._readers)

    async def _write(self, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        def run() -> R:
            with self._database.transaction() as connection:
                return verb(connection, *args, **kwargs)

        return await anyio.to_thread.run_sync(run, limiter=self._writers)


def _are_small(*refs: str) -> Callable[[Connection], bool]:
    return lambda connection: len(refs) <= _FEW and rows.are_small(connection, refs, _SMALL)
