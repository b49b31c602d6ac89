"""Tool calls on a big local mailbox over stdio: Postroom beside the floor server, calls interleaved.

    python bench/tool_call.py [MAILS] [CALLS] [FOLDER]

The mailbox is kept in FOLDER for the next run; without one it is made anew. Prints the table of the README: times as
the client sees them, which only a quiet machine gives, and the processor time of each server for a call, the least of
several rounds.
Goal: the medians within 1.25x of the floor.
"""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_stdio import StdioServer

HERE = Path(__file__).parent
ROUNDS = 10
CONFIG = """
[[accounts]]
name = "bench"
provider = "local"
address = "owner@bench.example"
path = "{mailbox}"
"""
Arguments = Mapping[str, object]
SEARCHES = {"half of all": "plantedhalf", "one in 100": "plantedmid", "rare": "plantedrare"}
HEAD = """| call | Postroom p50 / p99 | floor p50 / p99 | ratio | CPU: Postroom | floor | ratio |
|---|---|---|---|---|---|---|"""


class Side:
    """One of the two servers, and what its calls took."""

    def __init__(self, server: StdioServer, shown: list[str]) -> None:
        self.server = server
        self._shown = shown  # ids of the newest messages
        self.times: list[float] = []
        self.cpu: list[float] = []

    def forget(self) -> None:
        self.times, self.cpu = [], []

    def run(self, tool: str, arguments: Callable[[str], Arguments], calls: int) -> None:
        before = self.server.cpu
        for number in range(calls):
            self.times.append(self.server.call(tool, arguments(self._shown[number % len(self._shown)]))[0])
        self.cpu.append((self.server.cpu - before) / calls)

    def __str__(self) -> str:
        return f"{self.median:.2f} / {percentile(self.times, 0.99):.2f} ms"

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def compared(name: str, tool: str, arguments: Callable[[str], Arguments], sides: tuple[Side, Side], calls: int) -> None:
    for side in sides:
        side.run(tool, arguments, 5)  # the first call opens the mailbox
        side.forget()
    for _ in range(ROUNDS):
        for side in sides:
            side.run(tool, arguments, max(1, calls // ROUNDS))
    ours, floor = sides
    cpu, least = min(ours.cpu), min(floor.cpu)
    print(
        f"| {name} | {ours} | {floor} | {ours.median / floor.median:.2f}x "
        f"| {cpu:.2f} ms | {least:.2f} ms | {cpu / least:.2f}x |",
        flush=True,
    )


def filled(folder: Path, mails: int) -> Path:
    """The mailbox with that many mails, made where it is not there yet."""
    mailbox, unfinished = folder / f"{mails}.db", folder / f"{mails}.unfinished"
    if not mailbox.exists():
        subprocess.run([sys.executable, HERE / "corpus.py", "fill", unfinished, str(mails)], check=True)
        unfinished.rename(mailbox)
    return mailbox


def newest(ours: StdioServer, floor: StdioServer) -> tuple[list[str], list[str]]:
    """The ids of the same messages at both."""
    listed = ours.call("list_emails", {"limit": 20})[1]["structuredContent"]["results"]
    lines = floor.call("list_emails", {"limit": 20})[1]["content"][0]["text"].splitlines()
    return [row["email_id"] for row in listed], [ast.literal_eval(line)[0] for line in lines]


def main(mails: int, calls: int, folder: Path) -> None:
    mailbox = filled(folder, mails)
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, "postroom.toml")
        config.write_text(CONFIG.format(mailbox=mailbox.absolute()))
        ours_command = [sys.executable, "-m", "postroom", "serve", "--config", str(config)]
        floor_command = [sys.executable, str(HERE / "floor_server.py"), str(mailbox)]
        env = {**os.environ, "POSTROOM_HOME": home}
        with StdioServer(ours_command, env) as ours, StdioServer(floor_command) as floor:
            shown = newest(ours, floor)
            sides = Side(ours, shown[0]), Side(floor, shown[1])
            print(HEAD)
            compared("`list_emails`, 20", "list_emails", lambda _: {"limit": 20}, sides, calls)
            for name, word in SEARCHES.items():
                query = {"query": word, "limit": 20}
                compared(f"`search_emails`, {name}", "search_emails", lambda _, query=query: query, sides, calls)  # type: ignore[misc]
            compared("`read_email`", "read_email", lambda shown: {"email_id": shown}, sides, calls)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    numbers = (*given, *(50_000, 400)[len(given) :])
    if len(sys.argv) > 3:
        main(*numbers, Path(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as passing:
            main(*numbers, Path(passing))
