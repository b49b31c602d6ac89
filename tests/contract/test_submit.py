from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest

from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.providers.protocol import Staging, Transport

from .mails import PDF, listed, mail, message_id
from .rigs import Rig, RigAccount

pytestmark = pytest.mark.needs("can_send")


@pytest.fixture
def transport(account: RigAccount) -> Transport:
    assert account.transport is not None, "can_send is true but there is no transport"
    return account.transport


def request(account: RigAccount, key: str, *recipients: str, **fields: Any) -> SubmitRequest:
    to = fields.pop("to", account.second_address)
    more = {name: fields.pop(name) for name in ("draft_ref", "save_to_sent") if name in fields}
    raw = mail(key, sender=account.address, to=to, days_ago=0, **fields)
    envelope = WireEnvelope(account.address, recipients or (account.second_address,))
    return SubmitRequest(envelope, raw, message_id(key), f"attempt-{key}", **more)


async def ready(transport: Transport, request: SubmitRequest) -> SubmitRequest:
    """As the gate hands it over: staged first, where the provider wants that."""
    if not isinstance(transport, Staging):
        return request
    return replace(request, staged_ref=await transport.stage(request))


def read(raw: bytes) -> EmailMessage:
    return message_from_bytes(raw, policy=policy.default)


def text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    assert body is not None
    return str(body.get_content()).strip()


async def test_an_accepted_mail_reaches_its_recipient_whole(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    greeting = request(account, "hello", subject="Grüße 🎉", text="Bis bald — ü", files=[("plan.pdf", PDF)])
    outcome = await transport.submit(await ready(transport, greeting))
    assert (outcome.state, outcome.accepted, outcome.refused) == ("accepted", (account.second_address,), {})
    (arrived,) = map(read, await rig.inbox_of(account.second_address))
    assert (arrived["subject"], text_of(arrived)) == ("Grüße 🎉", "Bis bald — ü")
    assert [part.get_content() for part in arrived.iter_attachments()] == [PDF]


async def test_a_blind_copy_is_delivered_and_named_in_no_header(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    blind = request(account, "blind", account.address, account.second_address, to=account.address)
    outcome = await transport.submit(await ready(transport, blind))
    assert outcome.state == "accepted"
    assert set(outcome.accepted) == {account.address, account.second_address}
    (arrived,) = map(read, await rig.inbox_of(account.second_address))
    assert arrived["bcc"] is None
    assert account.second_address not in str(arrived["to"])


async def test_the_sent_copy_is_filed_once(rig: Rig, account: RigAccount, transport: Transport) -> None:
    await transport.submit(await ready(transport, request(account, "copy", subject="Filed")))
    await rig.settle()
    (row,) = (await listed(account, "sent")).items
    assert (row.subject, row.unread, row.draft) == ("Filed", False, False)


def need_refusals(account: RigAccount) -> None:
    if not account.refused_address:
        pytest.skip("this service takes every address; what cannot be delivered comes back as a message")


async def test_a_refused_recipient_is_named_with_a_reason(rig: Rig, account: RigAccount, transport: Transport) -> None:
    need_refusals(account)
    nobody = request(account, "nobody", account.refused_address, to=account.refused_address)
    outcome = await transport.submit(await ready(transport, nobody))
    assert outcome.state == "rejected"
    assert outcome.accepted == ()
    assert set(outcome.refused) == {account.refused_address}
    assert outcome.refused[account.refused_address]
    assert (await listed(account, "sent")).items == ()


async def test_with_one_recipient_refused_the_outcome_says_who_got_it(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    need_refusals(account)
    half = request(account, "half", account.second_address, account.refused_address)
    outcome = await transport.submit(await ready(transport, half))
    assert set(outcome.refused) == {account.refused_address}
    arrived = await rig.inbox_of(account.second_address)
    if outcome.state == "accepted":
        assert (outcome.accepted, len(arrived)) == ((account.second_address,), 1)
    else:
        assert (outcome.state, outcome.accepted, arrived) == ("rejected", (), [])


async def test_reconciling_what_never_left_is_not_called_accepted(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    outcome = await transport.reconcile(request(account, "never"))
    assert outcome.state in ("retryable", "unknown")
    assert await rig.inbox_of(account.second_address) == []


async def test_reconciling_what_was_accepted_says_so_and_sends_nothing(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    sent = await ready(transport, request(account, "once"))
    await transport.submit(sent)
    await rig.settle()
    outcome = await transport.reconcile(sent)
    assert outcome.state == "accepted"
    assert len(await rig.inbox_of(account.second_address)) == 1


async def test_a_lost_answer_is_unknown_and_reconciling_finds_the_mail(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    losing = rig.losing_answers()
    if losing is None:
        pytest.skip("this transport works in process: it has no answer that could get lost on the way")
    lost = await ready(transport, request(account, "lost"))
    async with losing:
        outcome = await transport.submit(lost)
    assert outcome.state == "unknown"
    await rig.settle()
    assert (await transport.reconcile(lost)).state in ("accepted", "unknown")
    assert len(await rig.inbox_of(account.second_address)) == 1


@pytest.mark.needs("can_draft")
async def test_a_sent_draft_leaves_the_drafts_and_arrives_with_its_attachment(
    rig: Rig, account: RigAccount, transport: Transport
) -> None:
    mailbox: Any = account.mailbox
    raw = mail("fromdraft", sender=account.address, to=account.second_address, files=[("plan.pdf", PDF)])
    saved = await mailbox.create_draft(raw)
    draft = request(account, "fromdraft", draft_ref=saved.ref, files=[("plan.pdf", PDF)])
    sent = await ready(transport, draft)
    assert (await transport.submit(sent)).state == "accepted"
    await rig.settle()
    assert (await mailbox.list_drafts(limit=10, offset=0)).items == ()
    (arrived,) = map(read, await rig.inbox_of(account.second_address))
    assert [part.get_filename() for part in arrived.iter_attachments()] == ["plan.pdf"]
    assert len((await listed(account, "sent")).items) == 1
