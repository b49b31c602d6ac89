"""Processes for messages that may take long to read: they can be stopped, which a thread cannot.

A few, started when first needed and kept. One that takes too long is killed and replaced, and one that requests too
much memory is denied it by the system (if the system can do that). Each exits by itself when its parent is gone:
its input ends, and while it is working a system alarm fires shortly after the parent's timeout.
"""

from __future__ import annotations

import atexit
import pickle
import subprocess
from collections.abc import Callable
from threading import BoundedSemaphore, Lock, Timer
from typing import Any, Final, ParamSpec, TypeVar

from postroom.mime.limits import MAX_MEMORY, MAX_SECONDS
from postroom.mime.processes import streams

P = ParamSpec("P")
R = TypeVar("R")

_COUNT: Final = 2
_START: Final = 30.0  # seconds for a new process to respond, on a busy machine


class Unreadable(Exception):
    """Why there is no result, as a sentence for the reader of a message."""


TOO_SLOW: Final = "Reading it took too long."
BROKEN: Final = "Reading it failed."
BUSY: Final = "The server is busy with other messages."


class Workers:
    """`call` blocks: it is for threads. If no process can be started, the function runs in the caller's own."""

    def __init__(self, count: int = _COUNT, seconds: float = MAX_SECONDS, memory: int = MAX_MEMORY) -> None:
        self._seconds = seconds
        self._memory = memory
        self._free = BoundedSemaphore(count)
        self._lock = Lock()
        self._idle: list[_Worker] = []

    def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`function`, its arguments and its result must be picklable. Raises Unreadable and nothing else."""
        if not self._free.acquire(timeout=self._seconds):
            raise Unreadable(BUSY)
        try:
            worker = self._taken()
            if worker is None:
                return _here(function, *args, **kwargs)
            result, is_fit = worker.call(self._seconds, (function, args, kwargs))
            self._give_back(worker, is_fit=is_fit)
        finally:
            self._free.release()
        if isinstance(result, Unreadable):
            raise result
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the idle ones; new ones are started when needed again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def _taken(self) -> _Worker | None:
        """An idle one that is still alive, or a new one; None if none can be started."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return _started(self._seconds, self._memory)
            if worker.is_alive():
                return worker
            worker.end()

    def _give_back(self, worker: _Worker, *, is_fit: bool) -> None:
        if not is_fit:
            worker.end()
            return
        with self._lock:
            self._idle.append(worker)


class _Worker:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def call(self, seconds: float, *tasks: Any) -> tuple[Any, bool]:
        """(the response or Unreadable, whether the worker can be used again)."""
        late = Timer(seconds, self._process.kill)
        late.daemon = True
        late.start()
        try:
            for task in tasks:
                self._tell(task)
            return self._heard()
        except (OSError, EOFError, pickle.PickleError):  # it was killed, or the message crashed it
            return Unreadable(BROKEN if late.is_alive() else TOO_SLOW), False
        finally:
            late.cancel()

    def _tell(self, task: Any) -> None:
        tasks = streams.tasks_of(self._process)
        pickle.dump(task, tasks, pickle.HIGHEST_PROTOCOL)
        tasks.flush()

    def _heard(self) -> tuple[Any, bool]:
        result, is_fit = pickle.load(streams.results_of(self._process))  # noqa: S301 (of our own process)
        return result, is_fit

    def end(self) -> None:
        streams.end(self._process)


def _started(seconds: float, memory: int) -> _Worker | None:
    try:
        worker = _Worker(streams.started("worker_process"))
    except OSError:
        return None
    _, is_fit = worker.call(_START, (seconds, memory))
    if is_fit:
        return worker
    worker.end()
    return None


def _here(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        return function(*args, **kwargs)
    except Exception as error:  # anything a hostile message breaks
        raise Unreadable(BROKEN) from error


shared: Final = Workers()
atexit.register(shared.close)
