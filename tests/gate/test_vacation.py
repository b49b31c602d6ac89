"""A vacation reply as it passes the gate: the words and the days a person is shown, and what is no vacation reply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.gate.rigs import CONFIRMED, GateRig, gate_rig
from tests.gate.services import Gmail
from tests.unit.store.kit import brought_to

from postroom.model.errors import InvalidRequest, PermissionDenied, Unsupported
from postroom.model.native import NativeAction, Recipients
from postroom.model.vacation import EVERYONE
from postroom.safety.policy import Policy
from postroom.service.gateway import Gateway
from postroom.service.sending import send
from postroom.service.sending.facts import facts_for
from postroom.service.sending.order import Order
from postroom.service.sending.vacation import VacationRequest, get_vacation, order_vacation, stop_vacation
from postroom.service.views import SendView
from postroom.store import State

NOW = "2027-01-15T09:00:00+01:00"  # the rig's clock, in Berlin
AWAY = VacationRequest("Away", "Back soon.")


@pytest.fixture(scope="module")
def service() -> Iterator[Gmail]:
    with Gmail.started() as started:
        yield cast("Gmail", started)


@pytest.fixture
async def gate(service: Gmail, tmp_path: Path) -> Any:
    service.user("alice").vacation = {"enableAutoReply": False}
    async with gate_rig(tmp_path, accounts=[service.account("alice")], timezone="Europe/Berlin") as rig:
        yield rig


async def wanted(gate: GateRig, **fields: str) -> Order:
    return await order_vacation(gate.gateway, replace(AWAY, **fields), CONFIRMED)


@pytest.mark.parametrize(
    ("days", "start", "end", "said"),
    [
        ({}, "", "", "It replies at once, until somebody switches it off."),
        (
            {"first_day": " 2027-02-01 ", "last_day": "2027-02-03"},
            "2027-02-01T00:00:00+01:00",
            "2027-02-04T00:00:00+01:00",
            "It replies from 2027-02-01T00:00+01:00, until 2027-02-04T00:00+01:00.",
        ),
        (
            {"last_day": "2027-01-15"},
            "2027-01-15T00:00:00+01:00",
            "2027-01-16T00:00:00+01:00",
            "It replies from 2027-01-15T00:00+01:00, until 2027-01-16T00:00+01:00.",
        ),
        (
            {"first_day": "2026-12-01"},
            "2026-12-01T00:00:00+01:00",
            "",
            "It replies from 2026-12-01T00:00+01:00, until somebody switches it off.",
        ),
        (
            {"first_day": "2027-07-01T12:30:01.5+00:00", "last_day": "2027-07-01T12:30:02.9Z"},
            "2027-07-01T14:30:01+02:00",
            "2027-07-01T14:30:02+02:00",
            "It replies from 2027-07-01T14:30+02:00, until 2027-07-01T14:30+02:00.",
        ),
    ],
)
async def test_the_person_is_shown_exactly_the_words_and_the_days_that_are_set(
    gate: GateRig, days: dict[str, str], start: str, end: str, said: str
) -> None:
    order = await wanted(gate, subject=" Away ", body=" Back\r\n\tsoon. \n", **days)

    everyone = Recipients(to=(EVERYONE,))
    assert order.native == NativeAction(
        "vacation", named=everyone, everyone=everyone, subject="Away", text="Back\n\tsoon.", start=start, end=end
    )
    assert (order.tool, order.kind, order.notes) == ("set_vacation", "vacation", (said,))
    draft = order.draft
    assert (draft.sender.email, draft.to, draft.subject, draft.text) == (
        "alice@demo.example", (EVERYONE,), "Away", "Back\n\tsoon."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"subject": "x" * 201}, "subject", "The subject of a vacation reply has at most 200 characters."),
        ({"body": "\n \r\n"}, "body", "A vacation reply needs a body, of at most 2000 characters."),
        ({"body": "x" * 2001}, "body", "A vacation reply needs a body, of at most 2000 characters."),
        ({"body": "a\x07b"}, "body", "The body contains a control character. Remove it."),
        ({"body": "a\udcffb"}, "body", "The body contains a control character. Remove it."),
        ({"last_day": "2027-01-14"}, "last_day", "last_day is over. Give one that is still to come, or none."),
        ({"last_day": NOW}, "last_day", "last_day is over. Give one that is still to come, or none."),
        (
            {"first_day": "2027-02-01T10:00Z", "last_day": "2027-02-01T10:00:00.7Z"},
            "last_day",
            "last_day must not be before first_day.",
        ),
        ({"first_day": "2027-02-02", "last_day": "2027-01-20"}, "last_day", "last_day must not be before first_day."),
        *(
            (
                {field: day},
                field,
                f"{field} must be a day like 2026-12-24, or a time like 2026-12-24T12:00:00+01:00.",
            )
            for field, day in (
                ("first_day", "soon"),
                ("first_day", "2027-02-01T10:00"),
                ("first_day", "0001-01-01T00:00+14:00"),
                ("last_day", "9999-12-31"),
            )
        ),
    ],
)
async def test_what_nobody_could_have_meant_is_refused_in_words(
    gate: GateRig, fields: dict[str, str], field: str, said: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await wanted(gate, **fields)

    assert (refused.value.message, refused.value.details) == (said, {"field": field})


async def test_the_longest_subject_and_body_are_still_shown_whole(gate: GateRig) -> None:
    order = await wanted(gate, subject="s" * 200, body="x" * 2000)

    assert (len(order.draft.subject), len(order.draft.text)) == (200, 2000)


async def test_a_subject_of_two_lines_and_a_wrong_key_are_refused(gate: GateRig) -> None:
    with pytest.raises(InvalidRequest, match="subject"):
        await wanted(gate, subject="a\nb")
    with pytest.raises(InvalidRequest, match="idempotency_key"):
        await order_vacation(gate.gateway, AWAY, replace(CONFIRMED, idempotency_key="a\nb"))


async def test_whom_it_will_reach_is_unknown_each_time(gate: GateRig) -> None:
    gate.gateway.store.recipients.remember("alice", [EVERYONE.key])
    facts = await facts_for(gate.gateway, await wanted(gate), Policy())

    assert (facts.known, facts.unreachable) == (frozenset(), ())


async def test_days_begin_at_midnight_of_the_machine_where_no_zone_is_set(service: Gmail, tmp_path: Path) -> None:
    async with gate_rig(tmp_path, accounts=[service.account("alice")], timezone="") as gate:
        order = await wanted(gate, first_day="2027-02-01")

    assert order.native is not None
    assert order.native.start.startswith("2027-02-01T00:00:00")


async def test_what_is_set_is_shown_with_its_hidden_signs_and_in_the_operators_zone(
    gate: GateRig, service: Gmail
) -> None:
    before = await get_vacation(gate.gateway)
    service.user("alice").vacation = {
        "enableAutoReply": True, "responseSubject": "Aw\u202eay", "responseBodyPlainText": "Back\n> soon",
        "startTime": "1800000000000", "endTime": "1800086400000",
    }  # fmt: skip
    found = await get_vacation(gate.gateway)

    assert (before.account, before.enabled, before.start, before.end) == ("alice", False, "", "")
    assert (found.enabled, found.body) == (True, "Back\n> soon")
    assert "\u202e" not in found.subject
    assert (found.start, found.end) == ("2027-01-15T09:00+01:00", "2027-01-16T09:00+01:00")


async def test_a_reply_kept_as_html_is_shown_as_text_with_all_that_it_quotes(gate: GateRig, service: Gmail) -> None:
    html = "<p><b>Back</b> soon</p><p>On Monday, Bob wrote:</p><blockquote>until when?</blockquote>"
    service.user("alice").vacation = {"enableAutoReply": True, "responseBodyHtml": html}
    found = await get_vacation(gate.gateway)

    assert "Back soon" in found.body
    assert "until when?" in found.body


async def test_a_reply_that_quotes_a_mail_below_is_shown_with_it(gate: GateRig, service: Gmail) -> None:
    text = "Back soon.\n\nOn Mon, 4 Jan 2027 at 10:00, Bob <bob@demo.example> wrote:\n> until when?\n> and why?"
    service.user("alice").vacation = {"enableAutoReply": True, "responseBodyPlainText": text}

    assert (await get_vacation(gate.gateway)).body == text


async def test_what_the_provider_could_not_do_is_said_before_anybody_is_asked(
    gate: GateRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_wanted: Any) -> None:
        raise Unsupported("gmail", "a subject of its own", "Leave it out.")

    opened = await gate.gateway.accounts.open("alice")
    monkeypatch.setattr(opened.vacations, "check_vacation", refuse)
    with pytest.raises(Unsupported, match="a subject of its own"):
        await wanted(gate)


async def test_switching_it_off_needs_no_question_and_is_written_down(gate: GateRig, service: Gmail) -> None:
    on = await send.send(gate.gateway, await wanted(gate))
    assert (on.status, state(service)) == ("sent", True)

    off = await stop_vacation(gate.gateway, VacationRequest())

    said = "The vacation reply is off. Switching it on again passes the gate."
    assert off == SendView("switched_off", "alice", said)
    assert state(service) is False
    last = gate.audit()[0]
    assert (last["action_type"], last["parameters"]["state"]) == ("set_vacation", "switched_off")


@pytest.mark.parametrize(
    ("orders", "told"), [(1, "1 order that was still in the outbox"), (2, "2 orders that were still in the outbox")]
)
async def test_switching_it_off_says_how_many_orders_it_stopped(
    service: Gmail, tmp_path: Path, orders: int, told: str
) -> None:
    async with gate_rig(tmp_path, accounts=[service.account("alice")], hold_seconds=60) as gate:
        for number in range(orders):
            await send.send(gate.gateway, await wanted(gate, subject=f"Away {number}"))

        off = await stop_vacation(gate.gateway, VacationRequest())

        assert off.message == (
            f"The vacation reply is off. Cancelled: {told} and would have switched it on. "
            "Switching it on again passes the gate."
        )
        assert off.warnings == ()
        assert {row.state for row in gate.gateway.store.outbox.list().items} == {State.CANCELLED}


async def test_switching_it_off_stops_every_order_however_many_there_are(service: Gmail, tmp_path: Path) -> None:
    async with gate_rig(tmp_path, accounts=[service.account("alice")], sends_per_hour=99) as gate:
        out, order = gate.gateway.store.outbox, await wanted(gate)
        for _ in range(21):
            row = out.reserve(out.prepare(order.as_send()).send_id, hold_until=gate.time.wall + 60).send
            out.advance(row.send_id, expect=State.RESERVED, to=State.HELD)

        await stop_vacation(gate.gateway, VacationRequest())

        assert {row.state for row in out.list(limit=-1).items} == {State.CANCELLED}


async def test_switching_it_off_leaves_the_orders_of_other_accounts(service: Gmail, tmp_path: Path) -> None:
    accounts = [service.account("alice"), service.account("bob")]
    async with gate_rig(tmp_path, accounts=accounts, hold_seconds=60) as gate:
        theirs = await order_vacation(gate.gateway, AWAY, CONFIRMED, "bob")
        held = await send.send(gate.gateway, theirs)

        off = await stop_vacation(gate.gateway, VacationRequest(), "alice")

        assert off.message == "The vacation reply is off. Switching it on again passes the gate."
        assert gate.gateway.store.outbox.get(held.send_id).state is State.HELD


async def test_what_the_provider_does_besides_is_noted_for_the_person(
    gate: GateRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def note(_wanted: Any) -> str:
        return "It replaces a script."

    opened = await gate.gateway.accounts.open("alice")
    monkeypatch.setattr(opened.vacations, "check_vacation", note)
    assert (await wanted(gate)).notes[1:] == ("It replaces a script.",)


async def test_an_order_that_another_process_carries_out_is_warned_of(
    gate: GateRig, service: Gmail, tmp_path: Path
) -> None:
    async with gate_rig(tmp_path, accounts=[service.account("alice")]) as elsewhere:
        out = elsewhere.gateway.store.outbox
        row = out.reserve(out.prepare((await wanted(elsewhere)).as_send()).send_id).send
        for to in (State.STAGED, State.SENDING):
            row = out.advance(row.send_id, expect=row.state, to=to)

        off = await stop_vacation(gate.gateway, VacationRequest())

        assert off.message == "The vacation reply is off. Switching it on again passes the gate."
        assert off.warnings == (
            "A request to switch it on is being carried out. Call get_vacation to see whether it is off.",
        )
        assert out.get(row.send_id).state is State.SENDING


WOULD_SWITCH_IT_ON = {State.APPROVED, State.RESERVED, State.HELD, State.STAGED, State.RETRYABLE}


@pytest.mark.parametrize("at", State)
async def test_switching_it_off_stops_every_order_that_would_switch_it_on_and_no_other(
    gate: GateRig, at: State
) -> None:
    """What waits for a person switches nothing on by itself, and what may have been done is not taken back."""
    store = gate.gateway.store
    order = brought_to(store, at, (await wanted(gate)).as_send())

    off = await stop_vacation(gate.gateway, VacationRequest())

    is_stopped = at in WOULD_SWITCH_IT_ON
    assert store.outbox.get(order.send_id).state is (State.CANCELLED if is_stopped else at)
    assert ("Cancelled: 1 order" in off.message) is is_stopped
    assert bool(off.warnings) is (at is State.SENDING)


def test_what_is_not_asked_for_is_nothing() -> None:
    assert VacationRequest() == VacationRequest(subject="", body="", first_day="", last_day="")


async def test_words_given_with_switching_it_off_are_a_mistake(gate: GateRig) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await stop_vacation(gate.gateway, VacationRequest(body="x"))

    said = "Switching the vacation reply off takes no subject, body or days. Leave them out."
    assert (refused.value.message, refused.value.details) == (said, {"field": "enabled"})


async def test_recipient_lists_cannot_be_kept_by_a_reply_to_everybody(service: Gmail, tmp_path: Path) -> None:
    async with gate_rig(tmp_path, accounts=[service.account("alice")], allow_recipients=["*@demo.example"]) as gate:
        order = await wanted(gate)
        with pytest.raises(PermissionDenied):
            await send.send(gate.gateway, order)


def state(service: Gmail) -> bool:
    return bool(service.user("alice").vacation["enableAutoReply"])


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (
            "imap",
            (
                "The user sets it where the mailbox is hosted, in the webmail's settings (vacation, out of office). "
                "Postroom can set it where the server has ManageSieve: with sieve_host and smtp_host in the account's "
                "settings."
            ),
        ),
        ("jmap", "The user sets it in the settings of the mail service."),
        ("rest", "The user sets it in the settings of the mail service."),
        ("local", "Nobody outside writes to a local mailbox, so it has none."),
        ("new", "Call get_capabilities to see what it supports."),
    ],
)
async def test_an_account_without_one_says_where_it_is_set(provider: str, said: str) -> None:
    async def opened(_account: str | None) -> Any:
        return SimpleNamespace(capabilities=SimpleNamespace(has_vacation=False, provider=provider))

    gateway = cast("Gateway", SimpleNamespace(accounts=SimpleNamespace(open=opened)))
    with pytest.raises(Unsupported) as refused:
        await get_vacation(gateway)

    assert refused.value.message == f"The {provider} provider does not support vacation replies. {said}"
