"""A token stored in advance: in the settings, a variable, a file, the keyring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.model.errors import AuthRequired
from postroom.providers.tokens import in_own_thread
from postroom.settings.secrets import is_at_hand, resolve

if TYPE_CHECKING:
    from postroom.settings.accounts import Account


class StoredToken:
    """Looked up each time, so that a replaced token takes effect. It cannot be renewed from here."""

    def __init__(self, account: Account, secret: str) -> None:
        self._account = account
        self._secret = secret

    async def token(self) -> str:
        if is_at_hand(self._account, self._secret):  # each request asks: no thread where nothing can block
            return stored_secret(self._account, self._secret)
        return await in_own_thread(stored_secret, self._account, self._secret)

    async def refreshed(self, old: str) -> str:
        """The same again, unless a person has stored another one."""
        return await self.token()


def stored_secret(account: Account, secret: str) -> str:
    """AuthRequired says where it can be stored."""
    found = resolve(account, secret)
    if found is None:
        raise AuthRequired(
            f"Account {account.name} has no {secret}. "
            f"Run postroom accounts login {account.name}, or set {secret}_env or {secret}_file."
        )
    return found
