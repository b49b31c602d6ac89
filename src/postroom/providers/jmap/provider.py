"""The JMAP mailbox: each method decides what is concerned and leaves the work to the module for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from postroom.model.address import Address
from postroom.model.capabilities import Capabilities
from postroom.model.changes import ChangePage
from postroom.model.draft import Identity, SavedDraft
from postroom.model.errors import Unsupported
from postroom.model.folder import Folder, RenamedFolder, Role
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag, Query
from postroom.model.rule import Rule, RuleSet
from postroom.model.vacation import Vacation
from postroom.providers.jmap import changes
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.drafts import DraftFolder
from postroom.providers.jmap.folders import Directory
from postroom.providers.jmap.identities import Identities
from postroom.providers.jmap.organising import Organiser
from postroom.providers.jmap.reading import Reader
from postroom.providers.jmap.rules import ServerRules
from postroom.providers.jmap.session import Session
from postroom.providers.jmap.vacation import VacationReply
from postroom.providers.jmap.wire import MAIL, PROVIDER, SIEVE, SUBMISSION, VACATION

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.settings.accounts import JmapAccount

_ENCODED = 1.37  # base64 with its line breaks


class JmapMailbox:
    """Mailbox, RawAccess, Threads, BatchFetch, Drafts, Labels, ManyFolders, FolderMaker, AliasMaker, Rules, Vacations,
    IdLookup, Changes and Watcher."""

    def __init__(self, account: JmapAccount, context: ProviderContext) -> None:
        self.client = JmapClient(account, context)
        self.directory = Directory(self.client)
        self.reader = Reader(self.client, self.directory)
        self.drafts = DraftFolder(self.client, self.directory, self.reader)
        self.senders = Identities(self.client, Address(account.address, account.display_name))
        self._organiser = Organiser(self.client, self.directory, self.reader)
        self._rules = ServerRules(self.client)
        self.vacation_reply = VacationReply(self.client)
        self._capabilities: Capabilities | None = None

    async def connect(self) -> Capabilities:
        if self._capabilities is None:
            session = await self.client.session()
            can_send = SUBMISSION in session.offers and not session.is_read_only
            self._capabilities = _capabilities(
                session,
                can_send=can_send,
                can_create_alias=can_send and await self.senders.can_create(),
                has_push=await changes.has_events(self.client),
            )
        return self._capabilities

    async def close(self) -> None:
        await self.client.close()

    async def identities(self) -> list[Identity]:
        return await self.senders.known()

    async def create_alias(self, address: Address, signature_html: str) -> Identity:
        await self._require("can_create_alias", "creating aliases")
        return await self.senders.create(address, signature_html)

    # Folders

    async def folders(self) -> list[Folder]:
        return await self.directory.counted()

    async def create_folder(self, name: str) -> Folder:
        await self._require("can_create_folder", "creating folders")
        return await self.directory.create(name)

    async def delete_folder(self, folder_ref: str) -> None:
        await self._require("can_create_folder", "creating folders")
        await self.directory.delete(folder_ref)

    async def rename_folder(self, folder_ref: str, level: str) -> RenamedFolder:
        await self._require("can_rename_folder", "renaming folders")
        return await self.directory.rename(folder_ref, level)

    # Reading

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        return await self.reader.search(query, limit=limit, offset=offset)

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        return await self.reader.envelopes(refs)

    async def fetch(self, ref: str) -> Message:
        return await self.reader.fetch(ref)

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        return await self.reader.fetch_many(refs)

    async def fetch_raw(self, ref: str) -> bytes:
        return await self.reader.raw_of(await self.reader.email(ref))

    async def fetch_part(self, ref: str, part: str) -> bytes:
        return await self.reader.fetch_part(ref, part)

    async def thread(self, thread_ref: str) -> list[Envelope]:
        return await self.reader.thread(thread_ref)

    async def mails_with_ids(self, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        return await self.reader.with_ids(message_ids)

    # Organising

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        return await self._organiser.set_flags(refs, add)

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        return await self._organiser.move(refs, folder_ref)

    async def put_into(self, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        return await self._organiser.put_into(refs, folder_refs)

    async def labels(self) -> list[str]:
        await self._require("can_label", "labels")
        return await self._organiser.labels()

    async def apply_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        await self._require("can_label", "labels")
        return await self._organiser.label(refs, label, wanted=True)

    async def remove_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        await self._require("can_label", "labels")
        return await self._organiser.label(refs, label, wanted=False)

    # Drafts

    async def list_drafts(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        await self._require("can_draft", "drafts")
        return await self.drafts.page(limit=limit, offset=offset)

    async def create_draft(self, raw: bytes, *, thread_ref: str = "") -> SavedDraft:
        await self._require("can_draft", "drafts")
        return await self.drafts.create(raw)

    async def update_draft(self, draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        await self._require("can_draft", "drafts")
        return await self.drafts.update(draft_ref, raw)

    async def find_draft(self, draft_ref: str) -> SavedDraft:
        await self._require("can_draft", "drafts")
        return await self.drafts.find(draft_ref)

    async def delete_draft(self, draft_ref: str) -> None:
        await self._require("can_draft", "drafts")
        await self.drafts.delete(draft_ref)

    # Rules

    async def list_rules(self) -> RuleSet:
        await self._require("has_server_side_rules", "rules")
        return await self._rules.kept()

    async def check_rules(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        await self._require("has_server_side_rules", "rules")
        return await self._rules.check(rules, await self.directory.known())

    async def put_rules(self, rules: Sequence[Rule]) -> None:
        await self._require("has_server_side_rules", "rules")
        await self._rules.put(rules, await self.directory.known())

    async def activate_rules(self, active: bool) -> None:
        await self._require("has_server_side_rules", "rules")
        await self._rules.activate(active)

    # The vacation reply

    async def vacation(self) -> Vacation:
        await self._require("has_vacation", "vacation replies")
        return await self.vacation_reply.read()

    async def check_vacation(self, wanted: Vacation) -> str:
        await self._require("has_vacation", "vacation replies")
        return await self.vacation_reply.check(wanted)

    async def stop_vacation(self) -> None:
        await self._require("has_vacation", "vacation replies")
        await self.vacation_reply.stop()

    # Changes

    async def changed_since(self, cursor: str, *, limit: int) -> ChangePage:
        return await changes.changed_since(self.client, cursor, limit=limit)

    async def changes(self) -> AsyncGenerator[str, None]:
        await self._require("has_push", "change notifications")
        inbox = await self.directory.with_role(Role.INBOX)
        async for name in changes.watch(self.client, inbox.name):
            yield name

    async def _require(self, capability: str, feature: str) -> None:
        if not getattr(await self.connect(), capability):
            raise Unsupported(PROVIDER, feature)


def _capabilities(session: Session, *, can_send: bool, can_create_alias: bool, has_push: bool) -> Capabilities:
    can_write = not session.is_read_only
    return Capabilities(
        PROVIDER,
        can_draft=can_write,
        can_send=can_send,
        can_label=can_write,
        can_create_folder=can_write,
        can_rename_folder=can_write,
        has_many_folders=True,
        can_create_alias=can_create_alias,
        has_threading=True,
        has_raw=True,
        has_server_side_rules=SIEVE in session.offers,
        has_vacation=can_send and VACATION in session.offers,
        has_push=has_push,
        has_delta=True,
        max_attachment_size_mb=_largest_attachment(session),
        burst=int(session.limits["maxConcurrentRequests"]),
        paces_itself=True,
        changes_at_once=int(min(session.limits["maxObjectsInSet"], 500)),
    )


def _largest_attachment(session: Session) -> int | None:
    told = session.offers[MAIL].get("maxSizeAttachmentsPerEmail")
    sizes = [int(session.limits["maxSizeUpload"] / _ENCODED), *([told] if isinstance(told, int) and told > 0 else [])]
    return max(1, min(sizes) // 2**20)
