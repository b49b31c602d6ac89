"""Which source an account's settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.providers.credentials.command import TokenFromCommand
from postroom.providers.credentials.stored import StoredToken
from postroom.providers.tokens import TokenSource

if TYPE_CHECKING:
    from postroom.settings.accounts import TokenAccount


def token_source(account: TokenAccount, *, proxies: bool = True) -> TokenSource:
    """Nothing is looked up, run or asked yet."""
    if account.oauth is not None:
        from postroom.providers.oauth.source import OAuthTokens

        return OAuthTokens(account, account.oauth, proxies=proxies)
    if account.token_command:
        return TokenFromCommand(account.name, account.token_command)
    return StoredToken(account, "token")
