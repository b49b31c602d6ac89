"""A token or password stored in advance: in the settings, a variable, a file, the keyring."""

from __future__ import annotations

from base64 import b64encode
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


class StoredPassword:
    """As HTTP sends it (Basic, RFC 7617). Looked up again when it is refused: a person may have stored another one."""

    def __init__(self, account: Account, username: str) -> None:
        self._account = account
        self._username = username
        self._login = ""

    async def token(self) -> str:
        return self._login or await self.refreshed("")

    async def refreshed(self, old: str) -> str:
        password = await in_own_thread(stored_secret, self._account, "password")
        self._login = b64encode(f"{self._username}:{password}".encode()).decode()
        return self._login


def stored_secret(account: Account, secret: str) -> str:
    """AuthRequired says where it can be stored."""
    found = resolve(account, secret)
    if found is None:
        raise AuthRequired(
            f"Account {account.name} has no {secret}. "
            f"Run postroom accounts login {account.name}, or set {secret}_env or {secret}_file."
        )
    return found
