"""Clients of the HTTP server in dialect mailapi: what they ask for, and what became of it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

ME, YOU = "me@demo.example", "you@demo.example"
TOPICS = 40
SHARES = {
    "list_emails": 35,
    "read_email": 25,
    "search_emails": 15,
    "mark_email": 10,
    "move_email": 5,
    "send_email": 5,
    "tools/list": 5,
}
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@dataclass(slots=True)
class Load:
    """`pause` is the seconds that a client waits between two calls, on average. A call that is turned away is repeated;
    its time runs from the last attempt."""

    port: int
    ids: list[str]
    left: int
    pause: float = 0.0
    times: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    async def run(self, clients: int) -> None:
        await asyncio.gather(*(self._client(seed) for seed in range(clients)))

    async def _client(self, seed: int) -> None:
        luck = random.Random(seed)
        await asyncio.sleep(luck.random() * self.pause)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**24)
        while self.left > 0:
            self.left -= 1
            call = luck.choices(list(SHARES), list(SHARES.values()))[0]
            body = posted(call, arguments_of(call, luck, self.ids, self.left))
            while not await self._attempt(reader, writer, call, body):
                await asyncio.sleep(1 + luck.random())  # as Retry-After says, and not all at once
            if self.pause:
                await asyncio.sleep(min(4.0, luck.expovariate(1 / self.pause)))  # a connection is kept for five
        writer.close()

    async def _attempt(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, call: str, body: bytes
    ) -> bool:
        """Whether it was answered."""
        began = time.perf_counter()
        writer.write(body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        answer = await reader.readexactly(length)
        seconds, status = time.perf_counter() - began, int(head[9:12])
        if status == 503:
            self.ends["turned away"] += 1
            return False
        self.times[call].append(seconds)
        self.ends[self._end(call, status, answer)] += 1
        return True

    def _end(self, call: str, status: int, answer: bytes) -> str:
        if b'"result":' in answer[:60]:
            return "ok"
        message = json.loads(answer).get("error", {}).get("message", "")
        if message.startswith("Failed to "):
            return "clear error"
        self.wrong.append(f"{call} {status} {answer[:300]!r}")
        return "wrong"


def posted(call: str, arguments: dict[str, Any]) -> bytes:
    is_tool = call != "tools/list"
    params = {"name": call, "arguments": arguments} if is_tool else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call" if is_tool else call, "params": params}
    body = json.dumps(message).encode()
    return HEAD % len(body) + body


def arguments_of(call: str, luck: random.Random, ids: list[str], number: int) -> dict[str, Any]:
    match call:
        case "list_emails":
            return {"limit": luck.choice((5, 20))}
        case "read_email":
            return {"email_id": luck.choice(ids)}
        case "search_emails":
            return {"query": f"topic{luck.randrange(TOPICS)}"}
        case "mark_email":
            return {"email_id": luck.choice(ids), "flag": luck.choice(("read", "unread", "starred"))}
        case "move_email":
            return {"email_id": luck.choice(ids), "to_mailbox": luck.choice(("INBOX", "Archive"))}
        case "send_email":
            return {"to": [YOU], "subject": f"load {number}", "body": f"call {number}"}
    return {}
