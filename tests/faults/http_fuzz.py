"""Throwing bad requests at a server process, and seeing how it took them."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.bad_requests import BadRequest
from tests.faults.http_process import HttpProcess, read_to_end

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "0"}}
AT_ONCE = 4
INTERNAL_ERROR = b'"code":-32603'  # of JSON-RPC


@dataclass(slots=True)
class Outcome:
    answers: Counter[str] = field(default_factory=Counter)  # by status; "none" where the client had to hang up first
    wrong: list[tuple[BadRequest, bytes]] = field(default_factory=list)

    def add(self, request: BadRequest, answer: bytes) -> None:
        statuses = [found.decode() for found in re.findall(rb"^HTTP/1\.1 (\d{3}) ", answer, re.MULTILINE)]
        self.answers[statuses[-1] if statuses else "none"] += 1
        is_failure = INTERNAL_ERROR in answer.replace(b" ", b"") or any(status >= "500" for status in statuses)
        if is_failure or (not statuses and (answer or request.ends)):
            self.wrong.append((request, answer))


def throw(server: HttpProcess, requests: Iterable[BadRequest]) -> Outcome:
    """Each on a connection of its own."""
    outcome, listed = Outcome(), list(requests)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for request, answer in zip(listed, threads.map(lambda each: answer_to(server, each), listed), strict=True):
            outcome.add(request, answer)
    return outcome


def answer_to(server: HttpProcess, request: BadRequest) -> bytes:
    with closing(server.connect()) as client:
        try:
            client.sendall(request.data)
            if not request.ends:
                client.shutdown(socket.SHUT_WR)
        except OSError:  # refused before it was all sent; the answer is there nevertheless
            pass
        return read_to_end(client)


def ask(
    server: HttpProcess, method: str, params: dict[str, Any], accept: str = "application/json", session: str = ""
) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: {accept}\r\n"
    head += f"Mcp-Session-Id: {session}\r\n" if session else ""
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return answer_to(server, BadRequest("good", head.encode() + body))


def tools_of(server: HttpProcess) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(ask(server, "tools/list", {}).split(b"\r\n\r\n", 1)[1])["result"]["tools"]
    return listed


def new_session(server: HttpProcess) -> str:
    found = re.search(
        rb"mcp-session-id: (\S+)", ask(server, "initialize", HELLO, "application/json, text/event-stream")
    )
    assert found is not None
    return found[1].decode()


def memory(server: HttpProcess) -> float:
    """MB that the process has in memory."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def errors_logged(server: HttpProcess) -> list[str]:
    """Also what is no log line, such as a traceback. Without settings the sample mailbox is served, which is said."""
    lines = [line for line in server.stderr.read_text().splitlines() if not line.startswith("postroom: no settings")]
    return [line for line in lines if not line.startswith("{") or json.loads(line)["level"] in ("error", "critical")]
