"""Logging an account in on its service's own page: by this machine's browser, by another device, by pasting."""

from __future__ import annotations

import json
import os
import secrets as chance
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from postroom.model.errors import AuthRequired, InvalidRequest
from postroom.providers.http.answer import host_of
from postroom.providers.http.client import new_client
from postroom.providers.oauth.authorizing import Client, begin, finish, pasted_code
from postroom.providers.oauth.device import begin_on_device, finish_on_device
from postroom.providers.oauth.keeping import SECRET, Keeping, Login
from postroom.providers.oauth.loopback import listening
from postroom.providers.oauth.scopes import scopes_for
from postroom.providers.oauth.services import SERVICES, Service, service_of
from postroom.service.accounts.logins import switched_on
from postroom.settings import secrets
from postroom.settings.accounts import TokenAccount
from postroom.settings.mailboxes import secrets_name

if TYPE_CHECKING:
    import httpx2

    from postroom.providers.oauth.grants import Granted
    from postroom.settings import AccountSettings, Settings

__all__ = ["CLIENT_SECRET", "OAUTH", "Login", "Talk", "Way", "as_secrets", "keep_login", "log_in", "logs_in_by_oauth"]

OAUTH = SECRET
CLIENT_SECRET = "client_secret"  # noqa: S105 - the name it is kept under
Way = Literal["browser", "device", "paste"]
_EPHEMERAL = 49152  # the first port that belongs to nobody


@dataclass(frozen=True, slots=True)
class Talk:
    """How to talk to the person. `open_page` returns whether there is a browser here at all."""

    tell: Callable[[str], None]
    ask: Callable[[str], str]
    open_page: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Login:
    http: httpx2.AsyncClient
    service: Service
    client: Client
    scopes: Sequence[str]
    address: str
    talk: Talk


def logs_in_by_oauth(account: AccountSettings) -> bool:
    return getattr(account, "oauth", None) is not None


def how_to_get_a_client_id(service: str) -> tuple[str, ...]:
    known = SERVICES[service]
    return (f"You need a client ID of your own. Create it with {service}: {known.console}", known.clicks)


def wants_client_secret(service: str) -> bool:
    return SERVICES[service].wants_client_secret


def check_client_id(service: str, client_id: str) -> None:
    """Before it is shown on a page and in a browser's history: it is next to the secret where it is copied from."""
    prefix = SERVICES[service].secret_prefix
    if prefix and client_id.startswith(prefix):
        raise InvalidRequest(f"That is a client secret of {service}, not the client ID. Nothing was written.")
    if not client_id.isascii() or not client_id.isprintable() or " " in client_id:
        raise InvalidRequest("A client ID has no spaces or special characters. Copy it again. Nothing was written.")


async def log_in(
    account: AccountSettings, settings: Settings, way: Way, talk: Talk, *, client_secret: str | None = None
) -> Login:
    """Nothing is written. `client_secret` is one that was just asked for; else it is looked up."""
    oauth = account.oauth if isinstance(account, TokenAccount) else None
    if not isinstance(account, TokenAccount) or oauth is None:
        raise InvalidRequest(f"Account {account.name} does not use OAuth to log in.")
    secret = secrets.client_secret(account, oauth) if client_secret is None else client_secret
    toolsets = ("read", *switched_on(settings))  # a reply reads what it answers, a rule what it applies to
    scopes = account.scopes_at(oauth.scopes or scopes_for(oauth.service, account.provider, toolsets))
    async with new_client(proxies=settings.network.proxies) as http:
        login = _Login(http, service_of(oauth), Client(oauth.client_id, secret), scopes, account.address, talk)
        granted = await _WAYS[way](login)
    _check_scopes(login.service, scopes, granted)
    return Login(
        granted.access_token,
        time.time() + granted.lifetime,
        granted.refresh_token,
        issuer=host_of(login.service.token_url),
    )


def _check_scopes(service: Service, wanted: Sequence[str], granted: Granted) -> None:
    """A login that covers less would be found out one tool at a time."""
    if not service.names_scopes or not granted.scopes:
        return
    if missing := [scope.rpartition("/")[2] or scope for scope in wanted if scope not in granted.scopes]:
        raise AuthRequired(
            f"The login does not include {', '.join(missing)}. Log in again and check every box on the consent page, "
            "or switch off the toolsets that need it."
        )


def with_login(account: AccountSettings, login: Login) -> AccountSettings:
    """The account as it would be with this login, to be tried before anything is written."""
    return account.model_copy(update={"oauth": None, "token": SecretStr(login.access_token)})


def as_secrets(login: Login, client_secret: str) -> dict[str, str]:
    """What is to be kept, by name."""
    return {OAUTH: json.dumps(asdict(login)), **({CLIENT_SECRET: client_secret} if client_secret else {})}


async def keep_login(account: AccountSettings, login: Login, *, in_file: bool = False) -> str:
    """Not while a server renews the old one: it would write that over this."""
    keeping = Keeping(secrets_name(account), os.environ)
    async with keeping.alone():
        return keeping.write(login, in_file=in_file)


async def _by_browser(login: _Login) -> Granted:
    async with listening() as listener:
        redirect = listener.redirect_uri(login.service.redirect_host)
        attempt = begin(login.service, login.client, login.scopes, redirect, address=login.address)
        login.talk.tell(f"Log in on this page:\n{attempt.url}")
        if not login.talk.open_page(attempt.url):
            ways = "--paste or --device" if login.service.device_url else "--paste"
            login.talk.tell(f"Open it in a browser on this machine; for another machine use {ways}.")
        code = await listener.code(attempt)
    return await finish(login.http, attempt, code)


async def _by_pasting(login: _Login) -> Granted:
    """Nobody listens: the browser, on any machine, shows an error, and the code is in its address bar."""
    redirect = f"http://{login.service.redirect_host}:{_EPHEMERAL + chance.randbelow(16384)}/"
    attempt = begin(login.service, login.client, login.scopes, redirect, address=login.address)
    login.talk.tell(f"Log in on this page, in any browser:\n{attempt.url}")
    login.talk.tell("The login ends on a page that cannot be displayed. Copy that page's address.")
    return await finish(login.http, attempt, pasted_code(attempt, login.talk.ask("Address or code: ")))


async def _by_device(login: _Login) -> Granted:
    device = await begin_on_device(login.http, login.service, login.client, login.scopes)
    login.talk.tell(f"Open {device.page} on any device and enter: {device.code}")
    return await finish_on_device(login.http, login.service, login.client, device)


_WAYS = {"browser": _by_browser, "device": _by_device, "paste": _by_pasting}
