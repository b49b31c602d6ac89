"""The answer to an invitation: what it says, whom it goes to and as whom, and what is no invitation."""

from __future__ import annotations

import re
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import CONFIRMED, GateRig, gate_rig
from tests.unit.mime.attached import INVITATION

from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.outcome import SubmitOutcome
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.sending.approval import approvals
from postroom.service.sending.invitation import MAX_COMMENT, order_answer
from postroom.service.sending.order import Order, digest_of, is_as_ordered

INVITED = INVITATION.replace("alex@demo.exam\r\n ple", "alice@demo.example")
WHEN = "When: Tuesday 2026-12-01 09:00 to 10:30 (Europe/Berlin, UTC+0100)"
LONG = 1_000_000
NO_CALENDAR = "This message has no invitation: no calendar file is in it."
ASKS_NOTHING = "This calendar file is no invitation that asks for an answer. Nothing was sent."


@pytest.fixture
async def gate(tmp_path: Path) -> Any:
    async with gate_rig(tmp_path) as rig:
        yield rig


async def delivered(gate: GateRig, mail: EmailMessage) -> str:
    settings = gate.gateway.settings
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=settings.home, neighbours=settings.accounts))
    await mailbox.connect()
    await mailbox.add_messages([NewMail(raw=mail.as_bytes(policy=policy.SMTP), folder="INBOX")])
    await mailbox.close()
    (row,) = (await search.list_emails(gate.gateway, account="alice", mailbox="INBOX")).results
    return row.email_id


def invitation(
    written: str = INVITED, *, sender: str = "Ada <ada@example.com>", mime: str = "text/calendar", name: str = ""
) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, "alice@demo.example", "Plans"
    mail["Message-ID"] = "<plans@example.com>"
    mail.set_content("Come")
    maintype, _, subtype = mime.partition("/")
    given = {"filename": name} if name else {}
    mail.add_attachment(written.encode(), maintype=maintype, subtype=subtype, **given)
    return mail


async def answer(
    gate: GateRig, mail: EmailMessage | None = None, response: str = "accept", comment: str = "", **wishes: Any
) -> Order:
    email_id = await delivered(gate, mail or invitation())
    return await order_answer(gate.gateway, email_id, response, comment, replace(CONFIRMED, **wishes), "alice")


@pytest.mark.parametrize(
    ("response", "said", "written"),
    [
        ("accept", "Accepted", "ACCEPTED"),
        ("decline", "Declined", "DECLINED"),
        ("tentative", "Tentatively accepted", "TENTATIVE"),
    ],
)
async def test_people_and_calendars_read_the_same_answer(gate: GateRig, response: str, said: str, written: str) -> None:
    order = await answer(gate, response=response, comment="See you;\nAlice")

    draft, title = order.draft, f"{said}: Planning, second round"
    assert (draft.sender.email, [one.email for one in draft.recipients]) == ("alice@demo.example", ["ada@example.com"])
    assert draft.subject == title
    assert draft.text == f"See you;\nAlice\n\n{title}\n{WHEN}"
    lines = draft.calendar.replace("\r\n ", "").split("\r\n")
    assert [line for line in lines if line.startswith("ATTENDEE")] == [
        f"ATTENDEE;PARTSTAT={written}:mailto:alice@demo.example"
    ]
    assert "COMMENT:See you\\;\\nAlice" in lines
    assert "DTSTAMP:20270115T080000Z" in lines, "the gateway's time"


async def test_it_is_a_reply_to_the_invitation(gate: GateRig) -> None:
    order = await answer(gate)

    assert (order.tool, order.kind) == ("answer_invitation", "email_reply")
    assert order.original == ("Plans", "Ada <ada@example.com>")
    assert order.draft.threading.in_reply_to == "<plans@example.com>"
    assert order.draft.text == f"Accepted: Planning, second round\n{WHEN}"
    assert order.notes == ()
    (row,) = (await search.list_emails(gate.gateway, account="alice", mailbox="INBOX")).results
    assert order.answers_ref == row.email_id, "so that it is marked as answered"


async def test_another_address_of_the_account_answers_if_that_was_invited(gate: GateRig) -> None:
    opened = await gate.gateway.accounts.open("alice")
    first, *_ = await opened.identities.get()
    other = replace(first, address=replace(first.address, email="office@demo.example"))

    async def both() -> Any:
        return (first, other)

    opened.identities.get = both
    order = await answer(gate, invitation(INVITED.replace("alice@demo", "office@demo")))

    assert order.draft.sender.email == "office@demo.example"
    assert "mailto:office@demo.example" in order.draft.calendar.replace("\r\n ", "")


async def test_an_event_without_a_title_is_named_as_one(gate: GateRig) -> None:
    order = await answer(gate, invitation(INVITED.replace("SUMMARY:", "X-SUMMARY:")))

    assert order.draft.subject == "Accepted: (no title)"


async def test_a_task_in_front_of_the_event_is_passed_over(gate: GateRig) -> None:
    task = "BEGIN:VTODO\r\nUID:task\r\nORGANIZER:mailto:eve@evil.example\r\nEND:VTODO\r\n"
    order = await answer(gate, invitation(INVITED.replace("BEGIN:VEVENT", f"{task}BEGIN:VEVENT", 1)))

    assert [one.email for one in order.draft.to] == ["ada@example.com"]


@pytest.mark.parametrize(
    ("mime", "name"),
    [
        ("text/calendar", ""),
        ("TEXT/Calendar", "invite"),
        ("application/ics", "invite"),
        ("application/octet-stream", "INVITE.ICS"),
    ],
)
async def test_a_calendar_is_known_by_its_type_or_its_name(gate: GateRig, mime: str, name: str) -> None:
    order = await answer(gate, invitation(mime=mime, name=name))

    assert order.draft.subject == "Accepted: Planning, second round"


async def test_a_calendar_that_the_provider_does_not_list_is_found_in_the_source(
    gate: GateRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalMailbox.fetch

    async def without_files(mailbox: LocalMailbox, ref: str) -> Any:
        return replace(await real(mailbox, ref), attachments=())

    monkeypatch.setattr(LocalMailbox, "fetch", without_files)
    order = await answer(gate)

    assert order.draft.subject == "Accepted: Planning, second round"


@pytest.mark.parametrize(
    ("mail", "said"),
    [
        (
            invitation(mime="text/x-notes", name="notes.txt"),
            "This message has no invitation: no calendar file is in it.",
        ),
        (
            invitation(INVITED + "X" * (LONG + 1 - len(INVITED))),
            "This message has no invitation: no calendar file is in it.",
        ),
        (invitation(INVITED.replace("METHOD:REQUEST", "METHOD:REPLY")), ASKS_NOTHING),
        (invitation(INVITED.replace("UID:", "X-UID:")), ASKS_NOTHING),
        (invitation(INVITED.replace("VEVENT", "VTODO")), ASKS_NOTHING),
        (
            invitation(INVITATION),
            "None of this account's addresses is among those invited; reply instead. Nothing was sent.",
        ),
    ],
)
async def test_what_cannot_be_answered_is_refused_in_words(gate: GateRig, mail: EmailMessage, said: str) -> None:
    with pytest.raises((InvalidRequest, NotFound)) as refused:
        await answer(gate, mail)

    assert refused.value.message == said


async def test_a_calendar_of_the_greatest_size_is_still_read(gate: GateRig) -> None:
    order = await answer(gate, invitation(INVITED + "X" * (LONG - len(INVITED))))

    assert order.draft.to


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"response": "maybe"}, "answer", "answer must be accept, decline or tentative."),
        ({"comment": "x" * (MAX_COMMENT + 1)}, "comment", "comment is longer than 1000 characters."),
        ({"idempotency_key": "a\nb"}, "idempotency_key", "idempotency_key must be at most 200 printable characters."),
    ],
)
async def test_what_is_asked_for_wrongly_names_its_field(
    gate: GateRig, given: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await answer(gate, **given)

    assert (refused.value.message, refused.value.details) == (said, {"field": field})


async def test_the_longest_comment_is_sent_whole(gate: GateRig) -> None:
    order = await answer(gate, comment="x" * 1000)

    assert order.draft.text.startswith("x" * 1000 + "\n\n")


async def test_the_person_is_told_of_another_organizer_and_of_one_in_disguise(gate: GateRig) -> None:
    written = INVITED.replace("ada@example.com", "ada@dem0.example")
    order = await answer(gate, invitation(written, sender="Eve <eve@evil.example>"))

    other, *disguise = order.notes
    assert other == "The answer goes to ada@dem0.example, but eve@evil.example sent the invitation."
    assert any("demo.example" in note for note in disguise)


def stamp_of(order: Order) -> str:
    (line,) = [line for line in order.draft.calendar.split("\r\n") if line.startswith("DTSTAMP:")]
    return line


async def again(gate: GateRig, response: str = "accept", comment: str = "", **wishes: Any) -> Order:
    (row,) = (await search.list_emails(gate.gateway, account="alice", mailbox="INBOX")).results
    return await order_answer(gate.gateway, row.email_id, response, comment, replace(CONFIRMED, **wishes), "alice")


@pytest.mark.parametrize(
    "comment", ["", "See you;\nAlice", "Grüße", "日本語" * 300, "DTSTAMP:20260101T000000Z", "=_" + "a" * 32]
)
async def test_of_two_answers_the_later_one_says_so_and_the_same_one_stays_the_same(
    gate: GateRig, comment: str
) -> None:
    first = await answer(gate, comment=comment)
    gate.time.pass_(7)
    repeated, other = await again(gate, comment=comment), await again(gate, "decline", comment)
    assert (repeated.digest, repeated.raw != first.raw) == (first.digest, True)
    assert other.digest != first.digest
    assert stamp_of(first) < stamp_of(repeated) == stamp_of(other)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b"PARTSTAT=ACCEPTED", b"PARTSTAT=DECLINED"),
        (b"DTSTAMP:", b"X-DTSTAMP:"),
        (b"DTSTART;TZID=Europe/Berlin:20261201", b"DTSTART;TZID=Europe/Berlin:20261202"),
        (b"Accepted: Planning", b"Declined: Planning"),
        (b"DTSTAMP:20270115T080000Z\r\n", b"DTSTAMP:20270115T080000Z\r\nDTSTAMP:20270115T080000Z\r\n"),
    ],
)
async def test_nothing_but_the_time_of_an_answer_can_change_after_it_was_shown(
    gate: GateRig, written: bytes, instead: bytes
) -> None:
    order = await answer(gate)
    assert written in order.raw
    stored = gate.gateway.store.outbox.prepare(order.as_send())
    request = gate.gateway.store.outbox.request(stored.send_id)
    later = request.raw.replace(b"DTSTAMP:20270115T080000Z", b"DTSTAMP:20270115T080001Z")
    assert is_as_ordered(stored, request)
    assert is_as_ordered(stored, replace(request, raw=later))
    assert not is_as_ordered(stored, replace(request, raw=request.raw.replace(written, instead)))
    as_mail = replace(stored, tool="reply_email")
    assert not is_as_ordered(as_mail, replace(request, raw=later))


async def test_an_answer_that_a_former_version_put_into_the_outbox_still_leaves(gate: GateRig) -> None:
    order = await answer(gate)
    former = digest_of(order.raw, order.envelope, "alice", order.draft.threading.thread_ref, "", True, "")
    stored = gate.gateway.store.outbox.prepare(replace(order, digest=former).as_send())
    request = gate.gateway.store.outbox.request(stored.send_id)
    assert former != order.digest
    assert is_as_ordered(stored, request)
    later = request.raw.replace(b"DTSTAMP:20270115T080000Z", b"DTSTAMP:20270115T080001Z")
    assert not is_as_ordered(stored, replace(request, raw=later))


async def test_an_answer_is_confirmed_and_repeated_across_the_hour(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, gate="preview") as gate:
        meddled = await gate.meddle()
        meddled.before = lambda request: SubmitOutcome("accepted", request.envelope.recipients)
        gate.time.pass_(3590)
        await send.send(gate.gateway, await answer(gate, confirm=False))
        gate.time.pass_(20)
        assert (await send.send(gate.gateway, await again(gate, idempotency_key="k"))).status == "sent"
        gate.time.pass_(3600)
        assert (await send.send(gate.gateway, await again(gate, idempotency_key="k"))).status == "already_executed"
        assert len(meddled.submitted) == 1


async def test_an_answer_that_was_taken_back_is_put_before_a_person_again(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, gate="approval") as gate:
        meddled, stamps = await gate.meddle(), []
        meddled.before = lambda request: SubmitOutcome("accepted", request.envelope.recipients)
        await delivered(gate, invitation())
        for response in ("accept", "decline", "accept"):
            gate.time.pass_(60)
            asked = await send.send(gate.gateway, await again(gate, response))
            assert asked.status == "needs_approval"
            assert asked.approval is not None
            await approvals.approve(gate.gateway, asked.approval.approval_id, who="alice", how="terminal")
            repeated = await send.send(gate.gateway, await again(gate, response))
            assert (repeated.status, repeated.send_id) == ("already_executed", asked.send_id)
            stamps.append(re.search(rb"DTSTAMP:\w+", meddled.submitted[-1].raw)[0])
        assert stamps == sorted(set(stamps))
        assert len(meddled.submitted) == 3
