"""Setting up an account at a REST mail API: its URL is given, since nothing announces such a service."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest
from postroom.providers.setup import Proposal, Table, Wishes

if TYPE_CHECKING:
    from postroom.providers.discovery.finding import Reach
    from postroom.settings import RestAccount

_USED = ("address", "provider", "name", "display_name", "username", "base_url")


class RestSetup:
    def early(self, wishes: Wishes) -> Table:
        plain = Wishes(**{name: getattr(wishes, name) for name in _USED})
        unused = [field.name for field in fields(wishes) if getattr(wishes, field.name) != getattr(plain, field.name)]
        if unused:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
            raise InvalidRequest(f"A REST mail API has no use for {flags}. Leave that out.")
        if not wishes.base_url:
            raise InvalidRequest("Give the URL of the mail API with --base-url, such as https://mail.example.com.")
        return {"base_url": wishes.base_url}

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        return Proposal(self.early(wishes), (wishes.username or wishes.address,))

    def shown(self, account: RestAccount) -> list[str]:
        return [f"mail API  {account.base_url}"]
