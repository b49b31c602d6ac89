"""Setting up an embedded mailbox: nothing to find, nothing to log in to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.providers.setup import Proposal, Table, Wishes

if TYPE_CHECKING:
    from postroom.providers.discovery.finding import Reach
    from postroom.settings import LocalAccount


class LocalSetup:
    def early(self, wishes: Wishes) -> Table:
        return {}

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        return Proposal({})

    def shown(self, account: LocalAccount) -> list[str]:
        return [f"mailbox  {account.path}"]
