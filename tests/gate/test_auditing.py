"""What cannot be written to the audit log is done all the same, and said to the caller and to the operator."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import MAIL, gate_rig

from postroom.model.errors import InternalError, InvalidRequest, PermissionDenied, PostroomError, RateLimited
from postroom.model.outcome import SubmitOutcome
from postroom.service.attachment_files import EncodedFile
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.auditing import audit_call


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


async def test_an_entry_counts_what_was_sent_and_how_long_that_took(tmp_path: Path) -> None:
    files = (EncodedFile("plan.txt", "cGxhbg==", "text/plain"), EncodedFile("map.txt", "bWFw", "text/plain"))
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        for seconds, took in ((1.5, 1500), (-60.0, 0)):  # clocks are set back as well
            meddled.before = lambda _, seconds=seconds: gate.time.pass_(seconds)
            await gate.send(replace(MAIL, cc=("carol@demo.example",), encoded_files=files))
            entry = gate.audit()[0]
            assert entry["duration_ms"] == took
        size = len(meddled.submitted[-1].raw)
    assert entry["parameters"] == {
        "kind": "email_send",
        "recipients": 2,
        "attachments": 2,
        "bytes": size,
        "confirm": True,
        "scheduled": False,
        "state": "sent",
    }


async def test_what_goes_on_by_itself_is_counted_with_its_attempts(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome("retryable", reason="451 later")
        await gate.send(send_at=gate.gateway.now() + timedelta(hours=1))
        gate.time.pass_(3600)
        await worker.work_once(gate.gateway)
        meddled.before = lambda _: None
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        entries = gate.audit()
    assert [(one["parameters"], one["result"]) for one in entries[:2]] == [
        ({"kind": "email_send", "recipients": 1, "attempt": attempt, "state": state}, "success")
        for attempt, state in ((1, "sent"), (0, "held"))
    ]
    assert entries[2]["parameters"]["scheduled"] is True


@pytest.mark.parametrize(("to", "target"), [("bob@demo.example", "b***@demo.example"), ("Bob and others", "")])
@pytest.mark.parametrize(
    ("error", "is_logged_only", "result", "code"),
    [
        (None, False, "success", ""),
        (None, True, "dev_mode", ""),
        (RateLimited("Full."), False, "rate_limited", "RATE_LIMIT_EXCEEDED"),
        (InvalidRequest("No."), False, "error", "INVALID_REQUEST"),
    ],
)
async def test_a_call_that_never_came_to_the_gate_is_written_down_with_its_end(
    tmp_path: Path, to: str, target: str, error: PostroomError | None, is_logged_only: bool, result: str, code: str
) -> None:
    async with gate_rig(tmp_path) as gate:
        started = gate.gateway.now()
        await audit_call(gate.gateway, "send_email", started, error, to=to, is_logged_only=is_logged_only)
        (entry,) = gate.audit()
    assert (entry["action_type"], entry["actor"], entry["target"]) == ("send_email", "agent", target)
    assert (entry["result"], entry["error"]) == (result, code)
    assert re.fullmatch("[0-9a-f]{16}", entry["correlation_id"])


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_refusal_knows_whether_it_was_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    def full(*_: Any) -> None:
        raise InternalError("The disk is full.")

    async with gate_rig(tmp_path, block_recipients=["bob@demo.example"]) as gate:
        if not is_written:
            monkeypatch.setattr(gate.gateway.store.audit, "append", full)
        with pytest.raises(PermissionDenied) as refusal:
            await gate.send()
    assert refusal.value.is_audited is is_written
