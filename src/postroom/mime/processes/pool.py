"""Some processes that take tasks in turns, several tasks at a time so that none waits for its next one.

Leaner than `ProcessPoolExecutor`, whose locks, queues and calls of the system took longer than the messages passed."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from subprocess import Popen
from threading import Event, Lock, Thread
from typing import Any, Final

from postroom.mime.processes import streams

_UNDER_WAY: Final = 2  # tasks of one process
_LOOKS: Final = 20  # at each process, until its time is up


class Lost(Exception):
    """The process that had the task has ended, or another one of its pool: then all are ended."""


class Pool:
    """`module` runs the tasks (see `streams`), each in less than `patience` seconds. One that takes longer is lost: it
    may have been stopped, or wait for a disk that does not answer, where no alarm of its own goes off."""

    def __init__(self, module: str, count: int, patience: float) -> None:
        """OSError where no process can be started."""
        self._patience = patience
        self._is_over = Event()
        self._lock = Lock()
        self._is_lost = False
        self._given: set[Future[bytes]] = set()
        self._tasks: SimpleQueue[tuple[Future[bytes], bytes] | None] = SimpleQueue()
        self._free: SimpleQueue[_Process] = SimpleQueue()  # each as often as it may be given a task
        self._processes: list[_Process] = []
        try:
            self._start(module, count)
        except (OSError, RuntimeError) as error:  # the latter where there is no room for a thread
            self.end()
            raise OSError("No processes can be started.") from error

    def _start(self, module: str, count: int) -> None:
        for _ in range(count):
            self._processes.append(_Process(module))
        for process in self._processes * _UNDER_WAY:
            self._free.put(process)
        for process in self._processes:
            Thread(target=self._receive, args=(process,), daemon=True).start()
        Thread(target=self._send, daemon=True).start()
        Thread(target=self._watch, daemon=True).start()

    @property
    def is_lost(self) -> bool:
        return self._is_lost

    def give(self, function: Callable[..., Any], *args: Any) -> Future[bytes]:
        """The result as the module writes it, or `Lost`."""
        task = pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
        future: Future[bytes] = Future()
        with self._lock:
            if not self._is_lost:
                self._given.add(future)
                self._tasks.put((future, task))
                return future
        future.set_exception(Lost())
        return future

    def end(self) -> None:
        self._lose()
        for process in self._processes:
            streams.end(process.process)

    def _send(self) -> None:
        """One that is slow to take its task holds up nobody for ever: its results are received meanwhile."""
        while (given := self._tasks.get()) is not None:
            future, task = given
            process = self._free.get()
            process.under_way.append(future)
            with suppress(OSError, ValueError):  # it has ended, which the others notice
                streams.write(streams.tasks_of(process.process), task)

    def _receive(self, process: _Process) -> None:
        with suppress(OSError, ValueError):
            while result := streams.read(streams.results_of(process.process)):
                process.looks = 0
                self._settle(process.under_way.popleft(), result)
                self._free.put(process)
        self._lose()

    def _watch(self) -> None:
        """By looks, not by a clock: while this process is stopped itself, nobody's time passes."""
        while not self._is_over.wait(self._patience / _LOOKS):
            for process in self._processes:
                process.looks = process.looks + 1 if process.under_way else 0
            if any(process.looks > _LOOKS for process in self._processes):
                self._lose()

    def _settle(self, future: Future[bytes], result: bytes) -> None:
        with self._lock:
            if future not in self._given:
                return
            self._given.remove(future)
        future.set_result(result)

    def _lose(self) -> None:
        with self._lock:
            lost, self._given, self._is_lost = self._given, set(), True
        self._is_over.set()
        for future in lost:
            future.set_exception(Lost())
        for process in self._processes:
            process.process.kill()
            self._free.put(process)  # so that nothing waits for one any more
        self._tasks.put(None)


class _Process:
    def __init__(self, module: str) -> None:
        self.process: Final[Popen[bytes]] = streams.started(module)
        self.under_way: Final = deque[Future[bytes]]()
        self.looks = 0  # while it was at the same task
