"""Graph's own verbs, whose effect nothing proves afterwards: whatever happens to a response, nothing is sent twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.faults.test_draft_submission import settled
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.services import Graph, MailService
from tests.peers.graph import FakeGraph

from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.sending.order import Order
from postroom.service.writing import composing
from postroom.store import State

NATIVE = replace(CONFIRMED, native=True, idempotency_key="k")

Write = Callable[[GateRig, str], Awaitable[Order]]
VERBS: dict[str, tuple[str, Write]] = {
    "send": ("sendMail", lambda gate, _: send.order_mail(gate.gateway, MAIL, NATIVE)),
    "reply": (
        "messages.reply",
        lambda gate, email_id: send.order_reply(gate.gateway, email_id, composing.ReplyRequest("Yes!"), NATIVE),
    ),
    "reply to all": (
        "messages.replyAll",
        lambda gate, email_id: send.order_reply(
            gate.gateway, email_id, composing.ReplyRequest("Yes!", reply_all=True), NATIVE
        ),
    ),
    "forward": (
        "messages.forward",
        lambda gate, email_id: send.order_forward(
            gate.gateway, email_id, composing.ForwardRequest(to=("carol@demo.example",), comment="See"), NATIVE
        ),
    ),
}
# How it fails, and whether it was sent all the same.
UNCLEAR: dict[str, tuple[Callable[[FakeGraph, str], None], int]] = {
    "cut before": (lambda fake, verb: fake.cut_next("POST", verb), 0),
    "cut after": (lambda fake, verb: fake.cut_next("POST", verb, after_effect=True), 1),
    "503 before": (lambda fake, verb: fake.fail_next("POST", verb, status=503), 0),
    "503 after": (lambda fake, verb: fake.fail_next("POST", verb, status=503, after_effect=True), 1),
    "a page": (lambda fake, verb: fake.html_next("POST", verb, status=200), 0),
}


@pytest.fixture(scope="module")
def started() -> Iterator[MailService]:
    with Graph.started() as service:
        yield service


@pytest.fixture
def service(started: MailService) -> Iterator[MailService]:
    started.fake.forget()
    yield started
    assert started.fake.pending_faults == 0, "a fault that was asked for never came"


async def written(gate: GateRig, service: MailService, verb: str) -> Order:
    raw = mail("question", subject="Plan", sender="bob@demo.example", to="alice@demo.example", cc="carol@demo.example")
    service.fake.deliver(service.user(), raw)
    (row,) = (await search.list_emails(gate.gateway, account="alice")).results
    return await VERBS[verb][1](gate, row.email_id)


@pytest.mark.parametrize("verb", VERBS)
async def test_the_service_is_asked_once_and_reaches_those_who_were_named(
    tmp_path: Path, service: MailService, verb: str
) -> None:
    async with gate_rig(tmp_path, accounts=service.accounts()) as gate:
        order = await written(gate, service, verb)
        assert order.native is not None
        assert (await send.send(gate.gateway, order)).status == "sent"
        (sent,) = service.fake.sent
        assert set(sent.recipients) == {address.email for address in order.draft.recipients}
        assert (await send.send(gate.gateway, order)).status == "already_executed"
        assert (service.sent, service.fake.count(VERBS[verb][0]), service.drafts_left()) == (1, 1, 0)


@pytest.mark.parametrize("fault", UNCLEAR)
@pytest.mark.parametrize("verb", VERBS)
async def test_a_lost_or_false_answer_is_a_persons_decision_and_never_repeated(
    tmp_path: Path, service: MailService, verb: str, fault: str
) -> None:
    operation, (fail, sent) = VERBS[verb][0], UNCLEAR[fault]
    async with gate_rig(tmp_path, accounts=service.accounts()) as gate:
        order = await written(gate, service, verb)
        fail(service.fake, operation)
        assert (await send.send(gate.gateway, order)).status == "unknown"
        assert (await settled(gate)).state is State.NEEDS_HUMAN
        assert (service.sent, service.fake.count(operation)) == (sent, 1)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_429_is_a_definite_no_and_is_tried_again(tmp_path: Path, service: MailService, verb: str) -> None:
    async with gate_rig(tmp_path, accounts=service.accounts()) as gate:
        order = await written(gate, service, verb)
        service.fake.fail_next("POST", VERBS[verb][0], status=429, retry_after=0)
        assert (await send.send(gate.gateway, order)).status == "held"
        assert (await settled(gate)).state is State.DONE
        assert service.sent == 1
