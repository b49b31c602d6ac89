"""The REST mail API behind the provider interface."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from postroom.model.address import Address
from postroom.model.capabilities import Capabilities
from postroom.model.draft import Identity
from postroom.model.errors import Conflict, NotFound, PermissionDenied, PostroomError
from postroom.model.folder import Folder, Role, check_folder_name
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag, Query
from postroom.providers.context import ProviderContext
from postroom.providers.http.concurrency import settled
from postroom.providers.rest import convert, wire
from postroom.providers.rest.client import RestClient
from postroom.providers.rest.details import MOST_FAILED, DetailCache, may_be_its_own_fault
from postroom.providers.rest.places import Placed, Places
from postroom.providers.rest.search import Searcher, plain_listing

if TYPE_CHECKING:
    from postroom.settings import RestAccount

CAPABILITIES = Capabilities(provider="rest", can_send=True, can_create_folder=True)
# Shown where neither the settings nor the token say whose mailbox it is; no message carries it.
UNKNOWN = Address("unknown@address.invalid", "the address of this token")


class RestMailbox:
    """Mailbox, ContentFetch and FolderMaker. The API has no drafts, labels, threads or original messages."""

    def __init__(self, account: RestAccount, context: ProviderContext) -> None:
        self.account = account
        self.client = RestClient(account, context)
        self._places = Places(self.client)
        self._details = DetailCache(self.client)
        self._searcher = Searcher(self.client, self._details, self._places)
        self._folders: list[Folder] = []

    async def connect(self) -> Capabilities:
        await self.folders()
        return CAPABILITIES

    async def close(self) -> None:
        await self.client.close()

    # --- reading

    async def folders(self) -> list[Folder]:
        self._folders = convert.folders(await self.client.mailboxes())
        return self._folders

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        """For a listing the folders are those that were read last; one that is not among them may be new."""
        known = self._folders if plain_listing(query) else []
        try:
            return await self._searcher.search(query, known or await self.folders(), limit, offset)
        except NotFound as error:
            if error.reason != "folder_unknown":
                raise
        return await self._searcher.search(query, await self.folders(), limit, offset)

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        """From where they were seen last; only one that is not there any more is opened, to know whether it is gone."""
        placed = await self._places.near(refs)
        missing = [ref for ref in dict.fromkeys(refs) if ref not in placed]
        opened = await settled([partial(self._looked_for, ref) for ref in missing])
        placed |= {ref: one for ref, one in zip(missing, opened, strict=True) if not isinstance(one, PostroomError)}
        errors = {ref: one for ref, one in zip(missing, opened, strict=True) if isinstance(one, PostroomError)}
        placed |= await self._only_listed({ref: one for ref, one in errors.items() if not isinstance(one, NotFound)})
        shown = await self._searcher.envelopes([(row, mailbox) for mailbox, row in placed.values()])
        by_ref = dict(zip(placed, shown, strict=True))
        return [by_ref.get(ref) for ref in refs]

    async def fetch(self, ref: str) -> Message:
        found = await self.client.message(ref)
        mailbox, row = await self._place(ref, found)
        return await anyio.to_thread.run_sync(convert.message, found, row, mailbox)

    async def fetch_content(self, ref: str) -> Message:
        found = await self.client.message(ref)
        return await anyio.to_thread.run_sync(convert.message, found, convert.row_of(found, ref), "")

    async def fetch_part(self, ref: str, part: str) -> bytes:
        return convert.attachment_content(await self.client.message(ref), part)

    async def identities(self) -> list[Identity]:
        address = self.account.address or await self.client.claimed_address()
        own = Address(address, self.account.display_name) if address else UNKNOWN
        return [Identity(own, is_default=True)]

    async def _only_listed(self, errors: Mapping[str, PostroomError]) -> Placed:
        """Where the service lists those that it does not open. One that it refuses and lists nowhere is gone."""
        failed = {ref: error for ref, error in errors.items() if not isinstance(error, PermissionDenied)}
        for error in failed.values():
            if len(failed) > MOST_FAILED or not may_be_its_own_fault(error):
                raise error
        if not errors:
            return {}
        folders = self._folders or await self.folders()
        placed = await self._places.listed(errors, [folder.ref for folder in folders])
        for ref, error in failed.items():
            if ref not in placed:
                raise error
        return placed

    async def _looked_for(self, ref: str) -> tuple[str, wire.Row]:
        return await self._place(ref, await self.client.message(ref), is_near=False)

    async def _place(self, ref: str, found: dict[str, Any], *, is_near: bool = True) -> tuple[str, wire.Row]:
        """Mailbox and row of an opened message; where no mailbox lists it, as much as it says itself."""
        if is_near and (near := (await self._places.near([ref])).get(ref)):
            return near
        folders = self._folders or await self.folders()
        subject = wire.text(found, "subject")
        known = await self._places.anywhere(ref, subject, [folder.ref for folder in folders])
        return known or ("", convert.row_of(found, ref))

    # --- organising

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        adding = [name for flag in add for name in wire.FLAGS[flag][0]]
        removing = [name for flag in add for name in wire.FLAGS[flag][1]]
        done = await settled([partial(self.client.set_flags, ref, adding, removing) for ref in refs])
        return [_result(ref, one) for ref, one in zip(refs, done, strict=True)]

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        target = next((folder for folder in await self.folders() if folder.ref == folder_ref), None)
        if target is None:
            raise NotFound("There is no such folder. Call list_folders to see the folders.", reason="folder_unknown")
        done = await settled([partial(self._move, ref, target.ref) for ref in refs])
        there = [(one or ref) for ref, one in zip(refs, done, strict=True) if not isinstance(one, PostroomError)]
        self._places.moved(there, target.ref)
        return [_result(ref, one) for ref, one in zip(refs, done, strict=True)]

    async def _move(self, ref: str, mailbox: str) -> str:
        new_ref = await self.client.move(ref, mailbox)
        return new_ref if new_ref != ref else ""

    async def create_folder(self, name: str) -> Folder:
        name = unicodedata.normalize("NFC", name)
        check_folder_name(name)
        there = {folder.name.casefold() for folder in await self.folders()}
        if name.casefold() in there:
            raise Conflict("A folder with that name already exists.", reason="already_exists", details={"name": name})
        levels = name.split("/")
        for depth in range(1, len(levels) + 1):
            level = "/".join(levels[:depth])
            if level.casefold() not in there:
                await self.client.create_mailbox(level)
        return next((one for one in await self.folders() if one.name == name), Folder(name, name, None, 0, 0))

    async def delete_folder(self, folder_ref: str) -> None:
        """The API may delete a mailbox with all its messages: only an empty one is given to it."""
        folders = await self.folders()
        folder = next((one for one in folders if one.ref == folder_ref), None)
        if folder is None:
            raise NotFound("This folder no longer exists. Call list_folders to see the folders.")
        has_children = any(one.name.startswith(f"{folder.name}/") for one in folders)
        has_role = folder.role not in (None, Role.ARCHIVE)
        if has_children or has_role or folder.total or await self.client.page(folder.ref, limit=1):
            raise Conflict("The folder is not empty or is a system folder. Only empty folders can be removed.")
        await self.client.delete_mailbox(folder.ref)


def _result(ref: str, done: str | PostroomError | None) -> ItemResult:
    if isinstance(done, PostroomError):
        return ItemResult(ref, done)
    return ItemResult(ref, new_ref=done or "")
