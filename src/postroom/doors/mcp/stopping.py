"""SIGTERM, SIGINT, a closed terminal: requests that have begun are finished and answered, within a bound.

A send is on disk before it is on the wire, so that ending at any moment is safe: the next start settles what was left.
Over HTTP uvicorn's own handlers are not used. They would end the process before the gateway is closed, in the middle of
what the worker sends, and they make the event streams of requests in progress end without the response.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from os import _exit as end_process
from types import FrameType

from postroom.doors.mcp.log import log

SECONDS = 30.0  # from the signal to the end; the examples in deploy/ wait longer before they kill
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """The first signal calls `stop`. The second ends the process, and so does the first after `SECONDS`. What is raised
    at the end is the signal, so that whoever started the process sees why it ended."""
    if threading.current_thread() is not threading.main_thread():
        yield  # as part of another program, which handles its own signals
        return
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1 and number == signal.SIGHUP:
            return  # a terminal that is closed sends more than one, by its shell and by itself
        if len(received) > 1:
            _end(number)
        _end_later(number)
        stop()

    before = {number: signal.signal(number, handle) for number in _SIGNALS if not _is_left_out(number)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])


def _is_left_out(number: int) -> bool:
    """Under nohup a closed terminal is to end nothing."""
    return number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN


def _end_later(number: int) -> None:
    timer = threading.Timer(SECONDS, _end, [number])
    timer.daemon = True
    timer.start()


def _end(number: int) -> None:
    log.warning("shutdown_forced")
    end_process(128 + number)
