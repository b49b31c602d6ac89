"""Tool calls on a big local mailbox over stdio: Postroom beside the floor server, calls interleaved.

    python bench/tool_call.py [MAILS] [CALLS] [FOLDER]

The mailbox is kept in FOLDER for the next run; without one it is made anew. Each call is made with another message,
thread, page or word, all of which have their handles already. Prints the table of the README: times as the client sees
them, which only a quiet machine gives, and the processor time of each server for a call, the median of several rounds.
Goal: the medians within 1.25x of the floor.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mcp_stdio import StdioServer, environment
from varied import Call, Pair, calling, varied

HERE = Path(__file__).parent
ROUNDS = 10
CONFIG = """
[[accounts]]
name = "bench"
provider = "local"
address = "owner@bench.example"
path = "{mailbox}"
"""
HEAD = """| call | Postroom p50 / p99 | floor p50 / p99 | ratio | CPU: Postroom | floor | ratio |
|---|---|---|---|---|---|---|"""


class Side:
    """One of the two servers, and what its calls took."""

    def __init__(self, server: StdioServer, calls: Sequence[Call]) -> None:
        self._server = server
        self._call = calling(server, calls)
        self._times: list[float] = []
        self._cpu: list[float] = []

    def run(self, calls: int) -> None:
        before = self._server.cpu
        self._times += [self._call() for _ in range(calls)]
        self._cpu.append((self._server.cpu - before) / calls)

    def __str__(self) -> str:
        return f"{self.median:.2f} / {percentile(self._times, 0.99):.2f} ms"

    @property
    def median(self) -> float:
        return statistics.median(self._times)

    @property
    def cpu(self) -> float:
        return statistics.median(self._cpu)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def compared(name: str, pairs: Sequence[Pair], servers: tuple[StdioServer, StdioServer]) -> None:
    ours, floor = (Side(server, calls) for server, calls in zip(servers, zip(*pairs, strict=True), strict=True))
    for _ in range(ROUNDS):
        for side in (ours, floor):
            side.run(max(1, len(pairs) // ROUNDS))
    print(
        f"| {name} | {ours} | {floor} | {ours.median / floor.median:.2f}x "
        f"| {ours.cpu:.2f} ms | {floor.cpu:.2f} ms | {ours.cpu / floor.cpu:.2f}x |",
        flush=True,
    )


def filled(folder: Path, mails: int) -> Path:
    """The mailbox with that many mails, made where it is not there yet."""
    mailbox, unfinished = folder / f"{mails}.db", folder / f"{mails}.unfinished"
    if not mailbox.exists():
        subprocess.run([sys.executable, HERE / "corpus.py", "fill", unfinished, str(mails)], check=True)
        unfinished.rename(mailbox)
    return mailbox


def main(mails: int, calls: int, folder: Path) -> None:
    mailbox = filled(folder, mails)
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, "postroom.toml")
        config.write_text(CONFIG.format(mailbox=mailbox.absolute()))
        ours_command = [sys.executable, "-m", "postroom", "serve", "--config", str(config)]
        floor_command = [sys.executable, str(HERE / "floor_server.py"), str(mailbox)]
        env = environment(home)
        with StdioServer(ours_command, env) as first:
            pairs = varied(first, mailbox, Path(home, "state.db"), mails, calls)
        with StdioServer(ours_command, env) as ours, StdioServer(floor_command) as floor:
            for server in (ours, floor):
                server.call("list_emails", {"limit": 1})  # opens the mailbox
                server.come_to_rest()
            print(HEAD)
            for name, both in pairs.items():
                compared(name, both, (ours, floor))


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    numbers = (*given, *(50_000, 400)[len(given) :])
    if len(sys.argv) > 3:
        main(*numbers, Path(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as passing:
            main(*numbers, Path(passing))
