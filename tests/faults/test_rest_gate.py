"""The gate on a REST mail API, which knows neither attempts nor our Message-ID: only a copy in Sent proves anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import ACCOUNTS, MAIL, SetClock, gate_rig
from tests.peers.rest import RestPeer

from postroom.service.sending import worker
from postroom.store import State


@pytest.fixture
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestPeer]:
    with RestPeer(tmp_path_factory.mktemp("rest")).run() as peer:
        for name in ACCOUNTS:
            peer.add_user(f"{name}@demo.example")
        yield peer
        assert peer.pending_faults == 0


def accounts(api: RestPeer) -> list[dict[str, Any]]:
    place = {"provider": "rest", "base_url": api.url}
    return [
        {"name": name, "address": user.address, "auth_token": user.new_token(), **place}
        for name, user in zip(ACCOUNTS, api.users.values(), strict=True)
    ]


def arrived(api: RestPeer) -> int:
    with api.lock:
        return len(api.users["bob@demo.example"].store.raw_mails("INBOX"))


async def test_the_copy_of_another_process_s_message_does_not_prove_that_an_equal_one_was_sent(
    tmp_path: Path, api: RestPeer
) -> None:
    """Two servers on one home, two messages that only a blind copy tells apart, one answer lost before any effect."""
    time, both = SetClock(wall=datetime.now(UTC).timestamp() - 3600), accounts(api)
    async with gate_rig(tmp_path, time=time, accounts=both, hold_seconds=60) as first:
        one = await first.send(idempotency_key="one")
        time.pass_(30)
        two = await first.send(replace(MAIL, bcc=("carol@demo.example",)), idempotency_key="two")
        time.pass_(40)
        await worker.work_once(first.gateway)
        assert first.gateway.store.outbox.get(one.send_id).state is State.DONE
    async with gate_rig(tmp_path, time=time, accounts=both, hold_seconds=60) as second:
        time.pass_(60)
        api.cut_next("POST", "message.send")
        await worker.work_once(second.gateway)
        assert arrived(api) == 1
        assert second.gateway.store.outbox.get(two.send_id).state is State.NEEDS_HUMAN
