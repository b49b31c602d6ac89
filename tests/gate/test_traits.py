"""What a dialect's row asks of the service: how long a key lives, what dev mode covers, how sends are audited."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gate.rigs import MAIL, SetClock, gate_rig

from postroom.service.reading import search
from postroom.service.writing import draft


@pytest.mark.parametrize(("dialect", "status"), [("graph", "sent"), ("postroom", "already_executed")])
async def test_a_key_lives_as_long_as_the_dialect_says(tmp_path: Path, dialect: str, status: str) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time, dialect=dialect) as gate:
        assert (await gate.send(idempotency_key="k")).status == "sent"
        time.pass_(601)
        assert (await gate.send(idempotency_key="k")).status == status


@pytest.mark.parametrize(("dialect", "is_saved"), [("vault", False), ("postroom", True)])
async def test_dev_mode_covers_drafts_where_the_dialect_says_so(tmp_path: Path, dialect: str, is_saved: bool) -> None:
    async with gate_rig(tmp_path, dialect=dialect, dev_mode=True) as gate:
        view = await draft.create_draft(gate.gateway, MAIL)
        assert (bool(view.draft_id), view.subject, view.to) == (is_saved, "Lunch?", ("bob@demo.example",))
        listed = await search.list_emails(gate.gateway, mailbox="drafts")
        assert listed.total_count == int(is_saved)


async def test_a_send_is_audited_under_the_contracts_name(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, dialect="intentmail") as gate:
        await gate.send()
        assert [entry["action_type"] for entry in gate.audit()] == ["send_message"]
