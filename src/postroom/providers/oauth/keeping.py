"""The stored login, safe from crashes and other processes.

A service may give a new refresh token with every access token and revoke the old one. So the new one is on disk before
it is used, and the previous one is kept until the new one has worked.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from postroom.files.folders import hand_over, make_private
from postroom.model.errors import AuthRequired, ProviderUnavailable
from postroom.providers.tokens import in_own_thread
from postroom.settings import secrets
from postroom.settings.mailboxes import named
from postroom.settings.paths import home_folder

SECRET = "oauth"  # noqa: S105 - the name it is kept under
_POLL = 0.05  # seconds between two looks at a lock that another process holds
_PATIENCE = 90.0  # seconds to wait for it: longer than a refresh may take


@dataclass(frozen=True, slots=True)
class Login:
    """`expires_at` by the wall clock: other processes read it too. `previous` is empty once `refresh_token` worked.
    `issuer` is the host that gave the tokens; empty in a login that was stored before hosts were."""

    access_token: str
    expires_at: float
    refresh_token: str
    previous: str = ""
    issuer: str = ""


class Keeping:
    """For one account, by `secrets_name`, in the keyring or the encrypted file, wherever the login stored it."""

    def __init__(self, account: str, environ: Mapping[str, str] | None = None) -> None:
        self._account = account
        self._environ = os.environ if environ is None else environ

    def read(self) -> Login:
        kept = secrets.in_either_place(self._account, SECRET, environ=self._environ)
        if kept is None:
            raise must_log_in(named(self._account), "is not logged in")
        try:
            return Login(**json.loads(kept))
        except (ValueError, TypeError):
            raise must_log_in(named(self._account), "has a stored login that cannot be read") from None

    def write(self, login: Login, *, in_file: bool = False) -> str:
        """On disk when this returns; returns where."""
        return secrets.replace(self._account, SECRET, _text(login), environ=self._environ, in_file=in_file)

    def write_again(self, login: Login) -> None:
        """Where it is already stored."""
        place = secrets.in_use(self._account, SECRET, environ=self._environ)
        in_file = secrets.lies_in_file(place, SECRET, environ=self._environ)
        secrets.keep(place, SECRET, _text(login), environ=self._environ, in_file=in_file)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """No other process renews this login meanwhile. A process that dies releases the lock."""
        path = home_folder(self._environ) / "secrets" / f"{named(self._account)}.lock"
        descriptor = await in_own_thread(_opened, path)
        try:
            await _locked(descriptor)
            yield
        finally:
            os.close(descriptor)


def _text(login: Login) -> str:
    return json.dumps(asdict(login))


def must_log_in(account: str, what: str) -> AuthRequired:
    return AuthRequired(f"Account {account} {what}. Log in again: postroom accounts login {account}")


def _opened(path: Path) -> int:
    make_private(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    hand_over(descriptor, path.parent)
    return descriptor


async def _locked(descriptor: int) -> None:
    with anyio.move_on_after(_PATIENCE):
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await anyio.sleep(_POLL)
            else:
                return
    raise ProviderUnavailable("Another process has been renewing this login for too long. Try again later.")
