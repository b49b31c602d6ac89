"""A one-click request passes the gate like a message, and is never spoken of as one."""

from __future__ import annotations

import logging

import pytest
from tests.faults.scenarios import approve_pending
from tests.gate.newsletters import HOST, LOST, TOKEN, ListServer, leave, lists, newsletter
from tests.gate.rigs import gate_rig

from postroom.model.errors import NotFound, PermissionDenied, RateLimited
from postroom.model.outcome import SubmitOutcome
from postroom.providers.local.provider import LocalMailbox
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals

__all__ = ["lists"]
BY_HAND = {"who": "a person", "how": "command line"}
REFUSED = SubmitOutcome("rejected", reason=f"{HOST} refused the request (status 500). You may still be subscribed.")


async def test_what_a_person_moves_to_approved_is_requested_once(tmp_path, lists: ListServer):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await leave(gate, await newsletter(gate))
        letter = await approvals.show(gate.gateway, asked.approval.approval_id)
        (waiting,) = await approvals.list_waiting(gate.gateway)
        approve_pending(gate.gateway.vault.root)
        for _ in range(2):
            await worker.work_once(gate.gateway)
        assert await approvals.unheeded(gate.gateway) == ()
    assert (asked.status, len(lists.posted)) == ("needs_approval", 1)
    assert "# Make this request?" in letter
    assert "In reply to" not in letter
    assert (waiting.kind, waiting.recipients) == ("unsubscribe", (HOST,))


async def test_the_newsletter_may_be_gone_before_the_person_approves(tmp_path, lists: ListServer, monkeypatch):
    async def gone(_mailbox, ref):
        raise NotFound(f"There is no message {ref}.")

    async with gate_rig(tmp_path, gate="approval") as gate:
        email_id = await newsletter(gate)
        asked = await leave(gate, email_id)
    monkeypatch.setattr(LocalMailbox, "fetch", gone)
    async with gate_rig(tmp_path, gate="approval") as gate:
        done = await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
    assert (done.status, len(lists.posted)) == ("sent", 1)
    assert done.message == "The list's server accepted the request to unsubscribe; no email was sent."


async def test_what_is_refused_or_expires_is_never_requested(tmp_path, lists: ListServer):
    async with gate_rig(tmp_path, gate="approval") as gate:
        email_id = await newsletter(gate)
        asked = await leave(gate, email_id)
        rejected = await approvals.reject(gate.gateway, asked.approval.approval_id, **BY_HAND)
        later = await leave(gate, email_id)
        gate.time.pass_(30 * 86_400)
        approve_pending(gate.gateway.vault.root)
        await worker.work_once(gate.gateway)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
    assert (rejected.status, lists.posted) == ("rejected", [])
    assert (row.send_id, row.state) == (later.send_id, "expired")


@pytest.mark.parametrize("verdict", ["resend", "drop", "sent"])
async def test_a_lost_answer_is_put_before_a_person_who_decides(tmp_path, lists: ListServer, verdict):
    lists.outcome = LOST
    async with gate_rig(tmp_path) as gate:
        email_id = await newsletter(gate)
        await leave(gate, email_id, confirm=False)
        lost = await leave(gate, email_id, idempotency_key="k")
        gate.time.pass_(4000)
        await worker.work_once(gate.gateway)
        again = await leave(gate, email_id, idempotency_key="k")
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert len(lists.posted) == 1
        lists.outcome = REFUSED
        decided = await approvals.resolve(gate.gateway, lost.send_id, verdict)
    assert lost.message.startswith("It is not known whether the list's server received the request to unsubscribe.")
    assert (lost.status, again.status, again.message) == ("unknown", "unknown", lost.message)
    assert (row.recipients, row.reason) == (
        (HOST,),
        "Whether the request reached the list's server is not known; it may have unsubscribed you.",
    )
    assert decided.status == ("sent" if verdict == "sent" else "unknown")
    assert len(lists.posted) == (2 if verdict == "resend" else 1)
    assert "provider" not in decided.message


async def test_a_refusal_does_not_claim_that_nothing_was_requested(tmp_path, lists: ListServer):
    lists.outcome = REFUSED
    async with gate_rig(tmp_path) as gate:
        email_id = await newsletter(gate)
        await leave(gate, email_id, confirm=False)
        refused = await leave(gate, email_id)
    assert refused.message == f"The request to unsubscribe was not accepted. {REFUSED.reason}"


async def test_the_undo_window_holds_it_and_a_cancelled_one_is_not_requested(tmp_path, lists: ListServer):
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        email_id = await newsletter(gate)
        for cancels in (True, False):
            await leave(gate, email_id, confirm=False)
            held = await leave(gate, email_id)
            if cancels:
                await outbox.cancel_send(gate.gateway, held.send_id)
            gate.time.pass_(31)
            await worker.work_once(gate.gateway)
            assert (held.status, len(lists.posted)) == ("held", 0 if cancels else 1)


@pytest.mark.parametrize("settings", [{"dev_mode": True}, {"read_only": True}])
async def test_a_server_that_does_not_send_makes_no_request_either(tmp_path, lists: ListServer, settings):
    async with gate_rig(tmp_path) as gate:
        email_id = await newsletter(gate)
        await leave(gate, email_id, confirm=False)
    async with gate_rig(tmp_path, **settings) as gate:
        await leave(gate, email_id)
        await worker.work_once(gate.gateway)
    assert lists.posted == []


async def test_it_counts_towards_the_rate_limit_and_is_looked_at_again_when_the_policy_changes(
    tmp_path, lists: ListServer
):
    async with gate_rig(tmp_path, hold_seconds=30, sends_per_hour=1) as gate:
        email_id = await newsletter(gate)
        await leave(gate, email_id, confirm=False)
        held = await leave(gate, email_id)
        assert (await leave(gate, email_id)).send_id == held.send_id
        with pytest.raises(RateLimited):
            await gate.send()
        gate.time.pass_(31)
        time = gate.time
    async with gate_rig(tmp_path, time=time, block_recipients=[f"*@{HOST}"]) as gate:
        await worker.work_once(gate.gateway)
        with pytest.raises(PermissionDenied):
            await leave(gate, email_id)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
    assert (row.send_id, row.state, lists.posted) == (held.send_id, "needs_human", [])


async def test_a_second_request_to_the_same_address_is_warned_of(tmp_path, lists: ListServer):
    async with gate_rig(tmp_path) as gate:
        email_id = await newsletter(gate)
        first = await leave(gate, email_id, confirm=False)
        await leave(gate, email_id)
        second = await leave(gate, email_id, confirm=False)
    assert ("duplicate" in first.findings, second.findings.get("duplicate")) == (
        False,
        "A request to unsubscribe was just made at this address.",
    )


async def test_what_names_the_person_in_the_address_stays_out_of_audit_and_log(tmp_path, lists: ListServer, caplog):
    caplog.set_level(logging.DEBUG)
    lists.outcome = LOST
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await leave(gate, await newsletter(gate))
        lost = await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
        lists.outcome = REFUSED
        await approvals.resolve(gate.gateway, lost.send_id, "resend")
        audit, shown = str(gate.audit()), str(await outbox.list_outbox(gate.gateway, include_finished=True))
        mirror = "".join(path.read_text() for path in (gate.gateway.vault.root / "Logs").rglob("*.jsonl"))
    assert TOKEN not in audit + shown + mirror + caplog.text
    assert "unsubscribe" in audit


async def test_where_a_header_leads_is_unknown_each_time_whatever_was_sent_there(tmp_path, lists: ListServer):
    async with gate_rig(tmp_path, gate="auto") as gate:
        gate.gateway.store.recipients.remember("alice", [f"one-click@{HOST}"])
        asked = await leave(gate, await newsletter(gate))
    assert (asked.status, lists.posted) == ("needs_approval", [])
    assert any(HOST in warning for warning in asked.warnings)
