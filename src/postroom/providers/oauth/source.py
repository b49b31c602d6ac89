"""Access tokens that renew themselves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from postroom.providers.http.answer import host_of
from postroom.providers.http.client import new_client
from postroom.providers.oauth.grants import Granted, Refused, ask_for_tokens
from postroom.providers.oauth.keeping import Keeping, Login, must_log_in
from postroom.providers.oauth.services import service_of
from postroom.providers.tokens import in_own_thread
from postroom.settings import SettingsError
from postroom.settings.mailboxes import secrets_name
from postroom.settings.secrets import client_secret

if TYPE_CHECKING:
    from postroom.settings.accounts import TokenAccount
    from postroom.settings.oauth import OAuthSettings

log = logging.getLogger("postroom.oauth")
EARLY = 60.0  # seconds before expiry a token counts as expired: requests take time, and clocks differ


class OAuthTokens:
    """One refresh at a time, in this process and in all that share the home folder."""

    def __init__(
        self,
        account: TokenAccount,
        settings: OAuthSettings,
        *,
        proxies: bool = True,
        keeping: Keeping | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._account = account
        self._settings = settings
        self._proxies = proxies
        self._keeping = keeping or Keeping(secrets_name(account))
        self._clock = clock
        self._login: Login | None = None
        self._issuer = host_of(service_of(settings).token_url)
        self._unstored: tuple[Login, Login] | None = None  # in place of which stored one
        self._one_at_a_time: anyio.Lock | None = None

    async def token(self) -> str:
        if self._login is None or not self._is_fresh(self._login):
            return await self._renewed("")
        return self._login.access_token

    async def refreshed(self, old: str) -> str:
        return await self._renewed(old)

    async def _renewed(self, old: str) -> str:
        self._one_at_a_time = self._one_at_a_time or anyio.Lock()
        async with self._one_at_a_time:
            if self._login is None or not self._serves(self._login, old):
                self._login = await self._read_or_asked(old)
            return self._login.access_token

    async def _read_or_asked(self, old: str) -> Login:
        """Another process or a new login may have been faster: the stored login is checked first."""
        kept = await self._newest()
        if self._serves(kept, old):
            return kept
        async with self._keeping.alone():
            kept = await self._newest()
            return kept if self._serves(kept, old) else await self._asked(kept)

    async def _newest(self) -> Login:
        """The stored one, or the one that could not be stored in its place."""
        kept = await in_own_thread(self._keeping.read)
        if kept.issuer not in ("", self._issuer):  # its tokens are for another service, or another cloud of it
            raise must_log_in(self._account.name, f"is logged in with {kept.issuer}, not with {self._issuer}")
        return self._unstored[1] if self._unstored is not None and self._unstored[0] == kept else kept

    async def _asked(self, kept: Login) -> Login:
        granted, used = await self._granted(kept)
        refresh = granted.refresh_token or used
        previous = used if refresh != used else ""
        login = Login(granted.access_token, self._clock() + granted.lifetime, refresh, previous, self._issuer)
        with anyio.CancelScope(shield=True):  # the old one may already be revoked
            await self._store(login)
        return login

    async def _store(self, login: Login) -> None:
        """On a full disk it lives on in memory: the one it replaces may be void."""
        try:
            await in_own_thread(self._keeping.write_again, login)
            self._unstored = None
        except (OSError, SettingsError) as error:
            log.error("login_not_stored", extra={"error_type": type(error).__name__})  # noqa: TRY400 (no traces in logs)
            self._unstored = (await in_own_thread(self._keeping.read), login)

    async def _granted(self, kept: Login) -> tuple[Granted, str]:
        """With the newest refresh token; with the previous one where the newest never worked."""
        try:
            return await self._exchanged(kept.refresh_token), kept.refresh_token
        except Refused as refused:
            if refused.error != "invalid_grant" or not kept.previous:
                raise self._explained(refused) from None
        try:
            return await self._exchanged(kept.previous), kept.previous
        except Refused as refused:
            raise self._explained(refused) from None

    async def _exchanged(self, refresh_token: str) -> Granted:
        service = service_of(self._settings)
        form = {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "client_id": self._settings.client_id,
            "client_secret": await in_own_thread(client_secret, self._account, self._settings),
        }
        async with new_client(proxies=self._proxies) as client:
            return await ask_for_tokens(client, service.token_url, form)

    def _explained(self, refused: Refused) -> Exception:
        if refused.error == "invalid_grant":
            return must_log_in(self._account.name, "is no longer logged in: the login was withdrawn or has expired")
        return must_log_in(self._account.name, f"cannot renew its login ({refused.host} says {refused.error})")

    def _serves(self, login: Login, old: str) -> bool:
        return login.access_token != old and self._is_fresh(login)

    def _is_fresh(self, login: Login) -> bool:
        return self._clock() + EARLY < login.expires_at
