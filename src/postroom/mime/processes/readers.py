"""Processes that read messages. A message may crash one, or keep it busy until the system kills it: then all are
replaced, and the message is identified when the same happens again with it alone, to a process that has no other."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from postroom.mime.processes import streams

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

    from postroom.mime.processes.pool import Pool

T = TypeVar("T")
R = TypeVar("R")

_MODULE: Final = "readers"  # of this package, with `serve`
PATIENCE = 30.0  # seconds for one message or some read together; the slowest known takes a third of one second
_LONGER = 2.0  # times that, until a reader that does not end itself is ended
_START = 60.0  # seconds until new processes respond
_GARBAGE = 50_000  # objects
_POLITE = 10
_TRIES = 2  # with one message alone: its reader may have been killed for another reason, such as a lack of memory
_MOST_LOST = 10  # messages that crashed their reader before any was read: beyond that the cause is something else


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_or(instead: Callable[[T], R], read: Callable[[Sequence[T]], list[R]], mail: T) -> R:
    try:
        return read([mail])[0]
    except Exception:  # noqa: BLE001 - whatever a stranger's mail breaks, it must not stop the others
        return instead(mail)


def look_rarely_for_garbage() -> None:
    """For a process that handles messages by the thousand: otherwise that takes a twentieth of its time."""
    import gc

    gc.freeze()  # modules are not garbage,
    gc.set_threshold(_GARBAGE)  # and what is read has few cycles


@dataclass(frozen=True, slots=True)
class Given(Generic[R]):
    """What the readers of one pool are reading; without a pool, what was read here."""

    results: list[R] | Future[bytes]
    pool: Pool | None = None


class Readers(Generic[T, R]):
    """`read` takes some messages and raises if it cannot read one of them; then it is given them one by one. If no
    process can be started, messages are read in the caller's own. One thread may give messages while another takes the
    results."""

    def __init__(
        self,
        read: Callable[[Sequence[T]], list[R]],
        instead: Callable[[T], R],
        count: int,
        patience: float = PATIENCE,
    ) -> None:
        self._read = read
        self._instead = instead
        self._count = count
        self._patience = patience
        self._lost = 0
        self._has_read = False
        self._pool = _pool(count, patience)
        self._alone: Pool | None = None
        for _ in range(count):
            self.give([])  # each loads what it reads with, before the first messages come

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._close()

    def give(self, mails: list[T]) -> Given[R]:
        """Starts reading them; `results` waits for the outcome."""
        return self._given(self._pool, mails)

    def _given(self, pool: Pool | None, mails: list[T]) -> Given[R]:
        if pool is None:
            return Given([read_or(self._instead, self._read, mail) for mail in mails])
        return Given(pool.give(_read_all, self._read, self._instead, self._patience, mails), pool)

    def results(self, given: Given[R] | None) -> list[R] | None:
        """None if a reader was lost, with these messages or with others."""
        if given is None:
            return None
        if isinstance(given.results, list):
            results: list[R] | None = given.results
        else:
            results = _unless_lost(given.results)
        self._has_read = self._has_read or results is not None
        return results

    def read_alone(self, mail: T) -> R:
        for _ in range(_TRIES):
            self._mend()
            results = self.results(self._given(self._alone, [mail]))
            if results is not None:
                return results[0]
            _end(self._alone)
            self._alone = None
        self._lost += 1
        return self._instead(mail)

    def _mend(self) -> None:
        """New processes for lost ones, if any can be started. If they have read something before, they are not to
        blame: in the caller's own process, the next message of that kind would end the caller."""
        if self._pool is None:
            return
        if self._pool.is_lost:
            lost, self._pool = self._pool, _pool(self._count, self._patience)
            _end(lost)
        if self._alone is None:
            is_hopeless = self._lost >= _MOST_LOST and not self._has_read
            self._alone = None if is_hopeless else _pool(1, self._patience)
            if self._alone is None or not _answers(self._alone):
                self._close()

    def _close(self) -> None:
        ended = self._pool, self._alone
        self._pool = self._alone = None
        for pool in ended:
            _end(pool)


def _end(pool: Pool | None) -> None:
    if pool is not None:
        pool.end()


def _pool(count: int, patience: float) -> Pool | None:
    from postroom.mime.processes.pool import Pool

    try:
        return Pool(_MODULE, count, max(_START, _LONGER * patience))
    except OSError:  # no permission to start processes, or no room for them
        return None


def _answers(pool: Pool) -> bool:
    return _unless_lost(pool.give(abs, 1), _START) is not None


def _unless_lost(outcome: Future[bytes], patience: float | None = None) -> Any:
    """What was raised instead of a result is raised here."""
    from postroom.mime.processes.pool import Lost

    try:
        result, error = pickle.loads(outcome.result(patience))  # noqa: S301 (of our own process)
    except (Lost, TimeoutError):
        return None
    if error is not None:
        raise error
    return result


# --- inside a reader


def serve() -> None:
    """Until the input ends, or nobody takes the results any more."""
    tasks, results = streams.taken_over()
    look_rarely_for_garbage()
    if hasattr(os, "nice"):
        os.nice(_POLITE)  # whoever fetches and writes goes first: it is what all wait for in the end
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    while task := streams.read(tasks):
        function, args = pickle.loads(task)  # noqa: S301
        streams.write(results, pickle.dumps(_outcome(function, args), pickle.HIGHEST_PROTOCOL))


def _outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return function(*args), None
    except Exception as error:  # noqa: BLE001 - for the caller to raise
        return None, error


def _read_all(
    read: Callable[[Sequence[T]], list[R]], instead: Callable[[T], R], patience: float, mails: list[T]
) -> list[R]:
    _end_after(patience)
    try:
        results = read(mails)
    except Exception:  # noqa: BLE001 - of one of them
        results = []
        for mail in mails:
            _end_after(patience)
            results.append(read_or(instead, read, mail))
    _end_after(0)
    return results


def _end_after(seconds: float) -> None:
    """The system then kills this process, even inside a library call that never returns; 0 cancels it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
