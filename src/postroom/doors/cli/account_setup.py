"""postroom accounts add, login and remove: what they print and ask. A secret is never shown."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING

from postroom.doors.cli import oauth_login
from postroom.doors.cli.options import in_gateway
from postroom.model.errors import InvalidRequest, PostroomError
from postroom.service.accounts import oauth_logins, setup
from postroom.service.accounts.logins import covers_sending, resume_sending, try_reading, try_sending

if TYPE_CHECKING:
    from postroom.settings import AccountSettings, Settings

SOURCES = {
    "known": "known for this provider",
    "autoconfig": "published by its domain",
    "srv": "found in its DNS",
    "mx": "derived from its MX records",
    "guess": "found under their usual names",
}
LONGEST_SECRET = 16_384  # characters; tokens can be long


def add(args: argparse.Namespace) -> int:
    args.address = args.address.strip()
    _refuse_no_address(args.address)
    args.oauth = args.oauth or args.device or args.paste
    args.provider = args.provider or ("imap" if args.password_stdin else setup.usual_kind(args.address, vars(args)))
    wishes = setup.Wishes(**{field.name: getattr(args, field.name) for field in fields(setup.Wishes)})
    plan = asyncio.run(setup.plan(wishes, config=args.config))
    _show_servers(plan)
    _ask_about_strangers(plan, args)
    if plan.service:
        return _add_by_oauth(plan, args)
    secret = _secret(setup.secret_of(plan.account()), wishes.address, args) if plan.needs_secret else ""
    if plan.needs_secret and not args.no_check:
        with _before_writing():
            plan = asyncio.run(_checked(plan, secret))
    place = setup.write_down(plan, secret, in_file=args.secret_file)
    return _added(plan, place, args)


def _refuse_no_address(text: str) -> None:
    """Before the settings do, which would name a table that is not written yet."""
    local, _, domain = text.rpartition("@")
    if not (local and domain) or any(char.isspace() for char in text):
        raise InvalidRequest(f"{text[:80]!r} is not an email address. Write one like alice@example.com.")


def _add_by_oauth(plan: setup.Plan, args: argparse.Namespace) -> int:
    oauth_login.refuse_passwords(args)
    plan, client_secret = oauth_login.with_client(plan, args)
    settings = setup.settings_with(plan)
    account = plan.account()
    with _before_writing():
        login = oauth_login.log_in(account, settings, args, client_secret or None)
        if not args.no_check:
            with_login = oauth_logins.with_login(account, login)
            asyncio.run(_tried(with_login, sending=covers_sending(account, settings)))
    place = setup.write_all_down(plan, oauth_logins.as_secrets(login, client_secret), in_file=args.secret_file)
    return _added(plan, place, args)


def _added(plan: setup.Plan, place: str, args: argparse.Namespace) -> int:
    print(f"Account {plan.name} is in {plan.config_path}{f', its secret in {place}' if place else ''}.")
    config = f" --config {plan.config_path}" if args.config else ""
    print(f"Next: postroom doctor{config}; then let your client start: postroom serve{config}")
    return 0


def log_in(args: argparse.Namespace) -> int:
    from pydantic import SecretStr

    from postroom.settings import load

    settings = load(args.config)
    account = _named(args, settings.accounts)
    if oauth_logins.logs_in_by_oauth(account):
        return _log_in_by_oauth(account, settings, args)
    if args.device or args.paste:
        raise InvalidRequest(f"Account {account.name} logs in with a password or token, not on its provider's page.")
    name = setup.secret_of(account)
    secret = _secret(name, account.address, args)
    if not args.no_check:
        with _before_writing():
            asyncio.run(_tried(account.model_copy(update={name: SecretStr(secret)})))
    print(f"Account {account.name}: the {name} is in {setup.keep_secret(account, secret, in_file=args.secret_file)}.")
    _resume(account.name, args)
    return 0


def _log_in_by_oauth(account: AccountSettings, settings: Settings, args: argparse.Namespace) -> int:
    oauth_login.refuse_passwords(args)
    with _before_writing():
        login = oauth_login.log_in(account, settings, args)
        if not args.no_check:
            with_login = oauth_logins.with_login(account, login)
            asyncio.run(_tried(with_login, sending=covers_sending(account, settings)))
    place = asyncio.run(oauth_logins.keep_login(account, login, in_file=args.secret_file))
    print(f"Account {account.name} is logged in; the login is in {place}.")
    _resume(account.name, args)
    return 0


def _resume(name: str, args: argparse.Namespace) -> None:
    """What waited in the outbox for this login is sent by the server that runs, or by the next."""
    if not args.no_check and in_gateway(args, lambda gateway: resume_sending(gateway, name)):
        print("Its messages in the outbox are sent now.")


def remove(args: argparse.Namespace) -> int:
    from postroom.service.accounts.mirrors import remove_mirror
    from postroom.settings import load

    settings = load(args.config)
    account = _named(args, settings.accounts)
    path = setup.take_away(account, settings)
    is_followed = remove_mirror(settings.home, account)
    secret = ", and its stored secret was deleted" if account.secrets else ""
    print(f"Account {account.name} is no longer in {path}{secret}. Its email is untouched.")
    if is_followed:
        print(
            "Another process still follows it, by other settings or in an older version. End it; postroom doctor then"
        )
        print("names the files to remove, with the command.")
    return 0


def _show_servers(plan: setup.Plan) -> None:
    if "host" in plan.table:
        origin = SOURCES[plan.found.source] if plan.found else "as you gave them"
        print(f"Servers of {plan.account().address}, {origin}:")
    for line in plan.shown:
        print(f"  {line}")
    if plan.found and plan.found.note and not plan.service:  # it is about passwords
        print(plan.found.note)
    if plan.can_use_oauth:
        print("Or log in on the provider's own page, with your own client id: --oauth")


def _ask_about_strangers(plan: setup.Plan, args: argparse.Namespace) -> None:
    """A forged DNS answer must not get the password: a person confirms a server that nothing else confirms."""
    if args.yes or plan.found is None or plan.found.is_assured:
        return
    print("These servers are outside the address's domain, and only DNS names them.")
    if args.password_stdin or not sys.stdin.isatty():
        raise InvalidRequest("If they are correct, add --yes, or give them with --host and --smtp-host.")
    if input("Are they correct? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InvalidRequest("Nothing was written. Give the correct ones with --host and --smtp-host.")


def _secret(name: str, address: str, args: argparse.Namespace) -> str:
    if args.password_stdin:
        secret = _handed_over()
    elif sys.stdin.isatty():
        secret = getpass.getpass(f"{name.capitalize()} for {address}: ")
    else:
        raise InvalidRequest(f"There is no terminal to ask for the {name}. Pass it with --password-stdin.")
    if not secret or len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise InvalidRequest(f"That is not a valid {name}: it must be one line of text. Nothing was written.")
    return secret


def _handed_over() -> str:
    """Empty when it is not text."""
    try:
        return sys.stdin.read(LONGEST_SECRET + 1).rstrip("\r\n")
    except UnicodeDecodeError:
        return ""


async def _checked(plan: setup.Plan, secret: str) -> setup.Plan:
    settled = await setup.settle_username(plan, secret)
    print("ok    reading: the login works")
    if sending := await try_sending(settled.account(secret)):
        print(f"ok    sending: {sending}; nothing was sent")
    return settled


async def _tried(account: AccountSettings, *, sending: bool = True) -> None:
    await try_reading(account)
    if sending:
        await try_sending(account)


@contextmanager
def _before_writing() -> Iterator[None]:
    try:
        yield
    except PostroomError as error:
        error.message = f"{error.message} Nothing was written."
        raise


def _named(args: argparse.Namespace, accounts: tuple[AccountSettings, ...]) -> AccountSettings:
    for account in accounts:
        if args.name in (account.name, account.address):
            return account
    names = ", ".join(account.name for account in accounts)
    raise InvalidRequest(f"There is no account {args.name[:80]!r}. Use one of: {names}.")
