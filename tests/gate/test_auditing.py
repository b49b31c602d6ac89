"""What cannot be written to the audit log is done all the same, and said to the caller and to the operator."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import MAIL, gate_rig

from postroom.model.errors import InternalError, PermissionDenied
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals


async def test_a_send_that_could_not_be_audited_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise InternalError("The disk is full.")

    caplog.set_level(logging.ERROR)
    async with gate_rig(tmp_path) as gate:
        monkeypatch.setattr(gate.gateway.store.audit, "append", full)
        view = await gate.send()
    assert view.status == "sent"
    assert view.warnings[-1] == "This could not be written to the audit log; the operator should check the disk."
    assert ("postroom.audit", logging.ERROR, "audit_failed") in caplog.record_tuples


async def test_each_result_at_the_gate_is_written_down_once(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await gate.send(confirm=False)
        await gate.send()
        asked = await gate.send(require_approval=True, idempotency_key="k")
        entries = gate.audit()
    assert asked.status == "needs_approval"
    assert [(one["action_type"], one["result"], one["parameters"]["state"]) for one in entries] == [
        ("send_email", "preview", "needs_approval"),
        ("send_email", "success", "sent"),
        ("send_email", "preview", "preview"),
    ]
    assert [(one["parameters"]["confirm"], one["parameters"]["scheduled"]) for one in entries] == [
        (True, False),
        (True, False),
        (False, False),
    ]
    async with gate_rig(tmp_path, block_recipients=["bob@demo.example"]) as gate:
        with pytest.raises(PermissionDenied):
            await gate.send()
        refused = gate.audit()[0]
    assert (refused["result"], refused["error"], refused["actor"]) == ("rejected", "PERMISSION_DENIED", "agent")
    assert refused["target"] == "b***@demo.example"
    assert (refused["parameters"]["recipients"], refused["parameters"]["kind"]) == (1, "email_send")


async def test_each_entry_has_a_reference_of_its_own_whoever_acted(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        await gate.send()
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        asked = await gate.send(require_approval=True, idempotency_key="k")
        assert asked.approval is not None
        await approvals.reject(gate.gateway, asked.approval.approval_id, who="ada", how="cli")
        entries = gate.audit()
    assert [one["actor"] for one in entries] == ["cli", "agent", "worker", "agent"]
    references = {one["correlation_id"] for one in entries}
    assert len(references) == 4
    assert all(re.fullmatch("[0-9a-f]{16}", reference) for reference in references)


async def test_of_many_recipients_five_are_named_wherever_they_are_written_down(tmp_path: Path) -> None:
    many = replace(MAIL, to=tuple(f"{name}@demo.example" for name in ("ann", "ben", "cem", "dan", "eva", "fay")))
    five = "a***@demo.example, b***@demo.example, c***@demo.example, d***@demo.example, e***@demo.example"
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        held = await gate.send(many)
        await outbox.cancel_send(gate.gateway, held.send_id)
        assert [(one["target"], one["parameters"]["recipients"]) for one in gate.audit()] == [(five, 6)] * 2
    async with gate_rig(tmp_path, dev_mode=True) as gate:
        assert f"To: {five}, Subject: Lunch?" in (await gate.send(many)).message
