"""A pool of connections to one account; each runs one piece of work at a time.

Work is a plain function of a Session and runs in a worker thread. Connections that died while idle are replaced
silently; work that may be repeated is repeated once when its connection breaks under it.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from postroom.model.errors import PostroomError, RateLimited
from postroom.providers.imap.session.auth import Credentials
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.connecting import be_greeted
from postroom.providers.imap.session.dialling import hang_up
from postroom.providers.imap.session.failures import CONNECTION_LOST, lost

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 8  # read timeouts for a whole call: a server that trickles bytes counts as dead too
_FAREWELL = 2.0  # seconds for a LOGOUT to be answered


class Pool:
    def __init__(self, account: ImapAccount, credentials: Credentials | None = None) -> None:
        self._account = account
        self._credentials = credentials or Credentials(account)
        self._idle: list[Session] = []
        self._lent = 0
        self._changed = threading.Condition()
        self._slots = anyio.Semaphore(account.max_connections)
        self._threads = anyio.CapacityLimiter(math.inf)  # the slots are the limit
        self._closed = False

    async def run(
        self, folder: str, work: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Reading. Aborted when its time is up, and as soon as nobody waits for the result.

        `folder` is where it will happen: opening a large one takes long, so a connection that has it open is preferred.
        """
        loan = _Loan(folder)
        attempt = partial(self._attempt, partial(_applied, work, args, kwargs), loan, repeatable=True)
        try:
            async with self._slots:
                with anyio.fail_after(self._patience):
                    return await anyio.to_thread.run_sync(attempt, limiter=self._threads, abandon_on_cancel=True)
        except TimeoutError as error:
            raise lost(error, unclear=False) from None
        finally:
            loan.expire()

    async def run_again(
        self, folder: str, work: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """A change that may be made twice: setting flags, removing given messages."""
        return await self._to_the_end(folder, partial(_applied, work, args, kwargs), repeatable=True)

    async def run_once(
        self, folder: str, work: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """A change that must not be repeated once begun: appending, copying, moving, creating."""
        return await self._to_the_end(folder, partial(_applied, work, args, kwargs), repeatable=False)

    async def greeting(self) -> None:
        """Over a connection of its own, so that it waits for none of the others."""
        loan = _Loan("")
        greeted = partial(be_greeted, self._account, loan.dialled)
        try:
            with suppress(*CONNECTION_LOST, PostroomError):
                await anyio.to_thread.run_sync(greeted, limiter=self._threads, abandon_on_cancel=True)
        finally:
            loan.expire()

    async def close(self) -> None:
        """Logs out, but does not wait long: some connections may be dead."""
        self._closed = True
        sessions = self._taken_all()
        with anyio.CancelScope(shield=True), _after(_FAREWELL, partial(_each, Session.interrupt, sessions)):
            await anyio.to_thread.run_sync(_each, Session.close, sessions)

    async def _to_the_end(self, folder: str, work: Callable[[Session], T], *, repeatable: bool) -> T:
        """A half-finished change is worse than one that nobody waits for."""
        loan = _Loan(folder)
        attempt = partial(self._attempt, work, loan, repeatable=repeatable, changes=True)
        async with self._slots:
            with _after(self._patience, loan.expire):
                return await anyio.to_thread.run_sync(attempt, limiter=self._threads)

    @property
    def _patience(self) -> float:
        return self._account.timeout * _PATIENCE

    def _attempt(self, work: Callable[[Session], T], loan: _Loan, *, repeatable: bool, changes: bool = False) -> T:
        repeats, began = 1, False
        while True:
            try:
                return self._with_session(work, loan)
            except CONNECTION_LOST as error:
                began = began or loan.began
                if not loan.expired:
                    self.drop_idle()  # what ended this one has most likely ended them all
                if not (repeatable and repeats and loan.is_worth_another(error)):
                    raise lost(error, unclear=changes and began, began=loan.began) from None
                repeats -= loan.is_new  # one that died while idle does not count

    def _with_session(self, work: Callable[[Session], T], loan: _Loan) -> T:
        session = self._take(loan)
        kept: Session | None = None
        try:
            loan.begin(session)
            result = work(session)
            kept = session
        except PostroomError:
            kept = session
            raise
        except BaseException:
            session.abort()
            raise
        finally:
            loan.end()
            self._give_back(None if kept is None or kept.is_over else kept)
        return result

    def _take(self, loan: _Loan) -> Session:
        loan.began, loan.is_new = False, False
        while (session := self._pop_idle(loan.folder)) is not None:
            if session.is_alive():
                return session
            session.abort()
            self._give_back(None)
            self.drop_idle()  # finding out one by one that all are dead could take minutes
        try:
            session, loan.is_new = Session(self._account, self._credentials, loan.dialled), True
        except RateLimited:
            # The server allows fewer connections than the settings do: share the existing ones.
            if not self._wait_for_idle():
                raise
            return self._take(loan)
        with self._changed:
            self._lent += 1
        return session

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
        """None when it is dead."""
        with self._changed:
            self._lent -= 1
            if session is not None and not self._closed:
                self._idle.append(session)
                session = None
            self._changed.notify()
        if session is not None:
            session.close()

    def drop_idle(self) -> None:
        for session in self._taken_all():
            session.abort()

    def _taken_all(self) -> list[Session]:
        with self._changed:
            taken, self._idle = self._idle, []
        return taken


class _Loan:
    """Which session a call is using, so that the event loop can abort it during the call, and never after."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.is_new = False
        self.began = False  # whether the work itself was started, not only the connection
        self.expired = False
        self._session: Session | None = None
        self._dialled: socket.socket | None = None
        self._lock = threading.Lock()

    def dialled(self, sock: socket.socket) -> None:
        """Before there is a session, this is what is waited for."""
        with self._lock:
            self._dialled = sock
            if self.expired:
                raise TimeoutError

    def begin(self, session: Session) -> None:
        """TimeoutError when there is no time left: then nothing has begun."""
        with self._lock:
            if self.expired:
                raise TimeoutError
            self._session, self._dialled, self.began = session, None, True

    def end(self) -> None:
        with self._lock:
            self._session = None

    def expire(self) -> None:
        with self._lock:
            self.expired = True
            if self._session is not None:
                self._session.interrupt()
            elif self._dialled is not None:
                hang_up(self._dialled)

    def is_worth_another(self, error: Exception) -> bool:
        """A server that is silent on a new connection will be silent on the next one."""
        return self.began and not self.expired and not (self.is_new and isinstance(error, TimeoutError))


@contextmanager
def _after(seconds: float, call: Callable[[], object]) -> Iterator[None]:
    """Calls it when this takes longer."""
    timer = asyncio.get_running_loop().call_later(seconds, call)
    try:
        yield
    finally:
        timer.cancel()


def _each(call: Callable[[Session], None], sessions: Sequence[Session]) -> None:
    for session in sessions:
        call(session)


def _applied(work: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], session: Session) -> T:
    return work(session, *args, **kwargs)
