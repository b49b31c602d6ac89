"""An order's wishes, its digest and its times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.gate.rigs import gate_rig

from postroom.mime.read.parse import parse_headers
from postroom.model.address import Address
from postroom.model.draft import Draft, Threading
from postroom.model.errors import InvalidRequest
from postroom.model.native import NativeAction
from postroom.model.outcome import WireEnvelope
from postroom.service.sending.order import Wishes, digest_of, likeness, make_order, parse_time, schedule_text
from postroom.store.sends.send_rows import NewSend

RAW = b"From: a@x.example\r\nSubject: hi\r\n\r\nhello\r\n"
WIRE = WireEnvelope("a@x.example", ("b@x.example",))
GIVEN = (RAW, WIRE, "mine", "t1", "d1", True, "2027-01-15T08:00:00+00:00")
OTHER = (RAW + b"!", WireEnvelope("a@x.example", ("c@x.example",)), "yours", "t2", "d2", False, "")


def test_who_wishes_nothing_confirms_nothing_and_is_asked_by_nobody() -> None:
    nothing = Wishes()
    assert (nothing.confirm, nothing.require_approval, nothing.can_elicit, nothing.answer) == (
        False,
        False,
        False,
        None,
    )
    assert (nothing.idempotency_key, nothing.send_at) == ("", None)
    assert (nothing.save_to_sent, nothing.actor) == (True, "agent")
    assert (nothing.native, nothing.key_seconds) == (False, None)


@pytest.mark.parametrize("place", range(len(GIVEN)))
def test_whatever_is_changed_has_another_digest(place: int) -> None:
    changed = (*GIVEN[:place], OTHER[place], *GIVEN[place + 1 :])
    assert digest_of(*GIVEN) == digest_of(*GIVEN)
    assert digest_of(*changed) != digest_of(*GIVEN)  # type: ignore[arg-type]


def test_what_was_approved_before_an_update_is_still_approved_after_it() -> None:
    """Digests as they lie in outboxes and approval files."""
    unscheduled = (*GIVEN[:-1], "")
    assert digest_of(*unscheduled) == "ed4e1705c1d40bab53c5804ab806af6eaafc85f451d0107bab80cd939319e2d0"  # type: ignore[arg-type]
    assert digest_of(*GIVEN) == "eb1b2c20c16123e95cfe772a4c1a63da0a480538f158ec0af6b2dbeb4a3198b0"
    assert digest_of(*GIVEN, native=True) == "79be6be8a06ab2165340a319349c79fc9e3a4259d6cf01f24cd8d4d23ede6531"


def test_what_was_approved_as_an_action_is_not_approved_as_bytes() -> None:
    assert digest_of(*GIVEN, native=True) != digest_of(*GIVEN)


def test_a_ref_cannot_move_from_the_thread_to_the_draft_unseen() -> None:
    assert digest_of(RAW, WIRE, "mine", "1", "", True, "") != digest_of(RAW, WIRE, "mine", "", "1", True, "")


def test_a_moment_has_one_spelling() -> None:
    moment = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
    assert schedule_text(moment) == "2027-01-15T08:00:00+00:00"
    assert schedule_text(moment.astimezone(timezone(timedelta(hours=5, minutes=30)))) == schedule_text(moment)
    assert schedule_text(None) == ""


def test_a_time_is_read_as_it_was_written_or_refused_with_an_example() -> None:
    assert parse_time("") is None
    assert parse_time("2026-12-01T09:00:00+01:00") == datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
    with pytest.raises(InvalidRequest, match=r"ISO 8601 with an offset, like 2026-12-01T09:00:00\+01:00") as refusal:
        parse_time("tomorrow")
    assert refusal.value.details == {"field": "send_at"}


def test_two_mails_are_alike_by_their_recipients_subject_and_beginning() -> None:
    to = [Address("b@x.example", "Bob")]
    assert likeness(to, "Hi", "  hello\n") == likeness([Address("B@x.example")], "HI", "hello")
    assert likeness(to, "Hi", "hello") != likeness(to, "Hi", "goodbye")
    assert likeness(to, "Hi", "hello") != likeness(to, "Ho", "hello")
    assert likeness(to, "Hi", "hello") != likeness([Address("c@x.example")], "Hi", "hello")


async def test_an_order_is_frozen_by_the_clock_of_the_house_and_keeps_all_it_was_given(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        account = await gate.gateway.accounts.open("alice")
        to, threading = (Address("bob@demo.example"),), Threading(thread_ref="t7")
        draft = Draft(Address("alice@demo.example"), to=to, subject="Hi", text="hello", threading=threading)
        nine = datetime(2027, 2, 1, 9, tzinfo=timezone(timedelta(hours=9)))
        wishes = Wishes(save_to_sent=False, send_at=nine, idempotency_key="k7", key_seconds=60.0)
        order = await make_order(
            gate.gateway, account, "send_draft", "email_reply", draft, wishes,
            original=("Old", "Zoe"), draft_ref="d7", answers_ref="e7",
        )  # fmt: skip
        head = parse_headers(order.raw)
        assert (head.date, head.message_id) == (datetime.fromtimestamp(gate.time.wall, UTC), order.message_id)
        assert order.message_id.endswith("@demo.example>")
        assert (order.account, order.tool, order.kind, order.draft) == (account, "send_draft", "email_reply", draft)
        assert (order.original, order.draft_ref, order.answers_ref) == (("Old", "Zoe"), "d7", "e7")
        assert order.wishes.send_at == datetime(2027, 2, 1, 0, tzinfo=UTC)
        assert order.wishes.send_at.utcoffset() == timedelta(0)
        at = "2027-02-01T00:00:00+00:00"
        assert order.digest == digest_of(order.raw, order.envelope, "alice", "t7", "d7", False, at)
        assert order.as_send() == NewSend(
            account="alice", tool="send_draft", kind="email_reply", content_sha256=order.digest, raw=order.raw,
            sender="alice@demo.example", recipients=("bob@demo.example",), message_id=order.message_id,
            thread_ref="t7", draft_ref="d7", save_to_sent=False, idempotency_key="k7", not_before=nine.timestamp(),
            send_at=at, subject="Hi", answers_ref="e7", native=False, key_seconds=60.0,
        )  # fmt: skip
        action = NativeAction("send", subject="Hi")
        by_provider = await make_order(
            gate.gateway, account, "send_email", "email_send", draft, Wishes(), native=action
        )
        assert (by_provider.as_send().native, by_provider.message_id) == (True, "")
        assert (by_provider.as_send().not_before, by_provider.as_send().send_at) == (None, "")
