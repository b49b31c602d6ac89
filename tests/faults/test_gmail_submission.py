"""Every way in which a message may leave by Gmail, or not: the gate on a fake that loses, cuts and denies answers.

Whatever happens on the way, the message is in the recipient's inbox exactly once in the end, and no draft stays behind.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.gmail import gmail_accounts
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.peers.gmail import FakeGmail

from postroom.service.sending import send, worker
from postroom.service.writing import draft as drafts
from postroom.store import Send, State
from postroom.store.sends.states import FINISHED

CREATE, READ, SEND = ("POST", "drafts.create"), ("GET", "drafts.get"), ("POST", "drafts.send")
PAGE = "<!DOCTYPE html><title>Proxy</title>"
HIDDEN_ERROR = '{"error": {"code": 500, "errors": [{"reason": "backendError"}], "message": "CANARY"}}'

FAULTS: dict[str, Callable[..., None]] = {
    "cut before": lambda gmail, step: gmail.cut_next(*step),
    "cut after": lambda gmail, step: gmail.cut_next(*step, after_effect=True),
    "500 before": lambda gmail, step: gmail.fail_next(*step, status=500),
    "503 after": lambda gmail, step: gmail.fail_next(*step, status=503, after_effect=True),
    "429": lambda gmail, step: gmail.fail_next(*step, status=429, retry_after=1),
    "403 quota": lambda gmail, step: gmail.fail_next(*step, status=403, reason="userRateLimitExceeded"),
    "broken JSON after": lambda gmail, step: gmail.answer_next(*step, '{"id": ', after_effect=True),
    "a page after": lambda gmail, step: gmail.answer_next(*step, PAGE, content_type="text/html", after_effect=True),
    "error in a success": lambda gmail, step: gmail.answer_next(*step, HIDDEN_ERROR, after_effect=True),
    "body cut": lambda gmail, step: gmail.truncate_next(*step),
    "no id": lambda gmail, step: gmail.answer_next(*step, "{}", after_effect=True),
}


@pytest.fixture(scope="module")
def service() -> Iterator[FakeGmail]:
    with FakeGmail.started() as gmail:
        yield gmail


@pytest.fixture
def gmail(service: FakeGmail) -> Iterator[FakeGmail]:
    service.forget()
    yield service
    assert service.pending_faults == 0, "a fault that was asked for never came"


async def work_later(gate: GateRig) -> None:
    gate.time.pass_(4000)
    await worker.work_once(gate.gateway)


async def settled(gate: GateRig) -> Send:
    for _ in range(6):
        (row,) = gate.gateway.store.outbox.list().items
        if row.state in FINISHED or row.state is State.NEEDS_HUMAN:
            break
        await work_later(gate)
    return row


def drafts_left(gmail: FakeGmail) -> int:
    return len(gmail.user("alice@demo.example").drafts)


def arrived(gmail: FakeGmail, name: str = "bob") -> int:
    return len(gmail.user(f"{name}@demo.example").labelled("INBOX"))


@pytest.mark.parametrize("step", [CREATE, READ, SEND], ids=lambda step: step[1])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_lost_or_false_answer_at_any_step_ends_with_one_message(
    tmp_path: Path, gmail: FakeGmail, step: tuple[str, str], fault: str, record_fault: Any
) -> None:
    accounts = gmail_accounts(gmail)
    async with gate_rig(tmp_path, accounts=accounts) as gate:
        FAULTS[fault](gmail, step)
        await gate.send(idempotency_key="k")
        row = await settled(gate)
        assert row.state is State.DONE
        assert (arrived(gmail), len(gmail.sent), drafts_left(gmail)) == (1, 1, 0)
        assert (await gate.send(idempotency_key="k")).status == "already_executed"
        assert len(gmail.sent) == 1
        assert "CANARY" not in str(gate.gateway.store.outbox.events(row.send_id))
    record_fault(f"Gmail: {fault}, {step[1]}", 1, Counter([str(row.state)]))


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_server_error_after_the_submission_is_settled_by_looking_and_never_resent_blindly(
    tmp_path: Path, gmail: FakeGmail, status: int
) -> None:
    async with gate_rig(tmp_path, accounts=gmail_accounts(gmail)) as gate:
        gmail.fail_next(*SEND, status=status, after_effect=True)
        view = await gate.send()
        assert view.status == "sent"
        assert gmail.count("drafts.send") == 1
        assert (arrived(gmail), len(gmail.sent)) == (1, 1)


async def test_a_draft_that_is_still_there_was_not_sent_and_is_sent_once_later(
    tmp_path: Path, gmail: FakeGmail
) -> None:
    async with gate_rig(tmp_path, accounts=gmail_accounts(gmail)) as gate:
        gmail.cut_next(*SEND)
        assert (await gate.send()).status == "held"
        assert (drafts_left(gmail), arrived(gmail)) == (1, 0)
        assert (await settled(gate)).state is State.DONE
        assert (gmail.count("drafts.create"), len(gmail.sent), drafts_left(gmail)) == (1, 1, 0)


async def test_a_draft_that_is_gone_without_a_sent_message_is_a_persons_decision(
    tmp_path: Path, gmail: FakeGmail
) -> None:
    async with gate_rig(tmp_path, accounts=gmail_accounts(gmail)) as gate:
        alice = gmail.user("alice@demo.example")
        hold = gmail.hold_next(*SEND)

        def somebody_deletes_it() -> None:
            hold.reached.wait(20)
            with gmail.lock:
                for message in list(alice.labelled("DRAFT")):
                    alice.delete(message)
            hold.release()

        deleting = threading.Thread(target=somebody_deletes_it)
        deleting.start()
        view = await gate.send()
        deleting.join()
        assert view.status == "unknown"
        assert (await settled(gate)).state is State.NEEDS_HUMAN
        assert (gmail.sent, arrived(gmail)) == ([], 0)


async def test_a_message_id_that_gmail_replaced_is_still_proof(tmp_path: Path, gmail: FakeGmail) -> None:
    async with gate_rig(tmp_path, accounts=gmail_accounts(gmail)) as gate:
        gmail.replaces_message_ids = True
        try:
            gmail.cut_next(*SEND, after_effect=True)
            assert (await gate.send()).status == "sent"
        finally:
            gmail.replaces_message_ids = False
        assert len(gmail.sent) == 1


async def test_a_draft_that_somebody_changed_before_it_was_sent_is_not_sent(tmp_path: Path, gmail: FakeGmail) -> None:
    async with gate_rig(tmp_path, accounts=gmail_accounts(gmail)) as gate:
        gmail.fail_next(*READ, status=500, times=3)
        assert (await gate.send()).status == "held"
        alice = gmail.user("alice@demo.example")
        (draft_id,) = alice.drafts
        with gmail.lock:
            changed = alice.draft(draft_id).raw.replace(b"noon", b"midnight")
            alice.put_draft(changed, "", draft_id)
        assert (await settled(gate)).state is State.NEEDS_HUMAN
        assert gmail.sent == []
        assert drafts_left(gmail) == 1, "what somebody wrote is not ours to remove"


async def test_a_saved_draft_is_sent_as_it_was_approved_and_leaves_no_second_one(
    tmp_path: Path, gmail: FakeGmail
) -> None:
    async with gate_rig(tmp_path, accounts=gmail_accounts(gmail)) as gate:
        saved = await drafts.create_draft(gate.gateway, replace(MAIL, bcc=("carol@demo.example",)))
        order = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
        gmail.cut_next("PUT", "drafts.update", after_effect=True)
        await send.send(gate.gateway, order)
        assert (await settled(gate)).state is State.DONE
        assert (arrived(gmail), arrived(gmail, "carol"), len(gmail.sent), drafts_left(gmail)) == (1, 1, 1, 0)
        assert b"carol" not in gmail.user("bob@demo.example").labelled("INBOX")[0].raw.lower()
