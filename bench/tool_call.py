"""Tool calls on a big local mailbox over stdio: Postroom beside the floor server, calls interleaved.

    python bench/tool_call.py [MAILS] [CALLS] [FOLDER]

The mailbox is kept in FOLDER for the next run; without one it is made anew.
Goal: the medians within 1.25x of the floor.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp_stdio import StdioServer

HERE = Path(__file__).parent
CONFIG = """
[[accounts]]
name = "bench"
provider = "local"
address = "owner@bench.example"
path = "{mailbox}"
"""
CALLS: dict[str, tuple[str, dict[str, object]]] = {
    "list 20": ("list_emails", {"limit": 20}),
    "search, half of all": ("search_emails", {"query": "plantedhalf", "limit": 20}),
    "search, one in 100": ("search_emails", {"query": "plantedmid", "limit": 20}),
    "search, rare": ("search_emails", {"query": "plantedrare", "limit": 20}),
}


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def report(name: str, ours: list[float], floor: list[float]) -> None:
    middle, bottom = statistics.median(ours), statistics.median(floor)
    print(
        f"{name:20} postroom p50 {middle:6.2f} p99 {percentile(ours, 0.99):6.2f}   "
        f"floor p50 {bottom:6.2f} p99 {percentile(floor, 0.99):6.2f} ms   {middle / bottom:.2f}x"
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
        env = {**os.environ, "POSTROOM_HOME": home}
        with StdioServer(ours_command, env) as ours, StdioServer(floor_command) as floor:
            for name, (tool, arguments) in CALLS.items():
                for server in (ours, floor):
                    server.call(tool, arguments)  # the first call opens the mailbox
                pairs = [(ours.call(tool, arguments)[0], floor.call(tool, arguments)[0]) for _ in range(calls)]
                report(name, [mine for mine, _ in pairs], [its for _, its in pairs])


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    numbers = (*given, *(50_000, 200)[len(given) :])
    if len(sys.argv) > 3:
        main(*numbers, Path(sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as passing:
            main(*numbers, Path(passing))
