"""ManageSieve: scripts kept and run by the server. Each call is one short conversation in a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

from postroom.model.errors import (
    AuthRequired,
    InvalidRequest,
    NotFound,
    PostroomError,
    ProviderUnavailable,
    Unsupported,
)
from postroom.providers.imap.auth import bearer_response, secret_of, tls_context

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
        return await self._run(lambda client: _required(client.getscript(name), client))

    async def check(self, script: str) -> None:
        """InvalidRequest with the server's complaint when it would not take the script."""
        await self._run(lambda client: _accepted(client.checkscript(script), client))

    async def put(self, name: str, script: str) -> None:
        """Keeps the script under that name, in place of an older one. It does not run until activated."""
        await self._run(lambda client: _accepted(client.putscript(name, script), client))

    async def activate(self, name: str) -> None:
        """From now on this one runs; an empty name stops them all."""
        await self._run(lambda client: _required(client.setactive(name) or None, client))

    async def delete(self, name: str) -> None:
        await self._run(lambda client: _required(client.deletescript(name) or None, client))

    async def _run(self, work: Callable[[Any], T]) -> T:
        if not self._account.sieve_host:
            raise Unsupported("imap", "server-side rules (sieve_host is not set)")
        return await anyio.to_thread.run_sync(_conversation, self._account, work)


def _conversation(account: ImapAccount, work: Callable[[Any], T]) -> T:
    from sievelib.managesieve import Error

    client = _client(account)
    try:
        if not client.connect(account.username, secret_of(account), **_manner(account)):
            raise AuthRequired("The ManageSieve server refused the login. Check username and secrets of this account.")
        result = work(client)
        client.logout()
    except PostroomError:
        raise
    except (Error, OSError):
        raise ProviderUnavailable("The ManageSieve server cannot be reached or hung up. Try again later.") from None
    finally:
        if client.sock is not None:
            client.sock.close()
            client.sock = None
    return result


def _manner(account: ImapAccount) -> dict[str, Any]:
    mechanism = "PLAIN" if account.auth == "password" else account.auth.upper()
    return {
        "ssl": account.sieve_security == "tls",
        "starttls": account.sieve_security == "starttls",
        "authmech": mechanism,
    }


def _client(account: ImapAccount) -> Any:
    """sievelib's client with our certificates, our timeout, and bearer tokens as the mechanisms spell them."""
    import base64
    import warnings

    from sievelib.managesieve import Client

    class OwnClient(Client):  # type: ignore[misc]
        read_timeout = account.timeout

        def connect(self, *args: Any, **kwargs: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "none" is the operator's choice
                return super().connect(*args, **kwargs)

        # The names its parent calls: Python writes a class's private names out in full.
        def _Client__enable_ssl(self, keyfile: Any = None, certfile: Any = None) -> None:  # noqa: N802
            self.sock = tls_context(account).wrap_socket(self.sock, server_hostname=account.sieve_host)

        def _xoauth2_authentication(self, login: bytes, password: bytes, authz_id: bytes = b"") -> bool:
            return self._bearer("xoauth2", login, password)

        def _oauthbearer_authentication(self, login: bytes, password: bytes, authz_id: bytes = b"") -> bool:
            return self._bearer("oauthbearer", login, password)

        def _bearer(self, mechanism: str, login: bytes, token: bytes) -> bool:
            first = base64.b64encode(bearer_response(mechanism, login.decode(), token.decode()))
            code, _ = self._Client__send_command("AUTHENTICATE", [mechanism.upper().encode(), first])
            return bool(code == "OK")

    return OwnClient(account.sieve_host, account.sieve_port)


def _listed(client: Any) -> Scripts:
    active, others = client.listscripts()
    names = sorted({name for name in (active, *others) if name})
    return Scripts(tuple(names), active or "")


def _accepted(answer: bool | None, client: Any) -> None:
    if not answer:
        complaint = client.errmsg.decode("utf-8", "replace")[:300] if client.errmsg else "no reason given"
        raise InvalidRequest(f"The server does not accept the Sieve script: {complaint}", details={"field": "script"})


def _required(answer: Any, client: Any) -> Any:
    if answer is None:
        raise NotFound("The server has no Sieve script of that name.")
    return answer

