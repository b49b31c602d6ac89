"""Setting up an account: what a person said, what one kind of provider makes of it, and what would be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from postroom.providers.discovery.found import Found

if TYPE_CHECKING:
    from postroom.providers.discovery.finding import Reach
    from postroom.settings import AccountSettings

Table = Mapping[str, Any]
CLIENT_ID_LATER = "asked-later"  # stands in the plan of an account until a person has named the client id


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person said about the account. Whatever is empty is found out; a named `host` ends the search."""

    address: str
    provider: str = "imap"
    name: str = ""
    display_name: str = ""
    username: str = ""
    auth: str = "password"
    host: str = ""
    port: int = 0
    security: str = ""
    smtp_host: str = ""
    smtp_port: int = 0
    smtp_security: str = ""
    ca_file: Path | None = None
    oauth: bool = False
    client_id: str = ""
    client_secret_env: str = ""
    client_secret_file: Path | None = None

    def client(self) -> dict[str, str]:
        """The `oauth` keys that say who asks for a login."""
        said = {"client_id": self.client_id or CLIENT_ID_LATER, "client_secret_env": self.client_secret_env}
        if self.client_secret_file is not None:
            said["client_secret_file"] = str(self.client_secret_file.expanduser().absolute())
        return {key: value for key, value in said.items() if value}


@dataclass(frozen=True, slots=True)
class Proposal:
    """`table` holds the keys of this kind. `found` is None where nothing was looked for."""

    table: Table
    usernames: tuple[str, ...] = ()
    found: Found | None = None


class AccountSetup(Protocol):
    """How an account of one kind is set up. The registry has one per kind."""

    def early(self, wishes: Wishes) -> Table:
        """What is certain before anything is looked for: it is checked first, so that a mistake costs no waiting."""
        ...

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        """NotFound or InvalidRequest says what to name when something is missing."""
        ...

    def shown(self, account: AccountSettings) -> list[str]:
        """Where the mail and the secret will go, in lines for a person."""
        ...
