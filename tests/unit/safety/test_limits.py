from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.model.address import Address
from postroom.model.draft import Draft, File, Threading
from postroom.model.errors import InvalidRequest
from postroom.safety.limits import MAX_BODY, check

ALICE, BOB = Address("alice@example.com"), Address("bob@example.com")
GOOD = Draft(ALICE, to=(BOB,), subject="Hi", text="words")
MANY = tuple(Address(f"p{n}@example.com") for n in range(501))


def test_an_ordinary_mail_passes():
    check(GOOD, max_bytes=1000)
    check(replace(GOOD, to=MANY[:500], subject="x" * 255, text="y" * MAX_BODY), max_bytes=1000)


BREAKS = ["\r", "\n", "\0", "\u0085", "\u2028", "\u2029", "\x1b"]


@pytest.mark.parametrize("char", BREAKS)
@pytest.mark.parametrize(
    "poison",
    [
        lambda c: replace(GOOD, subject=f"Hi{c}Bcc: eve@evil.example"),
        lambda c: replace(GOOD, to=(Address(f"bob@example.com{c}"),)),
        lambda c: replace(GOOD, cc=(Address("bob@example.com", f"Bob{c}"),)),
        lambda c: replace(GOOD, sender=Address("alice@example.com", f"A{c}")),
        lambda c: replace(GOOD, files=(File(f"a{c}.txt", "text/plain", b""),)),
        lambda c: replace(GOOD, threading=Threading(in_reply_to=f"<a@b>{c}")),
        lambda c: replace(GOOD, threading=Threading(references=(f"<a@b>{c}",))),
    ],
)
def test_line_breaks_and_controls_are_refused_in_every_header_value(char, poison):
    with pytest.raises(InvalidRequest):
        check(poison(char), max_bytes=1000)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (replace(GOOD, to=()), "to"),
        (replace(GOOD, to=MANY), "to"),
        (replace(GOOD, cc=MANY), "cc"),
        (replace(GOOD, bcc=MANY), "bcc"),
        (replace(GOOD, subject=""), "subject"),
        (replace(GOOD, subject=" \t"), "subject"),
        (replace(GOOD, subject="x" * 256), "subject"),
        (replace(GOOD, text=""), "body"),
        (replace(GOOD, text="a\0b"), "body"),
        (replace(GOOD, html="a\0b"), "body"),
        (replace(GOOD, text="x" * (2 * MAX_BODY + 1)), "body"),
        (replace(GOOD, files=(File("a", "b/c", b"x" * 1001),)), "attachments"),
        (replace(GOOD, forwarded=b"x" * 1001), "attachments"),
    ],
)
def test_what_is_too_much_or_too_little_is_refused_by_name(bad, field):
    with pytest.raises(InvalidRequest) as refused:
        check(bad, max_bytes=1000)
    assert refused.value.details["field"] == field
