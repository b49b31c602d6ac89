"""Short handles: they know their account, outlive a move and never come to mean another message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroom.model.draft import SavedDraft
from postroom.model.errors import InvalidRequest, PostroomError, ProviderUnavailable
from postroom.model.ids import Kind, is_handle
from postroom.service.gateway import Gateway
from postroom.store.handles import Handle, unknown

MAX_CHARS = 40
FEW = 20  # ids that are looked up without a thread


class ByHandle:
    def tidy(self, shown: str) -> str:
        if len(shown.strip()) > MAX_CHARS:
            raise InvalidRequest(
                "email_id contains a value longer than any id. Use ids as list_emails or search_emails returned them.",
                reason="unknown_id",
                details={"field": "email_id"},
            )
        return shown.strip().lower()

    def names_mail(self, thread_id: str) -> bool:
        return is_handle(thread_id, Kind.EMAIL)

    async def show(
        self,
        gateway: Gateway,
        account: str,
        wanted: Mapping[Kind, Sequence[str]],
        folders: Sequence[str] = (),
        conversations: Mapping[str, str] | None = None,
    ) -> list[list[str]]:
        """For what was seen before, a read that waits for nobody is quicker done than handed to a thread."""
        if refs := wanted.get(Kind.THREAD):  # all messages of a conversation have one thread id, where that is known
            names = await _conversations(gateway, account, refs) if conversations is None else conversations
            wanted = {**wanted, Kind.THREAD: [names.get(ref, ref) for ref in refs]}
        known = gateway.store.handles.known(account, wanted)
        return (
            known if known is not None else await gateway.in_thread(gateway.store.handles.issue_each, account, wanted)
        )

    async def show_draft(self, gateway: Gateway, account: str, saved: SavedDraft) -> tuple[str, str, str]:
        refs = {Kind.DRAFT: [saved.ref], Kind.EMAIL: [saved.message_ref], Kind.THREAD: [saved.thread_ref]}
        (draft_id,), (email_id,), (thread_id,) = await self.show(gateway, account, refs)
        return draft_id, email_id, thread_id

    def show_moved(self, new_ref: str) -> str:
        return ""

    async def find(
        self, gateway: Gateway, kind: Kind, shown: Sequence[str], account: str | None
    ) -> list[Handle | PostroomError]:
        def found(one: str, *, waits: bool = True) -> Handle | PostroomError:
            try:
                handle = gateway.store.handles.resolve(one, kind, waits=waits)
                if not gateway.accounts.may_see(handle.account):
                    return unknown(one, kind)
                gateway.accounts.require(handle.account, account, one)
            except PostroomError as error:
                return error
            return handle

        if len(shown) <= FEW:  # see `show`
            at_once = [found(one, waits=False) for one in shown]
            if not any(isinstance(one, ProviderUnavailable) for one in at_once):  # or else the file is locked
                return at_once
        return await gateway.in_thread(lambda: [found(one) for one in shown])

    async def handles_of(self, gateway: Gateway, account: str, mails: Mapping[str, str]) -> list[str]:
        return list(mails)


async def _conversations(gateway: Gateway, account: str, refs: Sequence[str]) -> Mapping[str, str]:
    opened = gateway.accounts.already_open(account)
    if opened is None or opened.conversations is None:
        return {}
    return await opened.conversations.conversation_names(refs)


BY_HANDLE = ByHandle()
