"""A worker's side: it receives one task after another from its parent and responds to each. See `workers`."""

from __future__ import annotations

import pickle
import signal
import sys
from contextlib import suppress
from typing import Any, BinaryIO, Final

from postroom.mime.processes import streams
from postroom.mime.processes.workers import BROKEN, Unreadable

_GRACE: Final = 2.0  # seconds after which the system kills what the parent should have killed
_LARGE: Final = 400_000  # KB: one that has grown this much is not used again


def serve() -> None:
    """Until the input ends. The first message says how many seconds a task may take and how much memory."""
    tasks, answers = streams.taken_over()
    seconds, memory = pickle.load(tasks)  # noqa: S301 (of our own parent)
    _allow(memory)
    _answer(answers, None, is_fit=True)
    is_fit = True
    while is_fit:
        try:
            function, args, kwargs = pickle.load(tasks)  # noqa: S301
        except EOFError:
            return
        _end_after(seconds + _GRACE)
        is_fit = _answer(answers, _result(function, args, kwargs), is_fit=not _is_large())
        _end_after(0)


def _result(function: Any, args: Any, kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception:  # noqa: BLE001 - whatever a stranger's mail breaks, MemoryError too
        return Unreadable(BROKEN)


def _answer(answers: BinaryIO, result: Any, *, is_fit: bool) -> bool:
    pickle.dump((result, is_fit), answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()
    return is_fit


def _end_after(seconds: float) -> None:
    """The system then kills this process, even inside a library call that never returns; 0 cancels it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _allow(memory: int) -> None:
    """No more address space than that, where such limits exist (not on Windows) and the system enforces them."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, ValueError, OSError):
        return


def _is_large() -> bool:
    return _peak() > _LARGE


def _peak() -> int:
    """The peak memory of this process in KB. On Linux `ru_maxrss` starts with the parent's peak, so the kernel's status
    file of the process is read first."""
    with suppress(OSError), open("/proc/self/status", "rb") as status:  # noqa: PTH123 (without pathlib: loaded for this)
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1])
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
