"""Trying an account's logins: in, and out again. Nothing is sent and nothing in the mailbox changes."""

from __future__ import annotations

from pathlib import Path

from postroom.model.errors import AuthRequired, Unsupported
from postroom.providers import registry
from postroom.providers.context import ProviderContext
from postroom.providers.discovery.known import note_for
from postroom.providers.protocol import LoginCheck
from postroom.service.gateway import Gateway
from postroom.settings import AccountSettings, Settings

_CONTEXT = ProviderContext(Path(), read_only=True)


async def try_reading(account: AccountSettings) -> None:
    """Open the mailbox. AuthRequired says what this provider wants in place of a password, where we know."""
    mailbox = registry.open_mailbox(account, _CONTEXT)
    try:
        await mailbox.connect()
    except AuthRequired as error:
        raise explained(error, account) from None
    finally:
        await mailbox.close()


async def try_sending(account: AccountSettings) -> str:
    """Try the submission login; returns the result as text, empty where there is none to try."""
    transport = registry.open_transport(account, _CONTEXT, registry.open_mailbox(account, _CONTEXT))
    if not isinstance(transport, LoginCheck):
        return ""
    try:
        return _in_words(await transport.check_login())
    except Unsupported:
        return ""
    except AuthRequired as error:
        raise explained(error, account) from None


async def check_sending(gateway: Gateway, name: str) -> str:
    """The same for a configured account."""
    account = await gateway.accounts.open(name)
    if not account.capabilities.can_send:
        return "not tried: this account cannot send"
    if not covers_sending(gateway.accounts.named(name), gateway.settings):
        return "not tried: this account's login does not cover sending"
    transport = account.transport
    if not isinstance(transport, LoginCheck):
        return "needs no login"
    said = _in_words(await transport.check_login())
    return f"{said}; waiting messages are sent now" if await resume_sending(gateway, name) else said


async def resume_sending(gateway: Gateway, name: str) -> bool:
    """After a login that worked. False where nothing was paused."""
    return await gateway.in_thread(gateway.store.pauses.login_worked, name)


def covers_sending(account: AccountSettings, settings: Settings) -> bool:
    """An OAuth login is asked for what the tools that are switched on need, and no more."""
    return getattr(account, "oauth", None) is None or "send" in switched_on(settings)


def switched_on(settings: Settings) -> tuple[str, ...]:
    return ("read",) if settings.server.read_only else settings.server.toolsets


def _in_words(was_asked_for: bool) -> str:
    return "the submission server accepts the login" if was_asked_for else "the submission server requires no login"


def explained(error: AuthRequired, account: AccountSettings) -> AuthRequired:
    note = note_for(getattr(account, "host", ""))
    return AuthRequired(f"{error.message} {note}".strip(), details=error.details)
