"""The mailbox: each verb of the interface, handed to the part that does it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from postroom.model.address import Address, masked
from postroom.model.capabilities import Capabilities
from postroom.model.changes import ChangePage
from postroom.model.draft import Identity, SavedDraft
from postroom.model.errors import AuthRequired, NotFound, PermissionDenied
from postroom.model.folder import Folder, RenamedFolder, Role
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag, In, Query
from postroom.model.rule import Rule, RuleSet
from postroom.model.vacation import Vacation
from postroom.providers.graph.changes import ChangeLog
from postroom.providers.graph.mail.drafts import DraftBox
from postroom.providers.graph.mail.folders import Directory
from postroom.providers.graph.mail.organising import Organiser
from postroom.providers.graph.mail.reading import PROVIDER, Reader
from postroom.providers.graph.rules import InboxRules
from postroom.providers.graph.search.searching import Searcher
from postroom.providers.graph.session.client import REQUESTS, Client
from postroom.providers.graph.session.wire import text, texts
from postroom.providers.graph.vacation import AutomaticReplies

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.settings.accounts import GraphAccount

_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_SHARED = (
    "This login may not open the mailbox of that address: somebody has to give it access there, and it needs the "
    "permissions for others' mailboxes (docs/providers/graph.md)."
)
_NOBODY = "Microsoft knows no mailbox of that address, or hides it from this login. Check the address."


class GraphMailbox:
    """Mailbox, RawAccess, Threads, BatchFetch, Drafts, Labels, FolderMaker, Rules, Vacations, IdLookup, Changes
    and SharedMailboxes over one login."""

    def __init__(self, account: GraphAccount, context: ProviderContext) -> None:
        self._account = account
        self._address = account.address
        self._is_shared = False
        self.own = frozenset({Address(account.address).key})  # and the aliases, once they are known
        self._use(Client(account, context))

    def _use(self, client: Client) -> None:
        self.client = client
        self.directory = Directory(client)
        self.reader = Reader(client, self.directory)
        self.draft_box = DraftBox(client, self.directory)
        self._searcher = Searcher(client, self.directory, self.reader)
        self._organiser = Organiser(client)
        self._rules = InboxRules(client, self.directory)
        self.vacation_reply = AutomaticReplies(client)
        self._changes = ChangeLog(client, self.directory)
        self._capabilities: Capabilities | None = None

    def shared_mailbox(self, address: str) -> GraphMailbox:
        other = object.__new__(GraphMailbox)
        other._account, other._address, other._is_shared = self._account, address, True
        other.own = frozenset({Address(address).key})
        other._use(self.client.of(address))
        return other

    async def connect(self) -> Capabilities:
        if self._capabilities is None:
            await self.check_login()
            self._capabilities = Capabilities(
                PROVIDER,
                can_draft=True,
                can_send=True,
                can_label=True,
                can_create_folder=True,
                can_rename_folder=True,
                has_threading=True,
                has_raw=True,
                has_server_side_rules=True,
                has_vacation=True,
                has_shared_mailboxes=not self._is_shared,
                has_delta=True,
                max_attachment_size_mb=150,
                requests_per_second=round(REQUESTS.per_second, 1),
                burst=int(REQUESTS.burst),
                paces_itself=True,
            )
        return self._capabilities

    async def check_login(self) -> None:
        """That there is a mailbox, and that it is the account's own."""
        await self._check_mailbox()
        if not self._is_shared:
            await self._check_owner()

    async def _check_mailbox(self) -> None:
        try:
            await self.directory.read_roles()
        except PermissionDenied as error:
            if self._is_shared:
                raise PermissionDenied(_NOT_SHARED, details={**error.details, "shared": True}) from None
            return  # a token that may send and not read: what else is asked of it is refused then
        if not await self.directory.ref_of(Role.INBOX):
            raise NotFound(_NOBODY)

    async def _check_owner(self) -> None:
        fields = "mail,userPrincipalName,proxyAddresses"
        try:
            user = await self.client.get("", {"$select": fields})
        except PermissionDenied:
            return  # a token that may read mail and nothing about its user
        proxies = [one.partition(":")[2] for one in texts(user.get("proxyAddresses"))]
        own = {
            Address(one).key for one in (text(user.get("mail")), text(user.get("userPrincipalName")), *proxies) if one
        }
        if own and Address(self._address).key not in own:
            shown = masked(text(user.get("mail")) or text(user.get("userPrincipalName")))
            raise AuthRequired(
                f"The login of account {self._account.name} belongs to another mailbox ({shown}). Log in with the "
                f"right one: postroom accounts login {self._account.name}",
                reason="login_refused",
            )
        self.own |= own

    async def close(self) -> None:
        await self.client.close()

    async def identities(self) -> list[Identity]:
        """The addresses of aliases can be seen, but Exchange sends from them only where an administrator allows it."""
        name = "" if self._is_shared else self._account.display_name
        return [Identity(Address(self._address, name), is_default=True)]

    # Folders

    async def folders(self) -> list[Folder]:
        return list(await self.directory.listed())

    async def create_folder(self, name: str) -> Folder:
        return await self.directory.create(name)

    async def delete_folder(self, folder_ref: str) -> None:
        await self.directory.delete(folder_ref)

    async def rename_folder(self, folder_ref: str, level: str) -> RenamedFolder:
        return await self.directory.rename(folder_ref, level)

    # Reading

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        return await self._searcher.search(query, limit=limit, offset=offset)

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
        rows = await self._searcher.in_conversation(thread_ref) if thread_ref else []
        if not rows:
            raise NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
        return sorted(rows, key=lambda row: row.date or _UNDATED)

    async def mails_with_ids(self, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        return await self._searcher.with_ids([one for one in message_ids if one])

    # Organising

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        return await self._organiser.set_flags(refs, add)

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        await self.directory.require(folder_ref)
        return await self._organiser.move(refs, folder_ref)

    async def labels(self) -> list[str]:
        return await self._organiser.labels()

    async def apply_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        return await self._organiser.label(refs, label, wanted=True)

    async def remove_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        return await self._organiser.label(refs, label, wanted=False)

    async def forget_label(self, label: str) -> None:
        await self._organiser.forget_label(label)

    # Drafts

    async def list_drafts(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
        folder = await self.directory.with_role(Role.DRAFTS)
        page = await self.search(Query(In(folder.ref)), limit=limit, offset=offset)
        items = tuple((SavedDraft(row.ref, row.ref, row.thread_ref), row) for row in page.items)
        return Page(items, page.total, limit, offset, page.has_more)

    async def create_draft(self, raw: bytes, *, thread_ref: str = "") -> SavedDraft:
        """Exchange finds the conversation by the message ids that a reply names."""
        return await self.draft_box.create(raw)

    async def update_draft(self, draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        return await self.draft_box.update(draft_ref, raw, version)

    async def find_draft(self, draft_ref: str) -> SavedDraft:
        return await self.draft_box.find(draft_ref)

    async def delete_draft(self, draft_ref: str) -> None:
        await self.draft_box.delete(draft_ref)

    # Rules, vacation reply, changes

    async def list_rules(self) -> RuleSet:
        return await self._rules.kept()

    async def check_rules(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        return await self._rules.check(rules)

    async def put_rules(self, rules: Sequence[Rule]) -> None:
        await self._rules.put(rules)

    async def activate_rules(self, active: bool) -> None:
        await self._rules.activate(active)

    async def vacation(self) -> Vacation:
        return await self.vacation_reply.read()

    async def check_vacation(self, wanted: Vacation) -> str:
        self.vacation_reply.check(wanted)
        return ""

    async def stop_vacation(self) -> None:
        await self.vacation_reply.stop()

    async def changed_since(self, cursor: str, *, limit: int) -> ChangePage:
        return await self._changes.since(cursor, limit=limit)
