"""ManageSieve: scripts stored and run by the server. Each call is one short conversation in a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

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
from postroom.providers.http.unclear import UnclearWrite
from postroom.providers.imap.rules.sievelib_internals import SieveClient
from postroom.providers.imap.session.auth import Credentials

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

T = TypeVar("T")
_LOST = (Error, OSError, ValueError, LookupError)  # the latter two from sievelib, for what is no ManageSieve


@dataclass(frozen=True, slots=True)
class Scripts:
    """`active` is the name of the script that runs; empty when none does."""

    names: tuple[str, ...]
    active: str


class Conversation:
    """What can be said to the server after login. `has_written`: from then on, a lost connection leaves it open what
    was done."""

    def __init__(self, client: SieveClient) -> None:
        self._client = client
        self.has_written = False

    @property
    def extensions(self) -> frozenset[str]:
        return self._client.extensions

    def list(self) -> Scripts:
        listing = self._client.listed()
        if listing is None:
            raise ProviderError("The ManageSieve server did not list its scripts.")
        names, active = listing
        return Scripts(tuple(sorted(names)), active)

    def get(self, name: str) -> str:
        found = self._client.getscript(name)
        if found is None:
            raise _missing()
        return str(found)

    def check(self, script: str) -> None:
        """InvalidRequest with the server's complaint when it does not accept the script. Servers before RFC 5804 cannot
        tell: they say it when the script is put."""
        with suppress(NotImplementedError):
            self._accepted(self._client.checkscript(script))

    def put(self, name: str, script: str) -> None:
        """Stores the script under that name, replacing an older one. It does not run until activated."""
        self.has_written = True
        self._accepted(self._client.putscript(name, script))

    def activate(self, name: str) -> None:
        """From now on this one runs; an empty name stops them all."""
        self.has_written = True
        if not self._client.setactive(name):
            raise _missing()

    def delete(self, name: str) -> None:
        """Not the active one: activate another or none first."""
        self.has_written = True
        if not self._client.deletescript(name):
            raise _missing()

    def _accepted(self, answer: bool) -> None:
        if not answer:
            said = self._client.errmsg
            complaint = said.decode("utf-8", "replace")[:300] if said else "no reason given"
            raise InvalidRequest(
                f"The server does not accept the Sieve script: {complaint}", details={"field": "script"}
            )


class SieveScripts:
    """The account's scripts. Unsupported without `sieve_host`."""

    def __init__(self, account: ImapAccount, credentials: Credentials | None = None) -> None:
        self._account = account
        self._credentials = credentials or Credentials(account)

    async def list(self) -> Scripts:
        return await self.run(Conversation.list)

    async def get(self, name: str) -> str:
        return await self.run(lambda server: server.get(name))

    async def check(self, script: str) -> None:
        await self.run(lambda server: server.check(script))

    async def put(self, name: str, script: str) -> None:
        await self.run(lambda server: server.put(name, script))

    async def activate(self, name: str) -> None:
        await self.run(lambda server: server.activate(name))

    async def delete(self, name: str) -> None:
        await self.run(lambda server: server.delete(name))

    async def run(self, work: Callable[[Conversation], T]) -> T:
        if not self._account.sieve_host:
            raise Unsupported("imap", "server-side rules (sieve_host is not set)")
        return await anyio.to_thread.run_sync(_conversation, self._account, self._credentials, work)

    async def offers(self, extension: str) -> bool:
        """As its greeting says, before any login. A server that cannot be asked is given the benefit of the doubt: what
        is wanted of it later says what is the matter."""
        if not self._account.sieve_host:
            return False
        return await anyio.to_thread.run_sync(_greeted, self._account, extension)


def _greeted(account: ImapAccount, extension: str) -> bool:
    client = SieveClient(account)
    try:
        client.greet()
    except (*_LOST, PostroomError):
        return True
    finally:
        client.hang_up()
    return extension in client.extensions


def _conversation(account: ImapAccount, credentials: Credentials, work: Callable[[Conversation], T]) -> T:
    client = SieveClient(account)
    server = Conversation(client)
    try:
        client.log_in(credentials)
        result = work(server)
        client.take_leave()
    except PostroomError:
        raise
    except _LOST:
        if server.has_written:
            raise UnclearWrite("The ManageSieve server", "hung up") from None
        raise ProviderUnavailable("The ManageSieve server is unreachable or disconnected. Try again later.") from None
    finally:
        client.hang_up()
    return result


def _missing() -> NotFound:
    return NotFound("The server has no such Sieve script, or it is in use. List the scripts.")
