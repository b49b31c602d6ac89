"""The dialect graph on a real Microsoft 365 mailbox, where somebody lends one, and a second one to write to.

LIVE_GRAPH_ADDRESS=you@example.com LIVE_GRAPH_TOKEN=eyJ... LIVE_GRAPH_SECOND=other@example.com pytest tests/live
"""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

import pytest
from mcp import Client
from tests.dialects.graph_scenario import clean_up, sent_answered_and_forwarded
from tests.flows.caller import Caller

from postroom.doors.mcp.serve import server_for
from postroom.settings import build

ADDRESS, TOKEN, SECOND = (os.environ.get(f"LIVE_GRAPH_{name}", "") for name in ("ADDRESS", "TOKEN", "SECOND"))
pytestmark = pytest.mark.skipif(
    not (ADDRESS and TOKEN and SECOND),
    reason="no real account: set LIVE_GRAPH_ADDRESS, LIVE_GRAPH_SECOND, LIVE_GRAPH_TOKEN (Mail.ReadWrite, Mail.Send)",
)


async def test_a_real_mailbox_sends_answers_and_forwards_and_is_left_as_it_was(tmp_path: Path) -> None:
    account = {"name": "live", "provider": "graph", "address": ADDRESS, "token": TOKEN}
    server = server_for(build({"server": {"dialect": "graph"}, "accounts": [account]}, home=tmp_path))
    async with Client(server) as client:
        call, gateway = Caller(client), server.gateway.opened
        assert gateway is not None
        await clean_up(gateway, call)
        try:
            await sent_answered_and_forwarded(gateway, call, ADDRESS, SECOND, token_hex(4))
        finally:
            await clean_up(gateway, call)
