"""The dialogue with a person who logs in on a provider's own page: postroom accounts add --oauth, and login."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import signal
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest
from postroom.service.accounts import oauth_logins, setup

if TYPE_CHECKING:
    from postroom.service.accounts.oauth_logins import Login
    from postroom.settings import AccountSettings, Settings


def with_client(plan: setup.Plan, args: argparse.Namespace) -> tuple[setup.Plan, str]:
    """The plan with a client id, and the client secret that was asked for; empty if not needed or kept elsewhere."""
    if plan.lacks_client_id:
        for line in oauth_logins.how_to_get_a_client_id(plan.service):
            print(line)
        plan = plan.with_client_id(_asked("Client id: ", "Use --client-id, or --auth xoauth2 with an access token."))
    oauth_logins.check_client_id(plan.service, plan.client_id)
    lies_elsewhere = args.client_secret_env or args.client_secret_file
    if lies_elsewhere or not oauth_logins.wants_client_secret(plan.service):
        return plan, ""
    return plan, _asked("Client secret: ", "Use --client-secret-env or --client-secret-file.", hidden=True)


def log_in(account: AccountSettings, settings: Settings, args: argparse.Namespace, secret: str | None = None) -> Login:
    """Nothing is written yet."""
    way: oauth_logins.Way = "device" if args.device else "paste" if args.paste else "browser"
    talk = oauth_logins.Talk(tell=_tell, ask=lambda prompt: _asked(prompt, "Run this in one."), open_page=_open)
    return asyncio.run(oauth_logins.log_in(account, settings, way, talk, client_secret=secret))


def refuse_passwords(args: argparse.Namespace) -> None:
    if args.password_stdin:
        raise InvalidRequest(
            "This account logs in on its provider's page, so there is no password to pass. "
            "Omit --password-stdin, or use --auth xoauth2 and pass an access token."
        )


def _tell(text: str) -> None:
    print(text, flush=True)


def _asked(prompt: str, otherwise: str, *, hidden: bool = False) -> str:
    if not sys.stdin.isatty():
        raise InvalidRequest(f"There is no terminal to ask at ({prompt.rstrip(': ').lower()}). {otherwise}")
    with _heeding_ctrl_c():
        text = (getpass.getpass(prompt) if hidden else input(prompt)).strip()
    if not text or not text.isprintable():
        raise InvalidRequest("That was empty or not a line of text. Nothing was written.")
    return text


@contextmanager
def _heeding_ctrl_c() -> Iterator[None]:
    """Where an event loop runs, Ctrl-C only cancels its task, which a prompt keeps from ever noticing."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _open(url: str) -> bool:
    """Without a display the system may open a browser in this terminal, where no login page works."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
