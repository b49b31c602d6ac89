"""What each tool call costs at Microsoft Graph: requests, bytes and single requests within batches (which its limits
count), beside the fewest requests that could do it.

    python bench/graph.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from web import measure  # isort: skip (puts the tests within reach)

from tests.peers.graph import FakeGraph

LEAST = (1, 1, 1, 1, 50)


def main() -> None:
    with tempfile.TemporaryDirectory() as home, FakeGraph.started() as graph:
        user = graph.user("bench@contoso.example")
        account = {"provider": "graph", "address": user.address, "base_url": graph.base_url}
        account["token"] = graph.token(user)

        def deliver(raw: bytes, when: float) -> None:
            graph.deliver(user, raw, when=when)

        asyncio.run(measure(graph, account, deliver, LEAST, Path(home)))


if __name__ == "__main__":
    main()
