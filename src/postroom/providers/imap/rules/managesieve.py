"""ManageSieve: scripts stored and run by the server. Each call is one short conversation in a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
from sievelib.managesieve import Error

from postroom.model.errors import (
    InvalidRequest,
    NotFound,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    Unsupported,
)
from postroom.providers.imap.rules.sievelib_internals import SieveClient
from postroom.providers.imap.session.auth import Credentials

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scripts:
    """`active` is the name of the script that runs; empty when none does."""

    names: tuple[str, ...]
    active: str


class SieveScripts:
    """The account's scripts. Unsupported without `sieve_host`."""

    def __init__(self, account: ImapAccount, credentials: Credentials | None = None) -> None:
        self._account = account
        self._credentials = credentials or Credentials(account)

    async def list(self) -> Scripts:
        return await self._run(_listed)

    async def get(self, name: str) -> str:
        return str(await self._run(lambda client: _found(client.getscript(name))))

    async def check(self, script: str) -> None:
        """InvalidRequest with the server's complaint when it does not accept the script."""
        await self._run(lambda client: _accepted(client.checkscript(script), client))

    async def put(self, name: str, script: str) -> None:
        """Stores the script under that name, replacing an older one. It does not run until activated."""
        await self._run(lambda client: _accepted(client.putscript(name, script), client))

    async def activate(self, name: str) -> None:
        """From now on this one runs; an empty name stops them all."""
        await self._run(lambda client: _found(client.setactive(name) or None))

    async def delete(self, name: str) -> None:
        """Not the active one: activate another or none first."""
        await self._run(lambda client: _found(client.deletescript(name) or None))

    async def _run(self, work: Callable[[Any], T]) -> T:
        if not self._account.sieve_host:
            raise Unsupported("imap", "server-side rules (sieve_host is not set)")
        return await anyio.to_thread.run_sync(_conversation, self._account, self._credentials, work)


def _conversation(account: ImapAccount, credentials: Credentials, work: Callable[[Any], T]) -> T:
    client = SieveClient(account)
    try:
        client.log_in(credentials)
        result = work(client)
        client.logout()
    except PostroomError:
        raise
    except (Error, OSError):
        raise ProviderUnavailable("The ManageSieve server is unreachable or disconnected. Try again later.") from None
    finally:
        client.hang_up()
    return result


def _listed(client: Any) -> Scripts:
    listing = client.listscripts()
    if listing is None:
        raise ProviderError("The ManageSieve server did not list its scripts.")
    active, others = listing
    return Scripts(tuple(sorted({name for name in (active, *others) if name})), active or "")


def _accepted(answer: bool, client: Any) -> None:
    if not answer:
        complaint = client.errmsg.decode("utf-8", "replace")[:300] if client.errmsg else "no reason given"
        raise InvalidRequest(f"The server does not accept the Sieve script: {complaint}", details={"field": "script"})


def _found(answer: Any) -> Any:
    if answer is None:
        raise NotFound("The server has no such Sieve script, or it is in use. List the scripts.")
    return answer
