"""Reports changes as they happen, on a separate connection that idles in the inbox: those in the inbox, and, where the
server has NOTIFY, new messages in other folders."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio import sleep

from postroom.model.changes import Announced
from postroom.model.errors import ProviderError, ProviderUnavailable, RateLimited, Unsupported
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.detecting import PROVIDER
from postroom.providers.imap.session.failures import CONNECTION_LOST
from postroom.providers.imap.sync.arrivals import arrivals

if TYPE_CHECKING:
    from postroom.providers.imap.session.auth import Credentials
    from postroom.settings.accounts import ImapAccount

_RENEWAL = 25 * 60  # servers may disconnect after 29 minutes of silence
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_HELD = 20.0  # a connection that lasted this long is replaced at once; after a shorter one the wait grows


async def watch(account: ImapAccount, credentials: Credentials, folder: str) -> AsyncGenerator[str, None]:
    """Yields `folder` when it begins to listen and after every gap, and a folder on every change in it. Never gives
    up."""
    async with aclosing(announced(account, credentials, folder, max_bytes=0)) as news:
        async for one in news:
            yield one.folder_ref


async def announced(
    account: ImapAccount, credentials: Credentials, folder: str, *, max_bytes: int
) -> AsyncGenerator[Announced, None]:
    """As `watch`, with the new messages of `folder` themselves where these are few.

    Listening keeps a thread for as long as it lasts. It is none of those that everything else takes turns with: forty
    that listen would leave nobody else any.
    """
    pause, own = 0.0, anyio.CapacityLimiter(1)
    while True:
        began = anyio.current_time()
        try:
            session = await anyio.to_thread.run_sync(_listening, account, credentials, folder, limiter=own)
        except (*CONNECTION_LOST, ProviderError, RateLimited) as error:
            if not _may_pass(error):
                raise
        else:
            yield Announced(folder)  # for earlier changes
            async with aclosing(_news(_Listener(session, max_bytes), own)) as news:
                async for one in news:
                    yield one
        held = anyio.current_time() - began >= _HELD
        pause = 0.0 if held else min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        await sleep(pause)


def _may_pass(error: Exception) -> bool:
    """A server that is away comes back, and a folder that it refuses may be opened later."""
    if isinstance(error, (ProviderError, RateLimited)):
        return isinstance(error, ProviderUnavailable) or bool(error.refused_folder)
    return True


async def _news(listener: _Listener, own: anyio.CapacityLimiter) -> AsyncGenerator[Announced, None]:
    """Each change, until the connection is lost."""
    is_waiting = False
    try:
        while True:
            is_waiting = True
            changed = await anyio.to_thread.run_sync(listener.wait, abandon_on_cancel=True, limiter=own)
            is_waiting = False
            for one in changed:
                yield one
    except (*CONNECTION_LOST, ProviderError, RateLimited):  # a server that refuses IDLE now may accept it later
        is_waiting = False
    finally:
        if is_waiting:
            listener.session.interrupt()
        else:
            listener.session.abort()


class _Listener:
    """Knows which messages of the open folder it has seen."""

    def __init__(self, session: Session, max_bytes: int) -> None:
        self.session = session
        self._max_bytes = max_bytes
        self._next_uid = session.opened.next_uid if session.opened is not None else 0

    def wait(self) -> list[Announced]:
        try:
            changed = sorted(self.session.idle(_RENEWAL))
            return [self._announced(folder) for folder in changed]
        except BaseException:
            self.session.abort()
            raise

    def _announced(self, folder: str) -> Announced:
        opened = self.session.opened
        if opened is None or folder != opened.folder or not (self._max_bytes and self._next_uid):
            return Announced(folder)
        asked_at = time.monotonic()
        self._next_uid, mails = arrivals(self.session, self._next_uid, self._max_bytes)
        return Announced(folder, str(opened.validity), mails, asked_at)


def _listening(account: ImapAccount, credentials: Credentials, folder: str) -> Session:
    session = Session(account, credentials)
    try:
        _require_idle(session)
        session.open(folder)
        if session.has("NOTIFY"):
            # It may be too much for this server: the inbox is watched all the same.
            with suppress(ProviderError, RateLimited):
                session.notify()
    except BaseException:
        session.abort()
        raise
    return session


def _require_idle(session: Session) -> None:
    if not session.has("IDLE"):
        raise Unsupported(PROVIDER, "change notifications")
