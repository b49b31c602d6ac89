"""The IMAP mailbox: each method decides which folders are concerned and runs a function on a connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from postroom.model.address import Address
from postroom.model.capabilities import Capabilities
from postroom.model.changes import Announced, Hits, Rest
from postroom.model.draft import Identity, SavedDraft
from postroom.model.errors import NotFound, PostroomError, ProviderError, ProviderUnavailable, Unsupported
from postroom.model.folder import Folder, RenamedFolder, Role
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag, In, Node, Query
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.folders import listing
from postroom.providers.imap.folders.directory import Directory
from postroom.providers.imap.mail import drafts, organising, reading
from postroom.providers.imap.mail.concurrency import concurrently, each_folder
from postroom.providers.imap.mail.refs import UIDS, MailRef, by_folder, in_renamed, read_ref
from postroom.providers.imap.rules.verbs import ScriptVerbs
from postroom.providers.imap.search import searching, threads
from postroom.providers.imap.search.moved import MovedVerbs
from postroom.providers.imap.session.auth import Credentials
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.detecting import PROVIDER, detect
from postroom.providers.imap.session.pool import Pool
from postroom.providers.imap.sync.verbs import SyncVerbs
from postroom.providers.imap.watching import announced, watch

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.settings.accounts import ImapAccount


# Where answered messages usually are: without a folder of all messages, and with one.
_ANSWERED = {False: (Role.INBOX, Role.SENT, Role.ARCHIVE), True: (Role.ALL, Role.SENT)}


class ImapMailbox(ScriptVerbs, SyncVerbs, MovedVerbs):
    """Mailbox, RawAccess, Threads, BatchFetch, Drafts, Labels, FolderMaker, Rules, Vacations, Numbered, IdLookup,
    MovedLookup, FolderSync and Watcher over a small pool of connections."""

    def __init__(self, account: ImapAccount, context: ProviderContext) -> None:
        self._account = account
        self.credentials = Credentials(account, proxies=context.proxies)
        self._pool = Pool(account, self.credentials)
        self._directory = Directory(self._pool)
        super().__init__(account, context.home)
        self._readers = anyio.CapacityLimiter(8)
        self._capabilities: Capabilities | None = None

    async def connect(self) -> Capabilities:
        if self._capabilities is None:
            found = await self._pool.run("INBOX", detect, self._account)
            self._capabilities = replace(found, has_vacation=found.can_send and await self.script.can_reply())
        return self._capabilities

    async def close(self) -> None:
        await self._pool.close()

    async def identities(self) -> list[Identity]:
        return [Identity(Address(self._account.address, self._account.display_name), is_default=True)]

    # Folders

    async def known_folders(self) -> list[Folder]:
        """Without counting what is in them."""
        return await self._directory.known()

    async def folders(self) -> list[Folder]:
        return await self._directory.counted()

    async def create_folder(self, name: str) -> Folder:
        try:
            return await self._pool.run_once("", listing.create_folder, name)
        finally:
            self._directory.forget()

    async def delete_folder(self, folder_ref: str) -> None:
        try:
            await self._pool.run_once("", listing.delete_folder, folder_ref)
        finally:
            self._directory.forget()

    async def rename_folder(self, folder_ref: str, level: str) -> RenamedFolder:
        try:
            return await self._pool.run_once("", listing.rename_folder, folder_ref, level)
        except ProviderUnavailable as lost:
            renamed = await self._found_renamed(folder_ref, level) if lost.reason == "connection_lost" else None
            if renamed is None:
                raise
            return renamed
        finally:
            self._pool.drop_idle()  # those that have it open know it by the old name
            self._directory.forget()

    async def _found_renamed(self, folder_ref: str, level: str) -> RenamedFolder | None:
        with suppress(ProviderUnavailable):  # then it stays unclear
            return await self._pool.run("", listing.found_renamed, folder_ref, level)
        return None

    def ref_after_rename(self, ref: str, folders: Mapping[str, str]) -> str:
        return in_renamed(ref, folders)

    # Reading

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        places = await self._directory.places(query)
        if len(places) == 1:
            return await self._page_of(*places[0], required=query.names_folder, limit=limit, offset=offset)
        found = await self._find(places, required=query.names_folder, wanted=offset + limit + 1)
        page, total, has_more = searching.merged(found, limit=limit, offset=offset)
        rows = await self.envelopes([str(hit.ref) for hit in page])
        return Page(tuple(row for row in rows if row is not None), total, limit, offset, has_more)

    async def search_rest(self, query: Query, rest: Sequence[Rest], *, wanted: int) -> Hits:
        parts = {part.folder_ref: part for part in rest}
        places = [
            (*place, parts[place[0].ref]) for place in await self._directory.places(query) if place[0].ref in parts
        ]
        found = await self._find(places, required=query.names_folder, refused_too=False, wanted=wanted)
        return searching.newest(found, wanted)

    async def _find(
        self, places: Sequence[tuple[Any, ...]], *, required: bool, wanted: int, refused_too: bool = True
    ) -> list[searching.Hits]:
        """`places` are the arguments of `searching.find`."""
        found: list[searching.Hits] = [searching.Hits((), 0)] * len(places)

        async def look(index: int, folder: Folder, *rest: Any) -> None:
            async with self._if_there(required=required, refused_too=refused_too):
                found[index] = await self._pool.run(folder.ref, searching.find, folder, *rest, wanted=wanted)

        await concurrently([partial(look, index, *place) for index, place in enumerate(places)])
        return found

    async def _page_of(self, folder: Folder, node: Node, *, required: bool, limit: int, offset: int) -> Page[Envelope]:
        async with self._if_there(required=required):
            return await self._pool.run(folder.ref, searching.find_page, folder, node, limit=limit, offset=offset)
        return Page((), 0, limit, offset, has_more=False)

    @asynccontextmanager
    async def _if_there(self, *, required: bool = False, refused_too: bool = True) -> AsyncGenerator[None, None]:
        """For one folder of many: one that was removed since the listing counts as empty, and so does one that the
        server lists and refuses to open without a reason: perhaps nobody may read it. Unless `refused_too`, that is
        known to be otherwise."""
        try:
            yield
        except (NotFound, ProviderUnavailable) as error:
            is_refused = bool(error.refused_folder) and not error.details and refused_too
            if required or not (isinstance(error, NotFound) or is_refused):
                raise
            self._directory.forget()

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        found: dict[str, Envelope] = {}

        async def look(folder: str, group: list[MailRef]) -> None:
            found.update(
                await self._pool.run(folder, reading.envelopes, folder, await self._directory.name_of(folder), group)
            )

        await concurrently([partial(look, folder, group) for folder, group in by_folder(refs).items()])
        return [found.get(ref) for ref in refs]

    async def fetch(self, ref: str) -> Message:
        folder = read_ref(ref).folder
        name = await self._directory.name_of(folder)
        fetched = await self._pool.run(folder, reading.fetch, ref, name)
        return await anyio.to_thread.run_sync(reading.opened, fetched, name, limiter=self._readers)

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        """One FETCH per folder gets most messages whole; only larger ones are fetched separately."""
        found: dict[str, Message] = {}

        async def look(folder: str, group: list[MailRef]) -> None:
            name = await self._directory.name_of(folder)
            for fetched in await self._pool.run(folder, reading.fetch_all, folder, group, name):
                found[str(fetched.line.ref)] = await anyio.to_thread.run_sync(
                    reading.opened, fetched, name, limiter=self._readers
                )

        await concurrently([partial(look, folder, group) for folder, group in by_folder(refs).items()])
        return [found.get(ref) for ref in refs]

    async def fetch_raw(self, ref: str) -> bytes:
        return await self._pool.run(read_ref(ref).folder, reading.fetch_raw, ref)

    async def fetch_part(self, ref: str, part: str) -> bytes:
        return await self._pool.run(read_ref(ref).folder, reading.fetch_part, ref, part)

    async def thread(self, thread_ref: str) -> list[Envelope]:
        """Round by round: what names the thread's first message, then what names those, until nothing new is found."""
        if not thread_ref.startswith("<"):
            return await self._alone(thread_ref)
        rows: dict[str, Envelope] = {}
        new, seen = {thread_ref}, set[str]()
        for _ in range(threads.MAX_ROUNDS):
            rows.update(await self._related(new))
            seen |= new
            new = threads.links(rows.values()) - seen
            if not new or not rows:
                break
        if not rows:
            raise NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
        ordered = sorted(rows.values(), key=lambda row: row.date or threads.UNDATED)
        return [replace(row, thread_ref=thread_ref) for row in ordered]

    async def mails_with_ids(self, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        """In a few folders: searching all would make reading a message as expensive as reading its thread."""
        here, known = read_ref(near).folder, await self._directory.known()
        has_all = any(folder.role == Role.ALL for folder in known)
        places = [folder for folder in known if folder.ref == here or folder.role in _ANSWERED[has_all]]
        found: list[Envelope] = []

        async def look(folder: Folder) -> None:
            async with self._if_there():
                found.extend(await self._pool.run(folder.ref, threads.with_ids, folder, message_ids))

        await concurrently([partial(look, folder) for folder in places if message_ids])
        return found

    async def _related(self, ids: set[str]) -> dict[str, Envelope]:
        """A message in several folders is found in the first of them."""
        places = await self._directory.sources()
        found: list[dict[str, Envelope]] = [{}] * len(places)

        async def look(index: int, folder: Folder) -> None:
            async with self._if_there():
                found[index] = await self._pool.run(folder.ref, threads.related, folder, ids)

        await concurrently([partial(look, index, folder) for index, folder in enumerate(places)])
        return {key: row for rows in reversed(found) for key, row in rows.items()}

    async def _alone(self, ref: str) -> list[Envelope]:
        """A message without Message-ID is a thread by itself, identified by its own ref."""
        (row,) = await self.envelopes([ref])
        if row is None:
            raise NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
        return [row]

    # Organising

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        async def change(folder: str, group: list[MailRef]) -> organising.Results:
            return await self._pool.run_again(folder, organising.claim_flags, folder, group, add)

        return await each_folder(refs, change)

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        await self._directory.require(folder_ref)

        async def change(folder: str, group: list[MailRef]) -> organising.Results:
            if folder == folder_ref:
                return await self._pool.run(folder, organising.stay, folder, group)
            return await self._pool.run_once(folder, organising.move, folder, group, folder_ref)

        return await each_folder(refs, change)

    async def labels(self) -> list[str]:
        self._needs_labels()
        found: set[str] = set()

        async def look(folder: Folder) -> None:
            async with self._if_there():
                found.update(await self._pool.run(folder.ref, _labels_in, folder))

        self._directory.forget()  # a new label is a new folder at some servers
        await concurrently([partial(look, folder) for folder in await self._directory.known()])
        return sorted(found, key=str.casefold)

    async def apply_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        return await self._label(refs, label, wanted=True)

    async def remove_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        return await self._label(refs, label, wanted=False)

    async def _label(self, refs: Sequence[str], label: str, *, wanted: bool) -> list[ItemResult]:
        self._needs_labels()

        async def change(folder: str, group: list[MailRef]) -> organising.Results:
            return await self._pool.run_again(folder, organising.set_label, folder, group, label, wanted)

        return await each_folder(refs, change)

    async def forget_label(self, label: str) -> None:
        await self._pool.run_once("", organising.forget_label, label)
        self._directory.forget()

    def _needs_labels(self) -> None:
        if self._capabilities is not None and not self._capabilities.can_label:
            raise Unsupported(PROVIDER, "labels")

    # Drafts

    async def list_drafts(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        folder = await self._directory.with_role(Role.DRAFTS)
        page = await self.search(Query(In(folder.ref)), limit=limit, offset=offset)
        items = tuple((drafts.saved(row), row) for row in page.items)
        return Page(items, page.total, limit, offset, page.has_more)

    async def create_draft(self, raw: bytes, *, thread_ref: str = "") -> SavedDraft:
        folder = await self._directory.with_role(Role.DRAFTS)
        return await self._pool.run_once(folder.ref, drafts.append, folder.ref, raw)

    async def update_draft(self, draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        folder = await self._directory.with_role(Role.DRAFTS)
        await self._pool.run(folder.ref, drafts.find, folder.ref, draft_ref)
        new = await self._pool.run_once(folder.ref, drafts.append, folder.ref, raw)
        try:
            await self._discard(folder, draft_ref)
        except PostroomError as error:
            raise ProviderError(
                "The new version of the draft is saved, but the old one could not be removed. List the drafts."
            ) from error
        return new

    async def find_draft(self, draft_ref: str) -> SavedDraft:
        folder = await self._directory.with_role(Role.DRAFTS)
        return await self._pool.run(folder.ref, drafts.find, folder.ref, draft_ref)

    async def delete_draft(self, draft_ref: str) -> None:
        folder = await self._directory.with_role(Role.DRAFTS)
        await self._pool.run(folder.ref, drafts.find, folder.ref, draft_ref)
        await self._discard(folder, draft_ref)

    async def _discard(self, folder: Folder, draft_ref: str) -> None:
        trash = next((known.ref for known in await self._directory.known() if known.role == Role.TRASH), "")
        await self._pool.run_again(folder.ref, drafts.discard, folder.ref, draft_ref, trash)

    # Numbers

    async def uid_of(self, ref: str) -> int:
        return read_ref(ref).uid

    async def mail_with_uid(self, uid: int, folder_ref: str) -> Envelope | None:
        if uid not in UIDS:
            return None  # servers refuse to search for these
        validity = await self._pool.run(folder_ref, _validity_of, folder_ref)
        (found,) = await self.envelopes([str(MailRef(folder_ref, validity, uid))])
        return found

    # For the transport of the same account

    async def file_sent(self, raw: bytes, message_id: str) -> str:
        """The ref of the copy in Sent. Servers that file submitted messages have put one there themselves."""
        folder = await self._directory.with_role(Role.SENT)
        there = await self.find_sent(message_id)
        if there:
            return there
        return (await self._pool.run_once(folder.ref, drafts.append, folder.ref, raw, ("\\Seen",))).ref

    async def find_sent(self, message_id: str) -> str:
        """The ref of the message with that Message-ID in Sent; empty when there is none."""
        folder = await self._directory.with_role(Role.SENT)
        found = await self._pool.run(folder.ref, organising.newest_with_id, folder.ref, message_id)
        return str(found) if found else ""

    # For whoever watches

    def changes(self) -> AsyncGenerator[str, None]:
        return watch(self._account, self.credentials, "INBOX")

    def announced(self, *, max_bytes: int) -> AsyncGenerator[Announced, None]:
        return announced(self._account, self.credentials, "INBOX", max_bytes=max_bytes)


def _validity_of(session: Session, folder: str) -> int:
    return session.open(folder).validity


def _labels_in(session: Session, folder: Folder) -> Iterable[str]:
    return flavour_of(session).known_labels(session, folder)
