from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postroom.model.address import Address
from postroom.model.draft import Draft, File, Threading
from postroom.model.errors import InvalidRequest
from postroom.safety.limits import MAX_BODY, check, check_schedule

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
    ("bad", "field", "message"),
    [
        (replace(GOOD, to=()), "to", "There is no recipient. Give at least one"),
        (replace(GOOD, to=MANY), "to", "to has 501 recipients; at most 500 are allowed"),
        (replace(GOOD, cc=MANY), "cc", "cc has 501 recipients; at most 500 are allowed"),
        (replace(GOOD, bcc=MANY), "bcc", "bcc has 501 recipients; at most 500 are allowed"),
        (replace(GOOD, subject=""), "subject", "The subject is empty"),
        (replace(GOOD, subject=" \t"), "subject", "The subject is empty"),
        (replace(GOOD, subject="x" * 256), "subject", "longer than 255 characters"),
        (replace(GOOD, text=""), "body", "The body is empty"),
        (replace(GOOD, text=" \n", html=" "), "body", "The body is empty"),
        (replace(GOOD, text="a\0b"), "body", "NUL character. Remove it"),
        (replace(GOOD, html="a\0b"), "body", "NUL character. Remove it"),
        (replace(GOOD, text="x" * 200_001), "body", "longer than 100000 characters"),
        (replace(GOOD, html="x" * 300_001), "body", "longer than 100000 characters"),
        (replace(GOOD, files=(File("a", "b/c", b"x" * 1001),)), "attachments", "The attachments are larger than"),
        (replace(GOOD, files=(File("a", "b/c", b"x" * 500),) * 2, forwarded=b"x"), "attachments", "larger than"),
        (replace(GOOD, forwarded=b"x" * 1001), "attachments", "The attachments are larger than"),
    ],
)
def test_what_is_too_much_or_too_little_is_refused_by_name(bad, field, message):
    with pytest.raises(InvalidRequest, match=message) as refused:
        check(bad, max_bytes=1000)
    assert refused.value.details == {"field": field}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (replace(GOOD, to=()), "recipient_missing"),
        (replace(GOOD, forwarded=b"x" * 1001), "attachment_too_large"),
        (replace(GOOD, subject=""), "invalid_request"),
    ],
)
def test_what_a_client_can_mend_by_itself_has_a_reason_of_its_own(bad, reason):
    with pytest.raises(InvalidRequest) as refused:
        check(bad, max_bytes=1000)
    assert refused.value.reason == reason


def test_the_limit_is_told_in_megabytes():
    with pytest.raises(InvalidRequest, match="larger than the 3 MB this account accepts"):
        check(replace(GOOD, forwarded=b"x" * (3 * 2**20 + 1)), max_bytes=3 * 2**20)


@pytest.mark.parametrize(
    "full",
    [
        replace(GOOD, cc=MANY[:500], bcc=MANY[:500]),
        replace(GOOD, text="x" * 200_000, html="y" * 300_000),
        replace(GOOD, text="", html="<p>Hi</p>"),
        replace(GOOD, text="", forwarded=b"a whole mail"),
        replace(GOOD, files=(File("a", "b/c", b"x" * 500),), forwarded=b"x" * 500),
        replace(GOOD, to=(), bcc=(BOB,)),
    ],
)
def test_what_just_fits_passes(full):
    check(full, max_bytes=1000)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (replace(GOOD, to=(Address("bob@example.com", "B\nob"),)), "to"),
        (replace(GOOD, bcc=(Address("bob@example.com", "B\nob"),)), "bcc"),
        (replace(GOOD, sender=Address("alice@example.com", "A\nlice")), "identity"),
        (replace(GOOD, subject="a\nb"), "header value"),
    ],
)
def test_a_line_break_is_refused_with_the_name_of_its_place(bad, field):
    with pytest.raises(InvalidRequest) as refused:
        check(bad, max_bytes=1000)
    assert field in refused.value.message or refused.value.details.get("field") == field


@pytest.mark.parametrize("bad", [replace(GOOD, to=(Address("bob"),)), replace(GOOD, sender=Address("alice@"))])
def test_an_address_that_is_none_is_refused_in_every_place(bad):
    with pytest.raises(InvalidRequest):
        check(bad, max_bytes=1000)


NOW, SECOND, YEAR = datetime(2026, 11, 15, 10, tzinfo=UTC), timedelta(seconds=1), timedelta(days=365)


@pytest.mark.parametrize("send_at", [None, NOW + SECOND, NOW + YEAR])
def test_a_time_within_a_year_can_be_waited_for(send_at):
    check_schedule(send_at, NOW)


@pytest.mark.parametrize("send_at", [NOW - SECOND, NOW, NOW + YEAR + SECOND])
def test_a_time_that_has_come_or_is_years_away_is_refused(send_at):
    with pytest.raises(InvalidRequest, match="send_at must be in the future, within one year") as refused:
        check_schedule(send_at, NOW)
    assert refused.value.details == {"field": "send_at"}
