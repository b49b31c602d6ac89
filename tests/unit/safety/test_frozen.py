"""The last look at the bytes: anything that nobody approved is caught here."""

from __future__ import annotations

import pytest

from postroom.model.errors import InternalError
from postroom.model.outcome import WireEnvelope
from postroom.safety.frozen import check_envelope

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
    ("old", "new"),
    [
        (b"Subject:", b"Bcc: eve@evil.example\r\nSubject:"),
        (b"Subject:", b"X-Forward-To: eve@evil.example\r\nSubject:"),
        (b"Subject:", b"Disposition-Notification-To: eve@evil.example\r\nSubject:"),
        (b"Subject:", b"Cc: eve@evil.example\r\nSubject:"),
        (b"carol@example.com\r\n", b"carol@example.com, eve@evil.example\r\n"),
        (b"Alice <alice@example.com>", b"Alice <mallory@example.com>"),
        (b"Subject:", b"Subject: twice\r\nSubject:"),
        (b"Subject: Hi", b"Subject: Hi\nBcc: eve@evil.example"),
        (b"Subject: Hi", b"Subject: Hi\rBcc: eve@evil.example"),
        (b"Subject: Hi", b"Subject: Hi\0"),
        (b"Subject:", b"no colon here\r\nSubject:"),
        (b"\r\n\r\nBcc: not a header\r\n", b"\r\n"),
    ],
)
def test_anything_more_is_refused(old, new):
    assert old in GOOD
    with pytest.raises(InternalError):
        check_envelope(GOOD.replace(old, new, 1), WIRE, APPROVED)


@pytest.mark.parametrize("wire", [(*APPROVED, "eve@evil.example"), APPROVED[:2], ()])
def test_a_wire_envelope_that_differs_from_the_approved_one_is_refused(wire):
    with pytest.raises(InternalError):
        check_envelope(GOOD, WireEnvelope("alice@example.com", wire), APPROVED)
