"""Setting up a Microsoft account: no servers to find, a login on Microsoft's own page."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest
from postroom.providers.oauth.services import SERVICES
from postroom.providers.setup import Proposal, Table, Wishes

if TYPE_CHECKING:
    from postroom.providers.discovery.finding import Reach
    from postroom.settings import GraphAccount

_USED = frozenset(
    {"address", "provider", "name", "display_name", "oauth", "client_id", "client_secret_env", "client_secret_file"}
)


class GraphSetup:
    def early(self, wishes: Wishes) -> Table:
        plain = Wishes(wishes.address)
        given = [field.name for field in fields(wishes) if getattr(wishes, field.name) != getattr(plain, field.name)]
        if unused := [name for name in given if name not in _USED]:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
            raise InvalidRequest(f"A Microsoft account has no servers to set and no password. Leave out {flags}.")
        return self._table(wishes)

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        return Proposal(self._table(wishes), (wishes.address,))

    def shown(self, account: GraphAccount) -> list[str]:
        return [f"Graph    {account.base_url}"]

    def _table(self, wishes: Wishes) -> Table:
        return {"oauth": {"service": SERVICES["microsoft"].name, **wishes.client()}}
