"""The Gmail mailbox: which part of this package does what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from postroom.model.address import Address, masked
from postroom.model.capabilities import Capabilities
from postroom.model.draft import Identity, SavedDraft
from postroom.model.errors import PermissionDenied, Unsupported
from postroom.model.folder import Folder, RenamedFolder
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag, Query
from postroom.model.rule import Rule, RuleSet
from postroom.model.vacation import Vacation
from postroom.providers.gmail.changes import changed_since
from postroom.providers.gmail.mail import folders, identities
from postroom.providers.gmail.mail.drafts import DraftBox
from postroom.providers.gmail.mail.labels import MARKS, Labels, check_label
from postroom.providers.gmail.mail.organising import Organiser
from postroom.providers.gmail.mail.reading import Reader
from postroom.providers.gmail.rules import Filters
from postroom.providers.gmail.search.searching import Searcher
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import PER_CHANGE, PROVIDER, UNITS, Get, text_of
from postroom.providers.gmail.vacation import VacationReply

if TYPE_CHECKING:
    from postroom.model.changes import ChangePage
    from postroom.providers.context import ProviderContext
    from postroom.settings.accounts import GmailAccount

_GOOGLES = ("gmail.com", "googlemail.com")
CAPABILITIES = Capabilities(
    provider=PROVIDER,
    can_draft=True,
    can_send=True,
    can_label=True,
    can_create_folder=True,
    can_rename_folder=True,
    has_many_folders=True,
    has_threading=True,
    has_raw=True,
    has_server_side_rules=True,
    has_vacation=True,
    has_delta=True,
    max_attachment_size_mb=25,
    changes_at_once=PER_CHANGE,
)


class GmailMailbox:
    """Mailbox, RawAccess, Threads, BatchFetch, IdLookup, Drafts, Labels, ManyFolders, FolderNames, FolderMaker, Rules,
    Changes, AliasMaker, Vacations."""

    def __init__(self, account: GmailAccount, context: ProviderContext) -> None:
        self._account = account
        self.client = Client(account, context)
        self._labels = Labels(self.client)
        self.reader = Reader(self.client, self._labels)
        self.draft_box = DraftBox(self.client, self.reader)
        self._organiser = Organiser(self.client, self._labels, self.reader)
        self._searcher = Searcher(self.client, self._labels, self.reader)
        self._filters = Filters(self.client, self._labels)
        self.vacation_reply = VacationReply(self.client)
        self._is_checked = False

    async def connect(self) -> Capabilities:
        if not self._is_checked:
            await self.check_owner()
            self._is_checked = True
        return _capabilities(self._account)

    async def check_owner(self) -> None:
        """A token says nothing about its owner: it may be that of another of the person's accounts."""
        profile = await self.client.get(Get("profile", UNITS["profile"]))
        self.reader.known.begin(text_of(profile.get("historyId")))
        owner = Address(text_of(profile.get("emailAddress")))
        if _mailbox_of(owner) == _mailbox_of(Address(self._account.address)):
            return
        aliases = [Address(text_of(one.get("sendAsEmail"))).key for one in await identities.send_as(self.client)]
        if Address(self._account.address).key not in aliases:
            raise PermissionDenied(
                f"The login of account {self._account.name} opens the mailbox of {masked(owner.email)}, not the one of "
                f"{masked(self._account.address)}. Log in with the right one (postroom accounts login "
                f"{self._account.name}).",
                reason="wrong_account",
            )

    async def close(self) -> None:
        await self.client.close()

    async def identities(self) -> list[Identity]:
        return await identities.identities(self.client, self._account)

    async def create_alias(self, address: Address, signature_html: str) -> Identity:
        """Google lets only a service account with domain-wide delegation do this."""
        if not self._account.delegated:
            raise Unsupported(PROVIDER, "creating aliases")
        return await identities.create(self.client, self._account, address, signature_html)

    # --- reading

    async def folders(self) -> list[Folder]:
        return await self._labels.counted()

    def naming(self) -> int:
        return self._labels.naming

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        return await self._searcher.page(query, limit=limit, offset=offset)

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        return await self.reader.envelopes(refs)

    async def fetch(self, ref: str) -> Message:
        return await self.reader.fetch(ref)

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        return await self.reader.fetch_many(refs)

    async def fetch_raw(self, ref: str) -> bytes:
        return await self.reader.fetch_raw(ref)

    async def fetch_part(self, ref: str, part: str) -> bytes:
        return await self.reader.fetch_part(ref, part)

    async def thread(self, thread_ref: str) -> list[Envelope]:
        return [row.envelope for row in await self.reader.thread(thread_ref)]

    async def mails_with_ids(self, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        return await self._searcher.with_ids(message_ids)

    async def changed_since(self, cursor: str, *, limit: int) -> ChangePage:
        return await changed_since(self.client, cursor, limit=limit)

    # --- organising

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        return await self._organiser.set_flags(refs, add) if refs else []

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        return await self._organiser.move(refs, folder_ref)

    async def put_into(self, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        return await self._organiser.put_into(refs, folder_refs)

    async def labels(self) -> list[str]:
        return [label.name for label in (await self._labels.current()).own if label.name not in MARKS]

    async def apply_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        found = await self._labels.made(check_label(label))
        return await self._organiser.set_label(refs, found.id, wanted=True)

    async def remove_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        found = await self._labels.named(label)
        if found is None or found.name in MARKS:
            return await self._organiser.check(refs)
        return await self._organiser.set_label(refs, found.id, wanted=False)

    async def create_folder(self, name: str) -> Folder:
        return await folders.create(self._labels, name)

    async def delete_folder(self, folder_ref: str) -> None:
        await folders.delete(self.client, self._labels, folder_ref)

    async def rename_folder(self, folder_ref: str, level: str) -> RenamedFolder:
        return await folders.rename(self._labels, folder_ref, level)

    # --- drafts

    async def list_drafts(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        return await self.draft_box.listed(limit=limit, offset=offset)

    async def create_draft(self, raw: bytes, *, thread_ref: str = "") -> SavedDraft:
        return await self.draft_box.create(raw, thread_ref)

    async def update_draft(self, draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        return await self.draft_box.update(draft_ref, raw, thread_ref)

    async def find_draft(self, draft_ref: str) -> SavedDraft:
        return await self.draft_box.find(draft_ref)

    async def draft_refs(self, message_refs: Sequence[str]) -> dict[str, str]:
        return await self.draft_box.refs_of(message_refs)

    async def delete_draft(self, draft_ref: str) -> None:
        await self.draft_box.delete(draft_ref)

    # --- rules

    async def list_rules(self) -> RuleSet:
        return await self._filters.listed()

    async def check_rules(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        return await self._filters.lacking(rules)

    async def put_rules(self, rules: Sequence[Rule]) -> None:
        await self._filters.put(rules)

    async def activate_rules(self, active: bool) -> None:
        await self._filters.activate(active)

    # --- vacation reply

    async def vacation(self) -> Vacation:
        return await self.vacation_reply.read()

    async def check_vacation(self, wanted: Vacation) -> str:
        return ""  # Gmail takes all that can be asked for

    async def stop_vacation(self) -> None:
        await self.vacation_reply.stop()


def _mailbox_of(address: Address) -> str:
    """The same for all addresses of one mailbox. At gmail.com Google ignores dots and what follows a plus sign."""
    local, _, _ = address.key.rpartition("@")
    if address.domain not in _GOOGLES:
        return address.key
    return f"{local.partition('+')[0].replace('.', '')}@{_GOOGLES[0]}"


def _capabilities(account: GmailAccount) -> Capabilities:
    """Google's limit is in units; one request is that for a message, as most are. Half of it may be used at once."""
    per_minute = account.units_per_minute / UNITS["message"]
    return replace(
        CAPABILITIES,
        can_create_alias=account.delegated,
        requests_per_second=round(per_minute / 60, 1),
        burst=int(per_minute / 2),
        paces_itself=True,
    )
