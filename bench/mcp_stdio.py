"""A raw JSON-RPC client over pipes: what it measures is the server, not a client library."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from processor import Processor

_AT_REST = 20.0  # milliseconds of processor time in a second: less is a look at the clock now and then


def environment(home: Path | str) -> dict[str, str]:
    """Of a user with this home, whose Python keeps byte code: without it, each process compiles what it loads."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "POSTROOM_HOME": str(home)}


class StdioServer:
    """A server process, from its start to the end of its stdin."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self._processor = Processor(self._process.pid)
        self._next_id = 0

    def __enter__(self) -> StdioServer:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
        self.request("initialize", hello)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return time.perf_counter() - self._started

    @property
    def cpu(self) -> float:
        """Milliseconds of processor time so far."""
        return self._processor.ms()

    def come_to_rest(self, quiet: float = 1.0, longest: float = 20.0) -> None:
        """Waits until nothing of the start goes on in the background: the first calls would pay for it."""
        until = time.perf_counter() + longest
        before, now = -1.0, self.cpu
        while now - before > quiet * _AT_REST and time.perf_counter() < until:
            time.sleep(quiet)
            before, now = now, self.cpu

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        self._next_id += 1
        self._write({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params or {}})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._next_id:
                return answer
        raise RuntimeError("the server ended without an answer")

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
        """Milliseconds and the result of one tool call; a failed call stops the benchmark."""
        started = time.perf_counter()
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        took = (time.perf_counter() - started) * 1000
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{tool} failed: {answer}")
        return took, answer["result"]

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
