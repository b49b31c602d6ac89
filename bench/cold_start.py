"""Cold start to the first tools/list over stdio: Postroom beside the bare SDK, runs interleaved.

    python bench/cold_start.py [RUNS]

Goal: the ratio of the medians at most 1.3.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mcp_stdio import StdioServer

BARE = [sys.executable, str(Path(__file__).with_name("bare_server.py"))]
POSTROOM = [sys.executable, "-m", "postroom", "serve"]


def time_to_tools(command: list[str], env: Mapping[str, str]) -> float:
    with StdioServer(command, env) as server:
        answer = server.request("tools/list")
        assert answer["result"]["tools"]
        return server.age


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "POSTROOM_HOME": home, "PYTHONPYCACHEPREFIX": f"{home}/byte-code"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # both start from byte code, as an installed package does
        commands = {"bare SDK": BARE, "postroom": POSTROOM}
        for command in commands.values():
            time_to_tools(command, env)  # writes the byte code
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                times[name].append(time_to_tools(command, env))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, median in medians.items():
        print(f"{name:9} median {median * 1000:6.0f} ms   best {min(times[name]) * 1000:6.0f} ms")
    print(f"ratio     {medians['postroom'] / medians['bare SDK']:.2f}x (goal: at most 1.3x)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
