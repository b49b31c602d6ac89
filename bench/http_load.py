"""Many clients at once over HTTP, in dialect mailapi: how many calls succeed, how long they take, what they cost.

    python bench/http_load.py [local|rest|all] [CALLS] [CLIENTS]

Mixed calls (list, read, search, mark, move, send, tools/list), each client on its own connection, one call after the
other: first without a pause, which shows what the server can do, then with a second between two calls on average, as
agents have it. Over `rest` the upstream is the test peer in a process of its own; where nobody pauses, one of its
requests fails for every hundred calls (not where latency counts: one call in a hundred that waits before it asks again
would be the p99). `all` (10,000 calls each) takes about a quarter of an hour, and ends with 200 clients that do not
pause.

Prints the table of the README. "Above" is a call's time without that which the upstream takes for such a call when
nothing else is to be done: that it is slower under load counts against the server.
Goals: every call succeeds or, where a fault was injected, fails with a clear error; p99 of the calls with a pause under
50 ms above the upstream; with 200 clients p99 under a second, or calls turned away.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.http_fuzz import ask, errors_logged, memory
from tests.faults.http_process import HttpProcess, http_process

from http_clients import ME, SHARES, TOPICS, YOU, Load, arguments_of
from processor import Processor
from timed_peer import Upstream, running

MAILS, ALONE = 200, 10
SAFETY = '[safety]\ngate = "confirm"\nsends_per_hour = 10000000\n'
REST = '[server]\nbind_addr = "127.0.0.1:8090"\n[mail_api]\nbase_url = "{url}"\nauth_token = "{token}"\n'
LOCAL = (
    '[server]\ndialect = "mailapi"\n[[accounts]]\nname = "me"\nprovider = "local"\naddress = "me@demo.example"\n'
    '[[accounts]]\nname = "you"\nprovider = "local"\naddress = "you@demo.example"\n'
)
TITLES = """| mailbox, clients, pause | succeeded | clear errors | turned away | p50 / p99 | above, p50 / p99 \
| p99 without sends | a second | CPU a call, server / clients | memory, MB |
|---|---|---|---|---|---|---|---|---|---|"""


@dataclass(slots=True)
class Bench:
    """One server, and the upstream's own seconds for each kind of call when nothing else is to be done."""

    kind: str
    server: HttpProcess
    upstream: Upstream | None
    ids: list[str]
    alone: dict[str, float]

    def measure(self, calls: int, clients: int, pause: float) -> bool:
        """Prints a row. Whether all was as it should be."""
        load, processor = Load(self.server.port, self.ids, calls, pause), Processor(self.server.process.pid)
        faults = calls // 100 if self.upstream and not pause else 0
        memories = [memory(self.server)]
        spent, own, began = processor.ms(), time.process_time(), time.perf_counter()
        if self.upstream:
            self.upstream.used()
        asyncio.run(self._run(load, clients, faults))
        seconds = time.perf_counter() - began
        cost = (processor.ms() - spent) / calls, (time.process_time() - own) * 1000 / calls
        memories.append(memory(self.server))
        self._row(load, clients, pause, seconds, cost, memories)
        errors = errors_logged(self.server)
        for line in [*load.wrong[:10], *errors[:10]]:
            print(line, file=sys.stderr)
        return not load.wrong and not errors and load.ends["clear error"] <= faults

    async def _run(self, load: Load, clients: int, faults: int) -> None:
        injecting = asyncio.create_task(self._inject(load, faults))
        await load.run(clients)
        await injecting

    async def _inject(self, load: Load, faults: int) -> None:
        """Spread over the run."""
        total, pending = load.left, faults
        while load.left > 0 and pending and self.upstream:
            await asyncio.sleep(0.02)
            while pending and load.left < total * pending / (faults + 1):
                pending -= 1
                self.upstream.fail_once(pending)

    def _row(
        self, load: Load, clients: int, pause: float, seconds: float, cost: tuple[float, float], memories: list[float]
    ) -> None:
        every = [(call, each) for call, times in load.times.items() for each in times]
        total = [each for _, each in every]
        above = [each - self.alone.get(call, 0.0) for call, each in every]
        others = [each for call, each in every if call != "send_email"]
        cells = [
            f"{self.kind}, {clients}, {f'{pause:g} s' if pause else 'none'}",
            f"{load.ends['ok']:,} of {len(total):,}",
            f"{load.ends['clear error']}",
            f"{load.ends['turned away']}",
            f"{ms(total, 0.5)} / {ms(total, 0.99)} ms",
            f"{ms(above, 0.5)} / {ms(above, 0.99)} ms",
            f"{ms(others, 0.99)} ms",
            f"{len(total) / seconds:.0f}",
            f"{cost[0]:.2f} / {cost[1]:.2f} ms",
            " / ".join(f"{each:.0f}" for each in memories),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def ms(times: list[float], share: float) -> str:
    return f"{sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1000:.0f}"


@contextmanager
def opened(kind: str) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder, served(kind, Path(folder)) as (server, upstream):
        if upstream is None:
            fill(server)
        listed = ask(server, "tools/call", {"name": "list_emails", "arguments": {"limit": 100}}).decode()
        bench = Bench(kind, server, upstream, [part.split("\\n", 1)[0] for part in listed.split("ID: ")[1:]], {})
        if upstream:
            bench.alone = {call: alone(bench, upstream, call) for call in SHARES if call != "tools/list"}
        yield bench


def alone(bench: Bench, upstream: Upstream, call: str) -> float:
    """The upstream's own seconds for such a call, and a line about it."""
    luck, number = random.Random(1), 0
    upstream.used()
    for number in range(1, ALONE + 1):
        ask(bench.server, "tools/call", {"name": call, "arguments": arguments_of(call, luck, bench.ids, -number)})
    seconds, asked = upstream.used()
    print(f"{call}: {asked / number:.1f} upstream requests, {seconds / number * 1000:.1f} ms there", file=sys.stderr)
    return seconds / number


@contextmanager
def served(kind: str, home: Path) -> Iterator[tuple[HttpProcess, Upstream | None]]:
    config = home / "config.toml"
    config.touch(0o600)
    if kind == "local":
        config.write_text(LOCAL + SAFETY)
        with http_process(home, config=config) as server:
            yield server, None
        return
    with running(home, (ME, YOU), mails()) as upstream:
        config.write_text(REST.format(url=upstream.url, token=upstream.token) + SAFETY)
        with http_process(home, config=config) as server:
            yield server, upstream


def fill(server: HttpProcess) -> None:
    """By mails to oneself: the dialect has no other way in."""
    for number in range(MAILS):
        arguments = {"to": [ME], "subject": f"Planning {number}", "body": text(number)}
        answer = ask(server, "tools/call", {"name": "send_email", "arguments": arguments})
        assert b"successfully" in answer, answer


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


def main(kind: str, calls: int, clients: int) -> int:
    print(TITLES, flush=True)
    is_well = True
    for one in ("local", "rest") if kind == "all" else (kind,):
        with opened(one) as bench:
            is_well &= bench.measure(calls, clients, 0.0)
            is_well &= bench.measure(calls, clients, 1.0)
            if kind == "all":
                is_well &= bench.measure(calls, 200, 0.0)
    return 0 if is_well else 1


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[2:]]
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "all", *(numbers + [10_000, 32][len(numbers) :])))
