"""What the victims of the kill tests are doing when they die: one mail each, on every way out of the house.

`act` is also what the client and the person do again afterwards: whatever was interrupted is simply repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.services import SERVICES, read_accounts
from tests.gate.transports import staging

from postroom.model.errors import Conflict, NotFound, PermissionDenied
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.reading import search
from postroom.service.sending import send, worker
from postroom.service.sending.order import Answered
from postroom.service.writing import composing, draft
from postroom.store import State

KEYED = replace(CONFIRMED, idempotency_key="order-1")
SUBJECT = MAIL.subject
Say = Callable[[str], None]
Act = Callable[[GateRig, Say], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """One mail from `sender` to `receivers`; `prepare` furnishes the house before anything is at stake."""

    act: Act
    safety: dict[str, Any] = field(default_factory=dict)
    sender: str = "alice"
    receivers: tuple[str, ...] = ("bob",)
    subject: str = SUBJECT
    prepare: Callable[[GateRig], Awaitable[None]] | None = None
    is_blind: bool = False  # the provider cannot tell afterwards what became of a submission
    is_staged: bool = False  # the provider submits what lies in Drafts
    service: str = ""  # of the accounts, which `accounts.json` in the home names; else they are local


async def send_with_key(gate: GateRig, say: Say) -> None:
    with _in_progress(say):
        say((await gate.send(idempotency_key="order-1")).status)


async def send_staged(gate: GateRig, say: Say) -> None:
    await staging(gate)
    await send_with_key(gate, say)


async def send_to_several(gate: GateRig, say: Say) -> None:
    with _in_progress(say):
        mail = replace(MAIL, cc=("carol@demo.example",), bcc=("alice@demo.example",))
        say((await gate.send(mail, idempotency_key="order-1")).status)


async def approve_by_file(gate: GateRig, say: Say) -> None:
    say((await gate.send()).status)
    approve_pending(gate.gateway.vault.root)
    await worker.work_once(gate.gateway)


async def release_by_hand(gate: GateRig, say: Say) -> None:
    """A file that a killed process had claimed releases nothing any more: who finds nothing sent writes another."""
    try:
        say((await gate.send()).status)
    except PermissionDenied as refused:
        say(refused.code)
        if not any(send.state is State.DONE for send in gate.gateway.store.outbox.list(limit=100).items):
            await _write_approval(gate)
            say((await gate.send()).status)


async def send_after_hold(gate: GateRig, say: Say) -> None:
    await send_with_key(gate, say)
    gate.time.pass_(31)
    await worker.work_once(gate.gateway)


async def send_saved_draft(gate: GateRig, say: Say) -> None:
    drafts = (await draft.list_drafts(gate.gateway)).results
    with _in_progress(say):
        for saved in drafts:
            order = await send.order_draft(gate.gateway, saved.draft_id, KEYED)
            say((await send.send(gate.gateway, order)).status)


async def reply(gate: GateRig, say: Say) -> None:
    (original,) = (await search.list_emails(gate.gateway, account="bob", mailbox="INBOX")).results
    order = await send.order_reply(gate.gateway, original.email_id, composing.ReplyRequest("Yes!"), KEYED)
    with _in_progress(say):
        say((await send.send(gate.gateway, order)).status)


async def answer_a_question(gate: GateRig, say: Say) -> None:
    wishes = replace(KEYED, can_elicit=True)
    with _in_progress(say):
        question = await send.question(gate.gateway, await gate.order(wishes=wishes))
        answer = Answered("accepted", question.send_id) if question else None  # None: an earlier life has sent it
        order = await gate.order(wishes=replace(wishes, answer=answer))
        say((await send.send(gate.gateway, order)).status)


async def retry_after_refusal(gate: GateRig, say: Say) -> None:
    """The provider says "later" to the first attempt of this process."""
    meddled = await gate.meddle()
    refusals = iter([SubmitOutcome("retryable", reason="451 later")])
    meddled.before = lambda _: next(refusals, None)
    await send_with_key(gate, say)
    gate.time.pass_(61)
    await worker.work_once(gate.gateway)


async def lose_the_answer(gate: GateRig, say: Say) -> None:
    """The provider takes it; the connection dies before it can say so."""
    meddled = await gate.meddle()
    meddled.after = _lost
    await send_with_key(gate, say)


async def lose_the_answer_for_good(gate: GateRig, say: Say) -> None:
    meddled = await gate.meddle()
    meddled.after = _lost
    meddled.reconciled = cannot_tell
    await send_with_key(gate, say)


def cannot_tell(_: SubmitRequest) -> SubmitOutcome:
    return SubmitOutcome("unknown", reason="nobody knows")


def approve_pending(vault: Path) -> None:
    """A person reads what waits, says yes and moves it."""
    for path in (vault / "Pending_Approval").glob("*.md"):
        path.write_text(path.read_text().replace("status: pending", "status: approved"))
        path.rename(vault / "Approved" / path.name)


def _lost(_: SubmitOutcome) -> SubmitOutcome:
    raise ConnectionResetError("the answer never came")


@contextmanager
def _in_progress(say: Say) -> Iterator[None]:
    """A repeated call may hear that the first is still at work, or that its draft has gone out."""
    try:
        yield
    except (Conflict, NotFound) as answer:
        say(answer.code)


async def _write_to_bob(gate: GateRig) -> None:
    await gate.send()


async def _save_draft(gate: GateRig) -> None:
    await draft.create_draft(gate.gateway, replace(MAIL, cc=("carol@demo.example",)))


async def _write_approval(gate: GateRig) -> None:
    gate.gateway.vault.prepare()
    path = gate.gateway.vault.root / "Approved" / "go.md"
    path.write_text("---\ntype: email_send\nstatus: approved\nto: bob@demo.example\n---\nGo ahead.\n")
    path.chmod(0o600)


SCENARIOS = {
    "send with a key": Scenario(send_with_key),
    "send to several": Scenario(send_to_several, receivers=("bob", "carol", "alice")),
    "approval by file": Scenario(approve_by_file, {"gate": "approval"}),
    "hand-written approval": Scenario(
        release_by_hand, {"gate": "approval", "dialect": "vault"}, prepare=_write_approval
    ),
    "question and answer": Scenario(answer_a_question, {"gate": "elicit"}),
    "held": Scenario(send_after_hold, {"hold_seconds": 30}),
    "saved draft": Scenario(send_saved_draft, receivers=("bob", "carol"), prepare=_save_draft),
    "reply": Scenario(reply, sender="bob", receivers=("alice",), subject=f"Re: {SUBJECT}", prepare=_write_to_bob),
    "retryable": Scenario(retry_after_refusal),
    "staged": Scenario(send_staged, is_staged=True),
    "lost answer": Scenario(lose_the_answer),
    "lost answer, no evidence": Scenario(lose_the_answer_for_good, is_blind=True),
}


WEB_SCENARIOS = {
    f"{name}, {service}": replace(scenario, service=service)
    for service in SERVICES
    for name, scenario in {
        "send with a key": Scenario(send_with_key),
        "saved draft": Scenario(send_saved_draft, receivers=("bob", "carol"), prepare=_save_draft),
    }.items()
}
ALL_SCENARIOS = SCENARIOS | WEB_SCENARIOS


def gateway_of(scenario: Scenario, home: Path, **more: Any) -> Any:
    accounts = read_accounts(home) if scenario.service else ()
    return gate_rig(home, accounts=accounts, **scenario.safety, **more)
