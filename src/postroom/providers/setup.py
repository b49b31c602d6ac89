"""Setting up an account: what the user entered, what the provider makes of it, and what would be written."""

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
CLIENT_ID_LATER = "asked-later"  # placeholder until the user has entered the client id


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user entered about the account. Empty fields are discovered; a given `host` skips discovery."""

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
    base_url: str = ""

    def client(self) -> dict[str, str]:
        """The `oauth` keys that identify the client."""
        said = {"client_id": self.client_id or CLIENT_ID_LATER, "client_secret_env": self.client_secret_env}
        if self.client_secret_file is not None:
            said["client_secret_file"] = str(self.client_secret_file.expanduser().absolute())
        return {key: value for key, value in said.items() if value}


@dataclass(frozen=True, slots=True)
class Proposal:
    """`table` holds the keys of this kind. `found` is None without discovery."""

    table: Table
    usernames: tuple[str, ...] = ()
    found: Found | None = None


class AccountSetup(Protocol):
    """How an account of one kind is set up. The registry has one per kind."""

    def early(self, wishes: Wishes) -> Table:
        """What is known before discovery; checked first, so that a mistake is reported without waiting."""
        ...

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        """NotFound or InvalidRequest says which option to give when something is missing."""
        ...

    def shown(self, account: AccountSettings) -> list[str]:
        """Which servers the mail and the secret will go to, as lines to display."""
        ...
