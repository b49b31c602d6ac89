"""Setting up an embedded mailbox: no discovery, no login."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest
from postroom.providers.setup import Proposal, Table, Wishes

if TYPE_CHECKING:
    from postroom.providers.discovery.finding import Reach
    from postroom.settings import LocalAccount


class LocalSetup:
    def early(self, wishes: Wishes) -> Table:
        plain = Wishes(wishes.address, wishes.provider, wishes.name, wishes.display_name)
        unused = [field.name for field in fields(wishes) if getattr(wishes, field.name) != getattr(plain, field.name)]
        if unused:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
            raise InvalidRequest(f"An embedded mailbox has no server and no login. Leave out {flags}.")
        return {}

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        return Proposal({})

    def shown(self, account: LocalAccount) -> list[str]:
        return [f"mailbox  {account.path}"]
