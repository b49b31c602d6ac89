"""The last look at the bytes: anything that nobody approved is caught here."""

from __future__ import annotations

import pytest

from postroom.mime.write.compose import compose
from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.errors import InternalError
from postroom.model.outcome import WireEnvelope
from postroom.safety.frozen import check_envelope, content_digest, wire_envelope

GOOD = (
    b"From: Alice <alice@example.com>\r\n"
    b'To: "Bob, the <builder@x.example>" <bob@example.com>,\r\n carol@example.com\r\n'
    b"Subject: Hi to eve@evil.example\r\nDate: Sun, 15 Nov 2026 10:00:00 +0000\r\n"
    b"Message-ID: <1@example.com>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nBcc: not a header\r\n"
)
APPROVED = ("bob@example.com", "carol@example.com", "dave@example.com")  # dave is a blind copy
WIRE = WireEnvelope("alice@example.com", APPROVED)


def test_bytes_that_say_what_was_approved_pass():
    check_envelope(GOOD, WIRE, APPROVED)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"Subject:", b"Bcc: eve@evil.example\r\nSubject:", "a header that Postroom did not write"),
        (b"Subject:", b"X-Forward-To: eve@evil.example\r\nSubject:", "a header that Postroom did not write"),
        (
            b"Subject:",
            b"Disposition-Notification-To: eve@evil.example\r\nSubject:",
            "a header that Postroom did not write",
        ),
        (b"Subject:", b"Cc: eve@evil.example\r\nSubject:", "a recipient who was not approved"),
        (b"carol@example.com\r\n", b"carol@example.com, eve@evil.example\r\n", "a recipient who was not approved"),
        (b"Alice <alice@example.com>", b"Alice <mallory@example.com>", "the sender is not the approved one"),
        (b"Alice <alice@example.com>", b"alice@example.com, bob@example.com", "the sender is not the approved one"),
        (b"Subject:", b"Subject: twice\r\nSubject:", "a header appears twice"),
        (b"Subject: Hi", b"Subject: Hi\nBcc: eve@evil.example", "a bare line break or NUL"),
        (b"Subject: Hi", b"Subject: Hi\rBcc: eve@evil.example", "a bare line break or NUL"),
        (b"Subject: Hi", b"Subject: Hi\0", "a bare line break or NUL"),
        (b"Subject:", b"no colon here\r\nSubject:", "a header line is malformed"),
        (b"Subject:", b": no name\r\nSubject:", "a header line is malformed"),
        (b"Subject:", b"Subject : a space\r\nDate:", "a header line is malformed"),
        (b"\r\n\r\nBcc: not a header\r\n", b"\r\n", "no end of headers"),
    ],
)
def test_anything_more_is_refused_and_the_reason_named(old, new, why):
    assert old in GOOD
    with pytest.raises(InternalError, match=why) as refused:
        check_envelope(GOOD.replace(old, new, 1), WIRE, APPROVED)
    assert "Please report this." in refused.value.message


@pytest.mark.parametrize("wire", [(*APPROVED, "eve@evil.example"), APPROVED[:2], ()])
def test_a_wire_envelope_that_differs_from_the_approved_one_is_refused(wire):
    with pytest.raises(InternalError, match="recipients on the wire"):
        check_envelope(GOOD, WireEnvelope("alice@example.com", wire), APPROVED)


CONTENT = (b"Content-Transfer-Encoding", b"Content-Disposition")


def test_every_header_that_a_mail_of_ours_can_have_passes():
    more = b"".join(
        name + b": x\r\n"
        for name in (b"Reply-To", b"In-Reply-To", b"References", b"Importance", b"X-Priority", *CONTENT)
    )
    check_envelope(GOOD.replace(b"Subject:", b"Cc: dave@example.com\r\n" + more + b"Subject:"), WIRE, APPROVED)


def test_what_the_body_says_is_no_header_and_no_fault():
    check_envelope(GOOD + b"\r\n\r\nTo: eve@evil.example\nbare \r and \0\r\n", WIRE, APPROVED)


def test_the_order_and_the_case_of_recipients_do_not_matter():
    wire = WireEnvelope("Alice@Example.com", ("Dave@example.com", "carol@EXAMPLE.com", "bob@example.com"))
    check_envelope(GOOD, wire, APPROVED)


def test_an_address_with_bytes_outside_ascii_is_compared_and_not_choked_on():
    raw = GOOD.replace(b"carol@example.com", "jürgen@example.com".encode())
    check_envelope(raw, WireEnvelope("alice@example.com", ("bob@example.com", "jürgen@example.com")),
                   ("bob@example.com", "jürgen@example.com"))  # fmt: skip
    with pytest.raises(InternalError, match="a recipient who was not approved"):
        check_envelope(raw.replace("ü".encode(), b"\xff"), WIRE, APPROVED)


def test_an_approved_address_whose_first_part_stands_in_quotes_passes():
    approved = ("bob@example.com", '"carol c"@example.com')
    raw = GOOD.replace(b"carol@example.com", b'"carol c"@example.com')
    check_envelope(raw, WireEnvelope("alice@example.com", approved), approved)


def to(value: bytes) -> bytes:
    return GOOD.replace(b"carol@example.com", value)


@pytest.mark.parametrize(
    "named",
    [
        b'"eve x"@evil.example',
        b'"carol c"@evil.example',
        b'Carol <"eve x"@evil.example>',
        b'"a\\"b"@evil.example, carol@example.com',
        b'"carol@example.com"@evil.example',
        b"Carol <eve@evil.example>",
        b"=?utf-8?q?Carol?=\r\n <eve@evil.example>",
    ],
)
def test_a_recipient_nobody_approved_is_seen_in_whatever_spelling(named):
    with pytest.raises(InternalError, match="a recipient who was not approved"):
        check_envelope(to(named), WIRE, APPROVED)


@pytest.mark.parametrize(
    "named",
    [
        b"friends: eve@evil.example;",
        b"friends: carol@example.com;",
        b"carol@example.com (eve@evil.example)",
        b"carol(x)@example.com",
        b"<@evil.example:carol@example.com>",
        b"<carol@example.com> <eve@evil.example>",
        b"carol@example.com eve@evil.example",
        b"carol @example.com",
        b"carol@[192.0.2.1]",
        b"carol\\@example.com",
        b'"carol@example.com',
        b"<carol@example.com",
        b"=?utf-8?q?eve=40evil=2Eexample?=",
        b"carol",
        b"carol@example.com,,",
        b'"x" "eve x"@evil.example',
    ],
)
def test_an_address_that_could_be_read_in_another_way_is_refused(named):
    """Groups, comments, routes and the rest: nothing of ours is written so, and readers disagree on them."""
    with pytest.raises(InternalError, match="an address header is not written as Postroom writes it"):
        check_envelope(to(named), WIRE, APPROVED)


@pytest.mark.parametrize(
    "named",
    [
        b"Carol <carol@example.com>",
        b"Carol\r\n\tC <carol@example.com>",
        b'"Carol\r\n \\"eve@evil.example\\", C." <carol@example.com>',
        b'"Carol" "C." C <carol@example.com>',
        b"=?utf-8?q?Carol?=\r\n =?utf-8?b?w6k=?= <carol@example.com>",
        b"CAROL@example.com,\r\n dave@EXAMPLE.com",
    ],
)
def test_an_approved_recipient_is_known_under_any_name_and_fold(named):
    check_envelope(to(named), WIRE, APPROVED)


@pytest.mark.parametrize("sender", [b'"alice a"@example.com', b'Alice <"alice a"@example.com>'])
def test_a_sender_whose_first_part_stands_in_quotes_is_compared_too(sender):
    raw = GOOD.replace(b"Alice <alice@example.com>", sender)
    check_envelope(raw, WireEnvelope('"alice a"@example.com', APPROVED), APPROVED)
    with pytest.raises(InternalError, match="the sender is not the approved one"):
        check_envelope(raw, WIRE, APPROVED)


def test_a_sender_named_twice_is_refused():
    raw = GOOD.replace(b"Alice <alice@example.com>", b"alice@example.com, Alice <alice@example.com>")
    with pytest.raises(InternalError, match="the sender is not the approved one"):
        check_envelope(raw, WIRE, APPROVED)


ODD_NAMES = (
    "",
    "Bob",
    "Bob <b>, (c); d: [e]",
    'O"B\\\\ob',
    "Bøb " * 40,
    "B. o'b",
    "x" * 200,
    "two  spaces",
    "=?utf-8?q?x?=",
    "\t",
)
ODD_EMAILS = (
    "bob@example.com",
    "o'b+x=%!@example.com",
    "jürgen@bücher.example",
    "juergen@bücher.example",
    "a.b@x-y.example",
)


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("email", ODD_EMAILS)
def test_whatever_is_composed_for_the_approved_people_passes(name, email):
    people = (Address(email, name), Address("carol@example.com", name))
    draft = Draft(Address("alice@example.com", name), to=people, cc=people, subject="Hi", text="x")
    check_envelope(compose(draft), wire_envelope(draft), (email, "carol@example.com"))


def test_the_wire_envelope_of_a_draft_names_its_sender_and_every_recipient():
    to, cc, bcc = (Address(f"{name}@example.com") for name in ("bob", "carol", "dave"))
    draft = Draft(Address("alice@example.com", "Alice"), to=(to,), cc=(cc,), bcc=(bcc,), subject="Hi", text="x")
    assert wire_envelope(draft) == WIRE


HERE = {"account": "work", "thread": "t1", "draft": "", "save_to_sent": True}
DIGEST = content_digest(GOOD, WIRE, HERE)


@pytest.mark.parametrize(
    "again",
    [
        GOOD.replace(b"15 Nov 2026 10:00:00", b"16 Nov 2026 11:11:11"),
        GOOD.replace(b"<1@example.com>", b"<2@example.com>"),
        GOOD.replace(b"Date: Sun,", b"DATE :\r\n Sun,"),
        GOOD.replace(b"Message-ID: <1@", b"message-id:\r\n\t<3@"),
    ],
)
def test_the_same_words_at_another_time_have_the_same_digest(again):
    assert again != GOOD
    assert content_digest(again, WIRE, dict(reversed(HERE.items()))) == DIGEST


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Subject: Hi", b"Subject: Ho"),
        (b"not a header", b"not a header!"),
        (b"text/plain", b"text/html"),
        (b"Alice <", b"Alicia <"),
        (b"\r\n\r\nBcc: not", b"\r\nBcc: not"),
        (b"\r\n\r\nBcc: not", b"\r\n\r\n\r\n\r\nBcc: not"),
        (b"Bcc: not a header\r\n", b"Bcc: not a header\r\n\r\nDate: of the body\r\n"),
        (b"Date: ", b"Update: "),
    ],
)
def test_other_words_have_another_digest(old, new):
    assert old in GOOD
    assert content_digest(GOOD.replace(old, new, 1), WIRE, HERE) != DIGEST


@pytest.mark.parametrize("key", HERE)
def test_other_circumstances_have_another_digest(key):
    assert content_digest(GOOD, WIRE, {**HERE, key: "other"}) != DIGEST


@pytest.mark.parametrize(
    "wire",
    [WireEnvelope("bob@example.com", APPROVED), WireEnvelope("alice@example.com", APPROVED[:2])],
)
def test_another_envelope_has_another_digest(wire):
    assert content_digest(GOOD, wire, HERE) != DIGEST


def test_a_character_cannot_move_from_the_headers_into_the_body_unseen():
    one, other = b"Subject: Pay Bob 1\r\n\r\n0 times", b"Subject: Pay Bob 10\r\n\r\n times"
    assert content_digest(one, WIRE, HERE) != content_digest(other, WIRE, HERE)
