"""A few connections to one account, lent out one piece of work at a time.

Work is a plain function of a Session and runs in a worker thread. Connections that died while idle are replaced
without anybody noticing; work that may be repeated is repeated once when its connection breaks under it.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from postroom.model.errors import PostroomError, RateLimited
from postroom.providers.imap.client import Session
from postroom.providers.imap.failures import CONNECTION_LOST, lost

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 8  # a call may take so many read timeouts in all: a server that drips bytes is as dead as a silent one


class Pool:
    def __init__(self, account: ImapAccount) -> None:
        self._account = account
        self._idle: list[Session] = []
        self._lent = 0
        self._changed = threading.Condition()
        self._slots = anyio.Semaphore(account.max_connections)
        self._threads = anyio.CapacityLimiter(math.inf)  # the slots are the limit
        self._closed = False

    async def run(
        self, folder: str, work: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Work that may be done twice: reading, setting flags, removing named mails.

        `folder` is where it will happen: opening a large one takes long, so a connection that has it open is preferred.
        """
        return await self._run(folder, partial(_applied, work, args, kwargs), repeatable=True)

    async def run_once(
        self, folder: str, work: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Work that must not be repeated once begun: appending, copying, moving, creating."""
        return await self._run(folder, partial(_applied, work, args, kwargs), repeatable=False)

    async def close(self) -> None:
        self._closed = True
        await anyio.to_thread.run_sync(self._close_idle)

    def _close_idle(self) -> None:
        for session in self._taken_all():
            session.close()

    async def _run(self, folder: str, work: Callable[[Session], T], *, repeatable: bool) -> T:
        loan = _Loan(folder)
        async with self._slots:
            timer = asyncio.get_running_loop().call_later(self._account.timeout * _PATIENCE, loan.expire)
            try:
                return await anyio.to_thread.run_sync(self._attempt, work, loan, repeatable, limiter=self._threads)
            finally:
                timer.cancel()

    def _attempt(self, work: Callable[[Session], T], loan: _Loan, repeatable: bool) -> T:
        repeats = 1
        while True:
            try:
                return self._with_session(work, loan)
            except CONNECTION_LOST as error:
                self._drop_idle()  # whatever ended this one has most likely ended them all
                if not (repeatable and repeats and loan.is_worth_another(error)):
                    raise lost(error, unclear=not repeatable and loan.began) from None
                repeats -= loan.is_new  # one that had died while it was idle does not count

    def _with_session(self, work: Callable[[Session], T], loan: _Loan) -> T:
        session = self._take(loan)
        try:
            result = work(session)
        except PostroomError:
            self._give_back(session)
            raise
        except BaseException:
            session.abort()
            self._give_back(None)
            raise
        self._give_back(session)
        return result

    def _take(self, loan: _Loan) -> Session:
        loan.session = None
        while (session := self._pop_idle(loan.folder)) is not None:
            if session.is_alive():
                loan.session, loan.is_new = session, False
                return session
            session.abort()
            self._give_back(None)
        try:
            loan.session, loan.is_new = Session(self._account), True
        except RateLimited:
            # The server allows fewer connections than the settings do: share those there are.
            if not self._wait_for_idle():
                raise
            return self._take(loan)
        with self._changed:
            self._lent += 1
        return loan.session

    def _pop_idle(self, folder: str) -> Session | None:
        """One that has the folder open, else the one that has been idle longest."""
        with self._changed:
            if not self._idle:
                return None
            near = (s for s in self._idle if s.opened is not None and s.opened.folder == folder)
            session = next(near, self._idle[0])
            self._idle.remove(session)
            self._lent += 1
            return session

    def _wait_for_idle(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._idle or not self._lent, timeout=self._account.timeout)
            return bool(self._idle)

    def _give_back(self, session: Session | None) -> None:
        """None when it is no more."""
        with self._changed:
            self._lent -= 1
            if session is not None and not self._closed:
                self._idle.append(session)
                session = None
            self._changed.notify()
        if session is not None:
            session.close()

    def _drop_idle(self) -> None:
        for session in self._taken_all():
            session.abort()

    def _taken_all(self) -> list[Session]:
        with self._changed:
            taken, self._idle = self._idle, []
        return taken


class _Loan:
    """Which session a call is using, so that the event loop can cut it off when its time is up."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.session: Session | None = None
        self.is_new = False
        self.expired = False

    @property
    def began(self) -> bool:
        """Whether the work itself was reached, not only the way to it."""
        return self.session is not None

    def is_worth_another(self, error: Exception) -> bool:
        """A server that keeps silent on a new connection will keep silent on the next one."""
        return self.began and not self.expired and not (self.is_new and isinstance(error, TimeoutError))

    def expire(self) -> None:
        self.expired = True
        if self.session is not None:
            self.session.interrupt()


def _applied(work: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], session: Session) -> T:
    return work(session, *args, **kwargs)
