"""ManageSieve: scripts kept and run by the server. Each call is one short conversation in a worker thread."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
from sievelib.managesieve import Client, Error

from postroom.model.errors import (
    AuthRequired,
    InvalidRequest,
    NotFound,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    Unsupported,
)
from postroom.providers.imap.session.auth import BearerAnswers, secret_of, tls_context

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

    def __init__(self, account: ImapAccount) -> None:
        self._account = account

    async def list(self) -> Scripts:
        return await self._run(_listed)

    async def get(self, name: str) -> str:
        return str(await self._run(lambda client: _found(client.getscript(name))))

    async def check(self, script: str) -> None:
        """InvalidRequest with the server's complaint when it would not take the script."""
        await self._run(lambda client: _accepted(client.checkscript(script), client))

    async def put(self, name: str, script: str) -> None:
        """Keeps the script under that name, in place of an older one. It does not run until activated."""
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
        return await anyio.to_thread.run_sync(_conversation, self._account, work)


def _conversation(account: ImapAccount, work: Callable[[Any], T]) -> T:
    client = _SieveClient(account)
    try:
        client.log_in()
        result = work(client)
        client.logout()
    except PostroomError:
        raise
    except (Error, OSError):
        raise ProviderUnavailable("The ManageSieve server cannot be reached or hung up. Try again later.") from None
    finally:
        client.hang_up()
    return result


class _SieveClient(Client):  # type: ignore[misc]  # sievelib has no types
    """sievelib's client with our certificates, our timeout, and refusals of tokens answered as they must be.

    The parent calls its private methods by the names Python gives them (``_Client__...``): so they are reached here.
    """

    def __init__(self, account: ImapAccount) -> None:
        super().__init__(account.sieve_host, account.sieve_port)
        self.sock: Any = None
        self._account = account

    def log_in(self) -> None:
        account = self._account
        mechanism = "PLAIN" if account.auth == "password" else account.auth.upper()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a plain connection is the operator's explicit choice
            accepted = self.connect(
                account.username,
                secret_of(account),
                ssl=account.sieve_security == "tls",
                starttls=account.sieve_security == "starttls",
                authmech=mechanism,
            )
        if not accepted:
            raise AuthRequired("The ManageSieve server refused the login. Check username and secrets of this account.")

    def hang_up(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def _Client__get_capabilities(self) -> bool:  # noqa: N802
        self.sock.settimeout(self._account.timeout)
        return bool(super()._Client__get_capabilities())

    def _Client__enable_ssl(self, keyfile: Any = None, certfile: Any = None) -> None:  # noqa: N802
        self.sock = tls_context(self._account).wrap_socket(self.sock, server_hostname=self._account.sieve_host)

    def _xoauth2_authentication(self, login: bytes, password: bytes, authz_id: bytes = b"") -> bool:
        return self._present_token("xoauth2", login, password)

    def _oauthbearer_authentication(self, login: bytes, password: bytes, authz_id: bytes = b"") -> bool:
        return self._present_token("oauthbearer", login, password)

    def _present_token(self, mechanism: str, login: bytes, token: bytes) -> bool:
        answers = BearerAnswers(mechanism, login.decode(), token.decode())
        words = [mechanism.upper().encode(), b64encode(answers(b""))]
        code, _ = self._Client__send_command("AUTHENTICATE", words, nblines=1)
        if code is None:  # the details of a refusal: they must be answered before it is said
            code, _ = self._Client__send_command(f'"{b64encode(answers(b"")).decode()}"')
        return bool(code == "OK")


def _listed(client: Any) -> Scripts:
    listing = client.listscripts()
    if listing is None:
        raise ProviderError("The ManageSieve server does not list its scripts.")
    active, others = listing
    return Scripts(tuple(sorted({name for name in (active, *others) if name})), active or "")


def _accepted(answer: bool, client: Any) -> None:
    if not answer:
        complaint = client.errmsg.decode("utf-8", "replace")[:300] if client.errmsg else "no reason given"
        raise InvalidRequest(f"The server does not accept the Sieve script: {complaint}", details={"field": "script"})


def _found(answer: Any) -> Any:
    if answer is None:
        raise NotFound("The server has no such Sieve script, or it is in use. List the scripts to see what there is.")
    return answer
