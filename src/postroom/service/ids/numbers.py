"""Numbers within a folder: the provider's own (IMAP's UIDs), or where it has none, numbers that the store hands out.

As text an id is ``17``, or ``17:Archive`` where the folder is not the usual one: messages are looked for in the inbox,
drafts in the drafts folder. A number that means nothing there is an error, never another message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroom.model.draft import SavedDraft
from postroom.model.errors import NotFound, PermissionDenied, PostroomError
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.providers.protocol import Drafts
from postroom.service.accounts.folders import folders_of, pick_folder
from postroom.service.gateway import Account, Gateway
from postroom.service.ids.handles import BY_HANDLE
from postroom.store.handles import Handle

NUMBERS = range(1, 2**32)  # what a UID can be (RFC 9051, 2.3.1.1)
_PAGE = 100


def within(folder: str, number: int) -> str:
    """The id of the message of that number in that folder."""
    return f"{number}:{folder}"


class ByNumber:
    def tidy(self, shown: str) -> str:
        return shown.strip()

    def names_mail(self, thread_id: str) -> bool:
        return False

    async def show(
        self,
        gateway: Gateway,
        account: str,
        wanted: Mapping[Kind, Sequence[str]],
        folders: Sequence[str] = (),
        conversations: Mapping[str, str] | None = None,
    ) -> list[list[str]]:
        """Numbers for messages; threads have handles here too. `folders` names where each message was listed."""
        opened = await gateway.accounts.open(account)
        others: dict[Kind, Sequence[str]] = {kind: refs for kind, refs in wanted.items() if kind is not Kind.EMAIL}
        handles = dict(zip(others, await BY_HANDLE.show(gateway, account, others, (), conversations), strict=True))
        numbers = await _numbers(gateway, opened, wanted.get(Kind.EMAIL, ()), folders)
        return [list(map(str, numbers)) if kind is Kind.EMAIL else handles[kind] for kind in wanted]

    async def show_draft(self, gateway: Gateway, account: str, saved: SavedDraft) -> tuple[str, str, str]:
        """A draft is called by the number of the message inside it."""
        opened = await gateway.accounts.open(account)
        refs = {Kind.EMAIL: [saved.message_ref], Kind.THREAD: [saved.thread_ref]}
        folders = [] if opened.capabilities.has_uids else [(await _drafts_folder(opened)).ref]
        (number,), (thread_id,) = await self.show(gateway, account, refs, folders)
        return number, number, thread_id

    def show_moved(self, new_ref: str) -> str:
        return ""  # it has another number, in another folder: list that

    async def find(
        self, gateway: Gateway, kind: Kind, shown: Sequence[str], account: str | None
    ) -> list[Handle | PostroomError]:
        if kind not in (Kind.EMAIL, Kind.DRAFT):
            return await BY_HANDLE.find(gateway, kind, shown, account)
        opened = await gateway.accounts.open(account)
        found: list[Handle | PostroomError] = []
        for one in shown:
            try:
                ref = await (_draft_ref if kind is Kind.DRAFT else _mail_ref)(gateway, opened, one)
                found.append(Handle(opened.name, ref))
            except PostroomError as error:
                found.append(error)
        return found

    async def handles_of(self, gateway: Gateway, account: str, mails: Mapping[str, str]) -> list[str]:
        return await gateway.in_thread(gateway.store.handles.issue, Kind.EMAIL, account, list(mails.values()))


async def _numbers(gateway: Gateway, account: Account, refs: Sequence[str], folders: Sequence[str]) -> list[int]:
    if account.capabilities.has_uids:
        return [await account.numbered.uid_of(ref) for ref in refs]
    known = await folders_of(account)
    keys = [_key(known, name) for name in folders]
    issued: dict[tuple[str, str], int] = {}
    for key in dict.fromkeys(keys):
        inside = [ref for ref, folder in zip(refs, keys, strict=True) if folder == key]
        numbers = await gateway.in_thread(gateway.store.numbers.issue, account.name, key, inside)
        issued |= {(key, ref): number for ref, number in zip(inside, numbers, strict=True)}
    return [issued[key, ref] for ref, key in zip(refs, keys, strict=True)]


def _key(folders: list[Folder], name: str) -> str:
    found = match_folder(folders, name)
    return found.ref if found else name


async def _mail_ref(gateway: Gateway, account: Account, shown: str) -> str:
    text, _, name = shown.partition(":")
    folder = await pick(account, name or Role.INBOX.value)
    envelope = await _mail(gateway, account, folder, text)
    if envelope is None:
        raise NotFound(
            f"There is no message {text[:40]} in the folder {folder.name}. List the folder to see its numbers.",
            reason="unknown_id",
            details={"id": text[:40]},
        )
    return envelope.ref


async def _draft_ref(gateway: Gateway, account: Account, shown: str) -> str:
    drafts = account.drafts  # an account without drafts says so, whatever the number
    envelope = await _mail(gateway, account, await _drafts_folder(account), shown)
    if envelope is None:
        raise PermissionDenied(
            f"There is no draft {shown[:40]} in the drafts folder.", reason="not_a_draft", details={"id": shown[:40]}
        )
    return await _draft_of(drafts, envelope.ref)


async def pick(account: Account, name: str) -> Folder:
    return pick_folder(account, await folders_of(account), name)


async def _drafts_folder(account: Account) -> Folder:
    found = next((folder for folder in await folders_of(account) if folder.role is Role.DRAFTS), None)
    if found is None:
        raise NotFound(
            "This account has no Drafts folder. Call list_folders to see what there is.",
            reason="folder_role_missing",
            details={"role": Role.DRAFTS.value},
        )
    return found


async def _mail(gateway: Gateway, account: Account, folder: Folder, text: str) -> Envelope | None:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) in NUMBERS):
        return None
    if account.capabilities.has_uids:
        return await account.numbered.mail_with_uid(int(text), folder.ref)
    ref = await gateway.in_thread(gateway.store.numbers.resolve, account.name, folder.ref, int(text))
    envelope = (await account.mailbox.envelopes([ref]))[0] if ref else None
    return envelope if envelope is not None and folder.name in (envelope.folder, *envelope.labels) else None


async def _draft_of(drafts: Drafts, message_ref: str) -> str:
    """Most providers name a draft as they name the message inside it; where they do not, it is looked for."""
    try:
        return (await drafts.find_draft(message_ref)).ref
    except NotFound:
        offset, has_more = 0, True
    while has_more:
        page = await drafts.list_drafts(limit=_PAGE, offset=offset)
        for saved, _ in page.items:
            if saved.message_ref == message_ref:
                return saved.ref
        offset, has_more = offset + _PAGE, page.has_more
    raise PermissionDenied("The message is not a draft.", reason="not_a_draft")
