"""The token of the API: stored, or got by logging in with the password and renewed with the refresh token."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from postroom.model.errors import AuthRequired, PostroomError
from postroom.providers.credentials.stored import StoredToken, stored_secret
from postroom.providers.http.api import Api
from postroom.providers.rest import wire
from postroom.providers.tokens import TokenSource, in_own_thread
from postroom.settings.secrets import resolve

if TYPE_CHECKING:
    from postroom.settings import RestAccount

EARLY = 30.0  # seconds before a token ends in which it is renewed already


class RestTokens:
    """Whichever the account has: a password to log in with, or a token."""

    def __init__(self, account: RestAccount, api: Api) -> None:
        self._account = account
        self._api = api
        self._source: TokenSource | None = None

    async def token(self) -> str:
        return await (await self._chosen()).token()

    async def refreshed(self, old: str) -> str:
        return await (await self._chosen()).refreshed(old)

    async def _chosen(self) -> TokenSource:
        if self._source is None:
            has_token = await in_own_thread(resolve, self._account, "auth_token") is not None
            has_password = not has_token and await in_own_thread(resolve, self._account, "password") is not None
            self._source = LoginTokens(self._account, self._api) if has_password else StoredTokens(self._account)
        return self._source


class StoredTokens(StoredToken):
    def __init__(self, account: RestAccount) -> None:
        super().__init__(account, "auth_token")


class LoginTokens:
    """Kept in memory only: a new process logs in again. `api` is one without tokens."""

    def __init__(self, account: RestAccount, api: Api, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._account = account
        self._api = api
        self._clock = clock
        self._token = ""
        self._refresh_token = ""
        self._ends = float("inf")
        self._one_at_a_time: anyio.Lock | None = None

    async def token(self) -> str:
        if self._token and self._clock() < self._ends:
            return self._token
        return await self.refreshed(self._token)

    async def refreshed(self, old: str) -> str:
        async with self._lock():
            if self._token == old:
                self._take(await self._renewed() or await self._logged_in())
            return self._token

    def _lock(self) -> anyio.Lock:
        self._one_at_a_time = self._one_at_a_time or anyio.Lock()
        return self._one_at_a_time

    async def _renewed(self) -> Mapping[str, Any] | None:
        """None where there is nothing to renew with, or the service refuses it: then the password is used."""
        if not self._refresh_token:
            return None
        refresh_token, self._refresh_token = self._refresh_token, ""
        try:
            answer = await self._api.read(wire.REFRESH, method="POST", content={"refresh_token": refresh_token})
            return {"refresh_token": refresh_token, **answer.object()}
        except PostroomError as error:
            if error.retryable:
                self._refresh_token = refresh_token
                raise
            return None

    async def _logged_in(self) -> Mapping[str, Any]:
        password = await in_own_thread(stored_secret, self._account, "password")
        content = {"email": self._account.username, "password": password}
        return (await self._api.read(wire.LOGIN, method="POST", content=content)).object()

    def _take(self, found: Mapping[str, Any]) -> None:
        token, lasts = found.get("token"), found.get("expires_in")
        if not isinstance(token, str) or not token:
            raise AuthRequired(f"The mail service gave no token for account {self._account.name}. Check its address.")
        self._token = token
        self._refresh_token = wire.text(found, "refresh_token")
        self._ends = float("inf")
        if isinstance(lasts, (int, float)) and not isinstance(lasts, bool) and lasts > 0:
            self._ends = self._clock() + max(lasts - EARLY, lasts / 2)
