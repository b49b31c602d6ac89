"""Many clients at once over HTTP, in dialect mailapi: how many calls succeed, how long they take, what stays in memory.

    python bench/http_load.py rest|local [CALLS] [CLIENTS] [FAULTS] [PAUSE]

Mixed calls (list, read, search, mark, move, send, tools/list), each client on its own connection, one call after the
other with PAUSE milliseconds between them on average. Over `rest` the upstream is the test peer, whose own time is
measured there; FAULTS of its requests fail.
Goals: every call succeeds, except for injected faults, which are clear errors; p99 under 50 ms over the upstream's own.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.http_fuzz import ask, errors_logged, memory
from tests.faults.http_process import HttpProcess, http_process
from tests.peers.rest import RestPeer

ME, YOU = "me@demo.example", "you@demo.example"
MAILS, TOPICS = 200, 40
SAFETY = '[safety]\ngate = "confirm"\nsends_per_hour = 10000000\n'
REST = '[server]\nbind_addr = "127.0.0.1:8090"\n[mail_api]\nbase_url = "{url}"\nauth_token = "{token}"\n'
LOCAL = (
    '[server]\ndialect = "mailapi"\n[[accounts]]\nname = "me"\nprovider = "local"\naddress = "me@demo.example"\n'
    '[[accounts]]\nname = "you"\nprovider = "local"\naddress = "you@demo.example"\n'
)


class TimedPeer(RestPeer):
    """Remembers how long it had each request."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.seconds = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        began = time.perf_counter()
        await super().__call__(scope, receive, send)
        self.seconds += time.perf_counter() - began


@dataclass(slots=True)
class Load:
    """What the clients did and saw."""

    ids: list[str]
    times: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left: int = 0
    pause: int = 0  # milliseconds, on average

    def next_call(self, luck: random.Random, number: int) -> tuple[str, dict[str, Any]]:
        chosen = luck.choices(list(SHARES), list(SHARES.values()))[0]
        if chosen == "tools/list":
            return chosen, {}
        email_id = luck.choice(self.ids)
        arguments: dict[str, dict[str, Any]] = {
            "list_emails": {"limit": luck.choice((5, 20))},
            "read_email": {"email_id": email_id},
            "search_emails": {"query": f"topic{luck.randrange(TOPICS)}"},
            "mark_email": {"email_id": email_id, "flag": luck.choice(("read", "unread", "starred"))},
            "move_email": {"email_id": email_id, "to_mailbox": luck.choice(("INBOX", "Archive"))},
            "send_email": {"to": [YOU], "subject": f"load {number}", "body": f"call {number}"},
        }
        return chosen, arguments[chosen]

    def record(self, call: str, seconds: float, status: int, body: bytes) -> None:
        self.times["turned away" if status == 503 else call].append(seconds)
        answer = json.loads(body)
        message = answer.get("error", {}).get("message", "")
        end = "ok" if "result" in answer else "turned away" if status == 503 else "clear error"
        if end == "clear error" and not message.startswith("Failed to "):
            end = "wrong"
            self.wrong.append(f"{call} {status} {body[:300]!r}")
        self.ends[end] += 1
        if end == "clear error":
            self.ends[message[:100]] += 1


SHARES = {
    "list_emails": 35,
    "read_email": 25,
    "search_emails": 15,
    "mark_email": 10,
    "move_email": 5,
    "send_email": 5,
    "tools/list": 5,
}


def text(number: int) -> str:
    return f"About topic{number % TOPICS}, and a report.\n" * 20


def mails() -> Iterator[bytes]:
    for number in range(MAILS):
        mail = EmailMessage()
        mail["From"], mail["To"] = f"Writer {number} <w{number}@demo.example>", ME
        mail["Subject"], mail["Message-ID"] = f"Planning {number}", f"<{number}@bench.example>"
        mail["Date"] = "Mon, 16 Nov 2026 10:00:00 +0000"
        mail.set_content(text(number))
        yield mail.as_bytes()


@contextmanager
def served(kind: str, home: Path) -> Iterator[tuple[HttpProcess, TimedPeer | None]]:
    config = home / "config.toml"
    if kind == "local":
        config.write_text(LOCAL + SAFETY)
        config.chmod(0o600)
        with http_process(home, config=config) as server:
            yield server, None
        return
    with TimedPeer(home).run() as peer:
        users = [peer.add_user(address) for address in (ME, YOU)]
        for raw in mails():
            users[0].store.add(raw)
        config.write_text(REST.format(url=peer.url, token=users[0].new_token()) + SAFETY)
        config.chmod(0o600)
        with http_process(home, config=config) as server:
            yield server, peer


def fill_local(server: HttpProcess) -> None:
    """By mails to oneself: the dialect has no other way in."""
    for number in range(MAILS):
        arguments = {
            "to": [ME],
            "subject": f"Planning {number}",
            "body": text(number),
        }
        answer = ask(server, "tools/call", {"name": "send_email", "arguments": arguments})
        assert b"successfully" in answer, answer


async def request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, call: str, arguments: Any
) -> tuple[int, bytes]:
    method, params = (
        ("tools/list", {}) if call == "tools/list" else ("tools/call", {"name": call, "arguments": arguments})
    )
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answered = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(answered.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    return int(answered.split(b" ", 2)[1]), await reader.readexactly(length)


async def client(server: HttpProcess, load: Load, seed: int) -> None:
    luck = random.Random(seed)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**24)
    while load.left > 0:
        load.left -= 1
        call, arguments = load.next_call(luck, load.left)
        while True:
            began = time.perf_counter()
            status, body = await request(reader, writer, call, arguments)
            load.record(call, time.perf_counter() - began, status, body)
            if status != 503:
                break
            await asyncio.sleep(1 + luck.random())  # as Retry-After says, and not all at once
        if load.pause:
            await asyncio.sleep(min(4.0, luck.expovariate(1000 / load.pause)))  # a connection is kept for five
    writer.close()


async def watch(server: HttpProcess, load: Load, peer: TimedPeer | None, faults: int) -> None:
    """Prints memory now and then, and spreads the faults over the run."""
    total, step = load.left, max(1, load.left // 10)
    pending, shown = faults, total
    while load.left > 0:
        await asyncio.sleep(0.02)
        while peer and pending and load.left < total * pending / (faults + 1):
            pending -= 1
            peer.fail_next("*", "/api/message*", status=(500, 503, 429)[pending % 3])
        if shown - load.left >= step:
            shown = load.left
            print(f"{total - load.left:7} calls {memory(server):7.1f} MB", flush=True)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1000


def report(load: Load, peer: TimedPeer | None, calls: int, seconds: float) -> None:
    upstream = 1000 * peer.seconds / calls if peer else 0.0
    every = [each for name, times in load.times.items() if name != "turned away" for each in times]
    for name, times in [*sorted(load.times.items()), ("all answered", every)]:
        p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
        print(f"{name:14} {len(times):6} calls   p50 {p50:7.1f}   p99 {p99:7.1f}   most {max(times) * 1000:7.1f} ms")
    if peer:
        print(f"upstream: {len(peer.requests)} requests, {upstream:.1f} ms of its own time for a call on average")
    print(f"{calls} calls in {seconds:.1f} s, {calls / seconds:.0f} a second")
    print(f"ends: {dict(load.ends)}")
    print("\n".join(load.wrong[:10]))


def main(kind: str, calls: int, clients: int, faults: int, pause: int) -> int:
    with tempfile.TemporaryDirectory() as folder, served(kind, Path(folder)) as (server, peer):
        if peer is None:
            fill_local(server)
        listed = ask(server, "tools/call", {"name": "list_emails", "arguments": {"limit": 100}}).decode()
        load = Load([part.split("\\n", 1)[0] for part in listed.split("ID: ")[1:]], left=calls, pause=pause)
        if peer:
            peer.seconds = 0.0
            peer.forget()
        began = time.perf_counter()

        async def everybody() -> None:
            watching = asyncio.create_task(watch(server, load, peer, faults))
            await asyncio.gather(*(client(server, load, seed) for seed in range(clients)))
            await watching

        asyncio.run(everybody())
        report(load, peer, calls, time.perf_counter() - began)
        errors = errors_logged(server)
        print(f"{len(errors)} errors logged", *errors[:3], sep="\n")
        return 1 if load.wrong or errors or load.ends["clear error"] > faults else 0


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[2:]]
    sys.exit(main(sys.argv[1], *(numbers + [10_000, 32, 100, 0][len(numbers) :])))
