"""Setting up an account: find its servers, try them, write it down. Nothing is written before all of it is decided."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from postroom.model.errors import AuthRequired, InvalidRequest, NotFound
from postroom.providers.discovery.finding import Reach, ascii_domain, find
from postroom.providers.discovery.found import Found, Server
from postroom.service.accounts.logins import try_reading
from postroom.settings import AccountSettings, ImapAccount, Settings, secrets, writing
from postroom.settings.environment import ACCOUNTS

Environment = Mapping[str, str]
Table = Mapping[str, str | int]

_NOT_IN_NAMES = re.compile(r"[^a-z0-9._@+-]")
_BY_PORT = {993: "tls", 465: "tls", 143: "starttls", 587: "starttls"}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person said about the account. Whatever is empty is found out; a named `host` ends the search."""

    address: str
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


@dataclass(frozen=True, slots=True)
class Plan:
    """An account that could be added: `table` is what would be written. `found` is None where servers were named."""

    config_path: Path
    table: Table
    usernames: tuple[str, ...]
    found: Found | None = None

    @property
    def name(self) -> str:
        return str(self.table["name"])

    def account(self, secret: str = "") -> ImapAccount:
        account = ImapAccount.model_validate(self.table)
        return account.model_copy(update={secret_of(account): SecretStr(secret)}) if secret else account

    def with_username(self, username: str) -> Plan:
        kept = {key: value for key, value in self.table.items() if key != "username"}
        return replace(self, table=kept if username == kept["address"] else {**kept, "username": username})


async def plan(
    wishes: Wishes, *, config: Path | None = None, environ: Environment | None = None, reach: Reach | None = None
) -> Plan:
    """Raises what stands in the way before anything is looked up, and says what to name when nothing is found."""
    environ = os.environ if environ is None else environ
    path = writing.target(config, environ)
    present = writing.grown(path, None, environ)
    said = _said(wishes, _free_name(wishes, present))
    writing.grown(path, {**said, "host": wishes.host or "found.later"}, environ)
    found = None if wishes.host else await _found(wishes, reach, proxies=present.network.proxies)
    table = {**said, **_servers(wishes, found)}
    if all(account.name != said["name"] for account in writing.grown(path, table, environ).accounts):
        raise InvalidRequest("POSTROOM_ACCOUNTS is set and hides the accounts of the file. Unset it, or add to it.")
    usernames = found.usernames if found and not wishes.username else (wishes.username or wishes.address,)
    return Plan(path, table, usernames, found).with_username(usernames[0])


async def settle_username(plan: Plan, secret: str) -> Plan:
    """Log in to the IMAP server; the plan that comes back has the user name that worked."""
    *others, last = (plan.with_username(username) for username in plan.usernames)
    for tried in others:
        try:
            await try_reading(tried.account(secret))
        except AuthRequired:
            continue
        return tried
    await try_reading(last.account(secret))
    return last


def write_down(plan: Plan, secret: str, *, in_file: bool = False, environ: Environment | None = None) -> str:
    """First the secret, then the account; answers where the secret lies. Neither stays without the other."""
    environ = os.environ if environ is None else environ
    account = plan.account()
    place = secrets.keep(account.name, secret_of(account), secret, environ=environ, in_file=in_file)
    try:
        writing.append_account(plan.config_path, plan.table)
    except BaseException:
        secrets.forget(account.name, secret_of(account), environ=environ)
        raise
    return place


def take_away(account: AccountSettings, settings: Settings, *, environ: Environment | None = None) -> Path:
    """First the account, then its secrets: one that stays behind has lost nothing. Answers with the file it was in."""
    environ = os.environ if environ is None else environ
    if settings.is_demo:
        raise InvalidRequest(f"Account {account.name} belongs to the sample mailbox. It goes when you add your own.")
    if settings.config_path is None or environ.get(ACCOUNTS, "").strip():
        raise InvalidRequest(f"Account {account.name} comes from no file but from {ACCOUNTS}. Remove it there.")
    writing.remove_account(settings.config_path, account.name)
    for secret in account.secrets:
        secrets.forget(account.name, secret, environ=environ)
    return settings.config_path


def keep_secret(account: AccountSettings, secret: str, *, in_file: bool = False) -> str:
    """For an account that is written down already; answers where the secret lies."""
    return secrets.keep(account.name, secret_of(account), secret, environ=os.environ, in_file=in_file)


def secret_of(account: AccountSettings) -> str:
    """The name of the secret this account logs in with. InvalidRequest where the settings say where to find it."""
    if not account.secrets:
        raise InvalidRequest(f"Account {account.name} needs no login.")
    wants_token = getattr(account, "auth", "password") != "password"
    secret = "token" if wants_token else account.secrets[0]
    for key in (secret, f"{secret}_env", f"{secret}_file"):
        if getattr(account, key):
            raise InvalidRequest(f"Account {account.name} takes its {secret} from {key}. Change it there.")
    return secret


def _free_name(wishes: Wishes, present: Settings) -> str:
    """The first part of the domain, or the whole address where another account has that name."""
    taken = {account.name.casefold() for account in present.accounts}
    twin = next((one for one in present.accounts if one.address.casefold() == wishes.address.casefold()), None)
    if twin is not None and not wishes.name:
        raise InvalidRequest(
            f"{wishes.address} is set up already, as account {twin.name}. "
            f"For a new password run postroom accounts login {twin.name}; for a second account give it a --name."
        )
    if wishes.name.casefold() in taken:
        raise InvalidRequest(f"There is an account called {wishes.name} already. Choose another --name.")
    usual = ascii_domain(wishes.address).partition(".")[0]
    whole = _NOT_IN_NAMES.sub("-", wishes.address.lower())
    return wishes.name or (usual if usual and usual not in taken else whole)


def _said(wishes: Wishes, name: str) -> dict[str, str | int]:
    said: dict[str, str | int] = {"name": name, "provider": "imap", "address": wishes.address}
    if wishes.display_name:
        said["display_name"] = wishes.display_name
    if wishes.auth != "password":
        said["auth"] = wishes.auth
    if wishes.ca_file is not None:
        said["ca_file"] = str(wishes.ca_file.expanduser().absolute())
    return said


async def _found(wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Found:
    found = await find(wishes.address, reach, proxies=proxies)
    if found is None:
        raise NotFound(
            f"No mail server was found for {wishes.address}. Check its spelling and the network, "
            "or ask your provider for its IMAP and SMTP servers and name them with --host and --smtp-host."
        )
    if found.auth == "oauth2" and wishes.auth == "password":
        raise InvalidRequest(
            f"{found.note or 'This provider takes no passwords, only OAuth2 access tokens.'} "
            "Say --auth xoauth2 and give an access token in place of the password."
        )
    return found


def _servers(wishes: Wishes, found: Found | None) -> dict[str, str | int]:
    """Without an SMTP server the account only reads."""
    smtp = found.smtp if found and not wishes.smtp_host else None
    reading = _server(wishes.host, wishes.port, wishes.security, found.imap if found else None)
    sending = _server(wishes.smtp_host, wishes.smtp_port, wishes.smtp_security, smtp)
    return reading | {f"smtp_{key}": value for key, value in sending.items()}


def _server(host: str, port: int, security: str, found: Server | None) -> dict[str, str | int]:
    """What was said wins over what was found; a well-known port says how it is encrypted."""
    host = host or (found.host if found else "")
    if not host:
        return {}
    security = security or _BY_PORT.get(port) or (found.security if found else "tls")
    port = port or (found.port if found else 0)
    return {"host": host, "security": security, **({"port": port} if port else {})}
