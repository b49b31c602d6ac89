"""Of a mail that the provider writes by itself: whom it reaches, and what of the original a person was shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from postroom.model.address import Address
from postroom.model.errors import Conflict, InternalError, InvalidRequest
from postroom.model.message import Attachment, Body, Envelope, Message
from postroom.model.native import NativeAction, Recipients
from postroom.model.outcome import WireEnvelope
from postroom.safety.native import check_action, check_original, original_digest

BOB, CAROL, EVE = (Address(f"{name}@x.example") for name in ("bob", "carol", "eve"))
ENVELOPE = Envelope(
    "1", "t1", "INBOX", BOB, (CAROL,), (CAROL,), reply_to=(BOB,), subject="Hi", date=datetime(2027, 1, 1, tzinfo=UTC),
    message_id="<1@x.example>",
)  # fmt: skip
FILE = Attachment("2", "plan.txt", "text/plain", 7, content_id="<c>")
ORIGINAL = Message(ENVELOPE, Body("text", "<p>html</p>"), (FILE,))
OTHERS = {
    "sender": replace(ORIGINAL, envelope=replace(ENVELOPE, sender=EVE)),
    "the sender's name": replace(ORIGINAL, envelope=replace(ENVELOPE, sender=replace(BOB, name="Bob"))),
    "to": replace(ORIGINAL, envelope=replace(ENVELOPE, to=(EVE,))),
    "cc": replace(ORIGINAL, envelope=replace(ENVELOPE, cc=(EVE,))),
    "reply_to": replace(ORIGINAL, envelope=replace(ENVELOPE, reply_to=(EVE,))),
    "subject": replace(ORIGINAL, envelope=replace(ENVELOPE, subject="Ho")),
    "date": replace(ORIGINAL, envelope=replace(ENVELOPE, date=None)),
    "id": replace(ORIGINAL, envelope=replace(ENVELOPE, message_id="<2@x.example>")),
    "text": replace(ORIGINAL, body=Body("other", "<p>html</p>")),
    "html": replace(ORIGINAL, body=Body("text", "<p>other</p>")),
    "a file's name": replace(ORIGINAL, attachments=(replace(FILE, filename="plan.exe"),)),
    "a file's type": replace(ORIGINAL, attachments=(replace(FILE, mime_type="text/html"),)),
    "a file's size": replace(ORIGINAL, attachments=(replace(FILE, size=8),)),
    "a file's place": replace(ORIGINAL, attachments=(replace(FILE, content_id=""),)),
    "no file": replace(ORIGINAL, attachments=()),
}
ACTION = NativeAction(
    "reply_all", "1", Recipients(), Recipients((BOB,), (CAROL,)), original_sha256=original_digest(ORIGINAL)
)
WIRE = WireEnvelope("alice@x.example", (BOB.email, CAROL.email))


@pytest.mark.parametrize("change", OTHERS)
def test_an_original_that_differs_in_anything_its_readers_see_is_another(change: str) -> None:
    check_original(ACTION, ORIGINAL, ACTION.everyone)
    with pytest.raises(Conflict, match="has changed since this was approved"):
        check_original(ACTION, OTHERS[change], ACTION.everyone)


def test_an_original_that_was_read_starred_or_moved_is_the_same() -> None:
    elsewhere = replace(ENVELOPE, folder="Archive", unread=True, starred=True, answered=True, labels=("red",))
    check_original(ACTION, replace(ORIGINAL, envelope=elsewhere), ACTION.everyone)


@pytest.mark.parametrize(
    "reached",
    [Recipients((BOB,)), Recipients((BOB,), (CAROL, EVE)), Recipients((BOB, CAROL)), Recipients((BOB,), (), (CAROL,))],
)
def test_others_than_those_approved_or_in_another_field_stop_it(reached: Recipients) -> None:
    with pytest.raises(Conflict, match="other recipients"):
        check_original(ACTION, ORIGINAL, reached)


def test_a_new_mail_has_no_original() -> None:
    action = NativeAction("send", everyone=Recipients((BOB,)))
    check_original(action, None, Recipients((Address("Bob@x.example", "Robert"),)))


@pytest.mark.parametrize(
    ("action", "wire", "approved"),
    [
        (replace(ACTION, everyone=Recipients((BOB,))), WIRE, WIRE.recipients),
        (ACTION, replace(WIRE, recipients=(BOB.email,)), WIRE.recipients),
        (ACTION, WIRE, (BOB.email, CAROL.email, EVE.email)),
        (replace(ACTION, named=Recipients(bcc=(EVE,))), WIRE, WIRE.recipients),
    ],
)
def test_action_envelope_and_approval_must_name_the_same_people(
    action: NativeAction, wire: WireEnvelope, approved: tuple[str, ...]
) -> None:
    check_action(ACTION, WIRE, WIRE.recipients)
    with pytest.raises(InternalError, match="Not sent"):
        check_action(action, wire, approved)


def test_a_subject_holds_no_second_header() -> None:
    with pytest.raises(InvalidRequest):
        check_action(replace(ACTION, subject="Hi\r\nBcc: eve@x.example"), WIRE, WIRE.recipients)


def test_what_was_answered_before_an_update_is_the_same_original_after_it() -> None:
    """Digests as they lie in outboxes."""
    undated = replace(ORIGINAL, envelope=replace(ENVELOPE, date=None))
    assert original_digest(ORIGINAL) == "3d27ae47d0ddc4e83a3f67e0dbd4f51b848757005d448cc41f941ea86a6cbfcb"
    assert original_digest(undated) == "5f73f8571ed736ce904c7e0622779922e318f797b9643b3e0fd2fcfd0e3d1c4f"
