"""The provider's own ids. Each is an opaque text: it is compared and handed on as it came, never taken apart.

An id does not say whose it is, and two accounts may use the same ones (IMAP's), so it is kept for whom it was shown.
Where an account is named, the id must not be one that was only shown for others; where none is, it is the default
account's: a dialect that names none shows no other's, and an id that a move has voided there may be valid elsewhere.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from postroom.model.draft import SavedDraft
from postroom.model.errors import NotFound, PostroomError
from postroom.model.ids import Kind
from postroom.service.gateway import Gateway
from postroom.service.ids.handles import FEW
from postroom.store.handles import Handle

MAX_CHARS = 1024


class ByProviderId:
    def tidy(self, shown: str) -> str:
        return shown  # blanks at its ends may belong to it, such as those of a folder's name

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
        """Handles are issued beside them: they keep which account an id was shown for."""
        handles = gateway.store.handles
        if handles.known(account, wanted) is None:
            await gateway.in_thread(handles.issue_each, account, wanted)
        return [list(refs) for refs in wanted.values()]

    async def show_draft(self, gateway: Gateway, account: str, saved: SavedDraft) -> tuple[str, str, str]:
        refs = {Kind.DRAFT: [saved.ref], Kind.EMAIL: [saved.message_ref], Kind.THREAD: [saved.thread_ref]}
        await self.show(gateway, account, refs)
        return saved.ref, saved.message_ref, saved.thread_ref

    def show_moved(self, new_ref: str) -> str:
        return new_ref

    async def find(
        self, gateway: Gateway, kind: Kind, shown: Sequence[str], account: str | None
    ) -> list[Handle | PostroomError]:
        handles = gateway.store.handles  # a read of a few is quicker done than handed to a thread
        owners = (
            handles.owners(kind, shown) if len(shown) <= FEW else await gateway.in_thread(handles.owners, kind, shown)
        )

        def found(one: str) -> Handle | PostroomError:
            try:
                if owners.get(one) == []:  # shown for a mailbox that its account's name stood for before
                    raise _invalid(one)
                visible = [owner for owner in owners.get(one, []) if gateway.accounts.may_see(owner)]
                return _checked(gateway, one, visible, account)
            except PostroomError as error:
                return error

        return [found(one) for one in shown]

    async def handles_of(self, gateway: Gateway, account: str, mails: Mapping[str, str]) -> list[str]:
        return await gateway.in_thread(gateway.store.handles.issue, Kind.EMAIL, account, list(mails.values()))


def _checked(gateway: Gateway, shown: str, owners: Sequence[str], account: str | None) -> Handle:
    if not shown or len(shown) > MAX_CHARS or any(unicodedata.category(char) in ("Cc", "Cs") for char in shown):
        raise _invalid(shown)
    wanted = gateway.accounts.named(account).name
    if owners and wanted not in owners:
        gateway.accounts.require(owners[0], account, shown)
    return Handle(wanted, shown)


def _invalid(shown: str) -> NotFound:
    return NotFound(
        f"{shown[:40]!r} is not a valid id. List or search again to get a current one.",
        reason="unknown_id",
        details={"id": shown[:40]},
    )
