"""`postroom serve` as a client starts it: a process of its own, spoken to over its standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import mkstemp
from typing import Any

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


class Served:
    """Every line of its stdout must parse. Several may serve one home."""

    def __init__(self, home: Path, config: str = "", *, python: Path | str = sys.executable) -> None:
        if config:
            (home / "postroom.toml").write_text(config)
        settings = ["--config", str(home / "postroom.toml")] if config else []
        log, name = mkstemp(dir=home, prefix="stderr-")
        self._log = Path(name)
        self._process = subprocess.Popen(
            [python, "-m", "postroom", "serve", *settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "POSTROOM_HOME": str(home), "XDG_CONFIG_HOME": str(home)},
        )
        os.close(log)
        self.pid = self._process.pid
        self._last = 0
        self.ask("initialize", **HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message: Any) -> None:
        assert self._process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self.say({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while True:
            answer = self.hear()
            if answer.get("id") == self._last:
                return answer

    def hear(self) -> dict[str, Any]:
        """The next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"no answer: {self._log.read_text()}"
        heard: dict[str, Any] = json.loads(line)
        assert heard["jsonrpc"] == "2.0"
        return heard

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def end(self) -> list[dict[str, Any]]:
        """Close stdin, see it leave in peace with nothing more to say, and answer with its log."""
        rest, _ = self._process.communicate(timeout=30)
        assert rest == b""
        assert self._process.returncode == 0
        return [json.loads(line) for line in self._log.read_text().splitlines()]
