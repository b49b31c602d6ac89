"""Which source an account's settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.providers.credentials.command import TokenFromCommand
from postroom.providers.credentials.source import TokenSource
from postroom.providers.credentials.stored import StoredToken

if TYPE_CHECKING:
    from postroom.settings.accounts import TokenAccount


def token_source(account: TokenAccount) -> TokenSource:
    """Nothing is looked up, run or asked yet."""
    if account.token_command:
        return TokenFromCommand(account.name, account.token_command)
    return StoredToken(account, "token")
