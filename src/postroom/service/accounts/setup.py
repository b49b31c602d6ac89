"""Setting up an account: find its servers, try them, write it down. Nothing is written before all of it is decided."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr

from postroom.model.errors import AuthRequired, InvalidRequest
from postroom.providers import registry
from postroom.providers.discovery.finding import Reach, ascii_domain
from postroom.providers.discovery.found import Found
from postroom.providers.oauth.services import service_at
from postroom.providers.setup import CLIENT_ID_LATER, Table, Wishes
from postroom.service.accounts.logins import try_reading
from postroom.service.accounts.oauth_logins import CLIENT_SECRET, OAUTH
from postroom.settings import AccountSettings, Settings, secrets, writing
from postroom.settings.accounts import BY_PROVIDER, sources_of
from postroom.settings.environment import ACCOUNTS
from postroom.settings.fields import CONFIG_FOLDER, HOME
from postroom.settings.mailboxes import secrets_name
from postroom.settings.paths import home_folder

__all__ = [
    "Plan",
    "Wishes",
    "keep_secret",
    "kinds",
    "plan",
    "secret_of",
    "settings_with",
    "settle_username",
    "take_away",
    "usual_kind",
    "write_all_down",
    "write_down",
]

Environment = Mapping[str, str]

_GMAIL = ("gmail.com", "googlemail.com")
_OF_IMAP = ("host", "port", "security", "smtp_host", "smtp_port", "smtp_security", "username", "ca_file")
_REPLACED = ", where it replaced another one; a settings file that has the same account uses this one now"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._@+-]")


@dataclass(frozen=True, slots=True)
class Plan:
    """An account that could be added: `table` is what would be written. `found` is None where servers were named."""

    config_path: Path
    table: Table
    usernames: tuple[str, ...]
    found: Found | None = None
    home: Path = field(default_factory=Path)

    @property
    def name(self) -> str:
        return str(self.table["name"])

    @property
    def shown(self) -> list[str]:
        """Where the message and the secret will go, in lines for a person."""
        return registry.setup_of(str(self.table["provider"])).shown(self.account())

    @property
    def needs_secret(self) -> bool:
        return bool(self.account().secrets)

    @property
    def service(self) -> str:
        """Whose page a person logs in on; empty where a password or a token is asked for."""
        return str(self.table.get("oauth", {}).get("service", ""))

    @property
    def can_use_oauth(self) -> bool:
        """Where a password is asked for but the provider also has a login page that is known."""
        return not self.service and self.found is not None and service_at(self.found.imap.host) is not None

    @property
    def lacks_client_id(self) -> bool:
        return bool(self.table.get("oauth", {}).get("client_id") == CLIENT_ID_LATER)

    @property
    def client_id(self) -> str:
        return str(self.table["oauth"]["client_id"])

    def with_client_id(self, client_id: str) -> Plan:
        return replace(self, table={**self.table, "oauth": {**self.table["oauth"], "client_id": client_id}})

    def account(self, secret: str = "") -> AccountSettings:
        context = {HOME: self.home, CONFIG_FOLDER: self.config_path.parent}
        kind = BY_PROVIDER[str(self.table["provider"])]
        account = cast("AccountSettings", kind.model_validate(self.table, context=context))
        return account.model_copy(update={secret_of(account): SecretStr(secret)}) if secret else account

    def with_username(self, username: str) -> Plan:
        kept = {key: value for key, value in self.table.items() if key != "username"}
        return replace(self, table=kept if username == kept["address"] else {**kept, "username": username})


async def plan(
    wishes: Wishes, *, config: Path | None = None, environ: Environment | None = None, reach: Reach | None = None
) -> Plan:
    """Raises for any obstacle before anything is looked up; the error says what to give when nothing is found."""
    environ = os.environ if environ is None else environ
    path = writing.target(config, environ)
    present = writing.grown(path, None, environ)
    said = _said(wishes, _free_name(wishes, present))
    kind = registry.setup_of(wishes.provider)
    writing.grown(path, {**said, **kind.early(wishes)}, environ)
    proposal = await kind.propose(wishes, reach, proxies=present.network.proxies)
    table = {**said, **proposal.table}
    if all(account.name != said["name"] for account in writing.grown(path, table, environ).accounts):
        raise InvalidRequest("POSTROOM_ACCOUNTS is set and overrides the accounts in the file. Unset it, or add to it.")
    planned = Plan(path, table, proposal.usernames, proposal.found, home_folder(environ))
    return planned.with_username(proposal.usernames[0]) if proposal.usernames else planned


def settings_with(plan: Plan, *, environ: Environment | None = None) -> Settings:
    """What the settings will be once it is written down."""
    return writing.grown(plan.config_path, plan.table, os.environ if environ is None else environ)


def usual_kind(address: str, given: Mapping[str, Any]) -> str:
    """Gmail's own API for its addresses, unless an option that only IMAP has was given; IMAP for all others."""
    names_servers = any(given.get(name) for name in _OF_IMAP) or given.get("auth", "password") != "password"
    is_gmail = address.rpartition("@")[2].casefold() in _GMAIL
    return "gmail" if is_gmail and not names_servers else "imap"


def kinds() -> tuple[str, ...]:
    """The kinds of accounts that can be set up."""
    return tuple(registry.SETUPS)


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
    """First the secret, then the account; returns where the secret is. Neither stays without the other."""
    account = plan.account()
    return write_all_down(
        plan, {secret_of(account): secret} if account.secrets else {}, in_file=in_file, environ=environ
    )


def write_all_down(
    plan: Plan, values: Mapping[str, str], *, in_file: bool = False, environ: Environment | None = None
) -> str:
    """The same for secrets by their names."""
    environ = os.environ if environ is None else environ
    account = secrets_name(plan.account())
    place, before = "", {name: _stored(account, name, environ) for name in values}
    try:
        for name, value in values.items():
            place = secrets.keep(account, name, value, environ=environ, in_file=in_file)
        writing.append_account(plan.config_path, plan.table)
    except BaseException:
        for name, (earlier, was_in_file) in before.items():
            secrets.forget(account, name, environ=environ)
            if earlier is not None:
                secrets.keep(account, name, earlier, environ=environ, in_file=was_in_file)
        raise
    is_another = any(earlier not in (None, values[name]) for name, (earlier, _) in before.items())
    return f"{place}{_REPLACED}" if is_another else place


def _stored(account: str, name: str, environ: Environment) -> tuple[str | None, bool]:
    """What another settings file of the same home may have for this account, and whether it is in a file."""
    with suppress(AuthRequired):  # it cannot be read by anybody
        return secrets.kept(account, name, environ=environ), secrets.lies_in_file(account, name, environ=environ)
    return None, False


def take_away(account: AccountSettings, settings: Settings, *, environ: Environment | None = None) -> Path:
    """First the account, then its secrets: one that stays behind has lost nothing. Returns the file it was in."""
    environ = os.environ if environ is None else environ
    if settings.is_demo:
        raise InvalidRequest(f"Account {account.name} is the sample mailbox. It disappears when you add your own.")
    if settings.config_path is None or environ.get(ACCOUNTS, "").strip():
        raise InvalidRequest(f"Account {account.name} comes from {ACCOUNTS}, not from a file. Remove it there.")
    writing.remove_account(settings.config_path, account.name)
    of_oauth = (OAUTH, CLIENT_SECRET) if hasattr(account, "oauth") else ()
    names = (*account.secrets, *of_oauth)
    place = secrets.in_use(secrets_name(account), *names, environ=environ)
    for secret in names:
        secrets.forget(place, secret, environ=environ)
    return settings.config_path


def keep_secret(account: AccountSettings, secret: str, *, in_file: bool = False) -> str:
    """For an account that is written down already; returns where the secret is."""
    return secrets.replace(secrets_name(account), secret_of(account), secret, environ=os.environ, in_file=in_file)


def secret_of(account: AccountSettings) -> str:
    """The name of the secret this account logs in with. InvalidRequest where the settings say where to find it."""
    if not account.secrets:
        raise InvalidRequest(f"Account {account.name} needs no login.")
    wants_token = getattr(account, "auth", "password") != "password"
    secret = "token" if wants_token else _configured(account) or account.secrets[0]
    for key in sources_of(account, secret):
        if getattr(account, key):
            raise InvalidRequest(f"Account {account.name} takes its {secret} from {key}. Change it there.")
    return secret


def _configured(account: AccountSettings) -> str:
    """Which of several secrets, any of which is enough, the settings say where to find."""
    if hasattr(account, "auth"):
        return ""
    sources = {secret: sources_of(account, secret) for secret in account.secrets}
    return next((secret for secret, keys in sources.items() if any(getattr(account, key) for key in keys)), "")


def _free_name(wishes: Wishes, present: Settings) -> str:
    """The first part of the domain, or the whole address where another account has that name."""
    taken = {account.name.casefold() for account in present.accounts}
    twin = next((one for one in present.accounts if one.address.casefold() == wishes.address.casefold()), None)
    if twin is not None and not wishes.name:
        raise InvalidRequest(
            f"{wishes.address} is already set up as account {twin.name}. "
            f"For a new password run postroom accounts login {twin.name}; for a second account give it a --name."
        )
    if wishes.name.casefold() in taken:
        raise InvalidRequest(f"There is already an account called {wishes.name}. Choose another --name.")
    usual = ascii_domain(wishes.address).partition(".")[0]
    whole = _NOT_IN_NAMES.sub("-", wishes.address.lower())
    return wishes.name or (usual if usual and usual not in taken else whole)


def _said(wishes: Wishes, name: str) -> dict[str, Any]:
    said = {"name": name, "provider": wishes.provider, "address": wishes.address}
    return {**said, "display_name": wishes.display_name} if wishes.display_name else said
