"""Reports changes as they happen, on a separate connection that idles in the inbox: those in the inbox, and, where the
server has NOTIFY, new messages in other folders."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio import sleep

from postroom.model.errors import ProviderError, ProviderUnavailable
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.failures import CONNECTION_LOST

if TYPE_CHECKING:
    from postroom.providers.imap.session.auth import Credentials
    from postroom.settings.accounts import ImapAccount

_RENEWAL = 25 * 60  # servers may disconnect after 29 minutes of silence
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_HELD = 20.0  # a connection that lasted this long is replaced at once; after a shorter one the wait grows


async def watch(account: ImapAccount, credentials: Credentials, folder: str) -> AsyncGenerator[str, None]:
    """Yields `folder` when it begins to listen and after every gap, and a folder on every change in it. Never gives
    up."""
    pause = 0.0
    while True:
        began = anyio.current_time()
        try:
            session = await anyio.to_thread.run_sync(_listening, account, credentials, folder)
        except (*CONNECTION_LOST, ProviderUnavailable):
            pass
        else:
            async with aclosing(_news(session)) as news:
                async for changed in news:
                    yield changed or folder
        held = anyio.current_time() - began >= _HELD
        pause = 0.0 if held else min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        await sleep(pause)


async def _news(session: Session) -> AsyncGenerator[str, None]:
    """One empty item at once, for earlier changes; then the folder of each change, until the connection is lost."""
    is_waiting = False
    try:
        yield ""
        while True:
            is_waiting = True
            changed = await anyio.to_thread.run_sync(_idle, session, abandon_on_cancel=True)
            is_waiting = False
            for folder in sorted(changed):
                yield folder
    except (*CONNECTION_LOST, ProviderError):  # a server that refuses IDLE now may accept it later
        is_waiting = False
    finally:
        if is_waiting:
            session.interrupt()
        else:
            session.abort()


def _idle(session: Session) -> set[str]:
    try:
        return session.idle(_RENEWAL)
    except BaseException:
        session.abort()
        raise


def _listening(account: ImapAccount, credentials: Credentials, folder: str) -> Session:
    session = Session(account, credentials)
    try:
        session.open(folder)
        if session.has("NOTIFY"):
            with suppress(ProviderError):  # it may be too much for this server: the inbox is watched all the same
                session.notify()
    except BaseException:
        session.abort()
        raise
    return session
