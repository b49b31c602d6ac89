"""Processes of our own that get their tasks by standard input and put their results on standard output.

Started by `subprocess`: `multiprocessing` would load the main module of the caller in each.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO, BinaryIO, Final

# What such a process imports is decided by its parent, not by the environment or the server's working directory.
_BOOT: Final = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from postroom.mime.processes.{0} import serve; serve()"
)
_LENGTH: Final = 8  # bytes


def started(module: str) -> subprocess.Popen[bytes]:
    """Which runs `serve` of that module. OSError where no process can be started."""
    if not sys.executable:
        raise FileNotFoundError("there is no interpreter to start")
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-c", _BOOT.format(module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a traceback may contain words of a message
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    with suppress(OSError):  # whoever waits for its results notices that it has ended
        pickle.dump(sys.path, tasks_of(process), pickle.HIGHEST_PROTOCOL)
        tasks_of(process).flush()
    return process


def tasks_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def results_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # unwritten input of a process that is gone
                pipe.close()
    process.wait()


def write(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(_LENGTH, "big"))
    stream.write(content)
    stream.flush()


def read(stream: IO[bytes]) -> bytes:
    """Empty at the end, also where that comes too early."""
    length = int.from_bytes(stream.read(_LENGTH), "big")
    content = stream.read(length)
    return content if len(content) == length else b""


# --- inside such a process


def taken_over() -> tuple[BinaryIO, BinaryIO]:
    """Where tasks come from, and where results go: nothing else may be written there. Interrupts are left to the
    parent."""
    tasks, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return tasks, results
