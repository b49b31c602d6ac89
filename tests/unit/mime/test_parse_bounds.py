"""Mails made to exhaust their reader: what is too much is left out and said, never an error."""

from __future__ import annotations

import pytest

from postroom.mime.limits import MAX_ADDRESSES, MAX_HEADERS, MAX_PARTS, MAX_TEXT, MAX_VALUE
from postroom.mime.read.parse import extract_part, parse

HEAD = b'Subject: bomb\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'


def test_ten_thousand_parts_are_listed_up_to_the_bound() -> None:
    parsed = parse(HEAD + b"--b\r\nContent-Type: image/png\r\n\r\nx\r\n" * 10_000 + b"--b--")
    assert len(parsed.attachments) == MAX_PARTS
    assert any("too many parts" in defect for defect in parsed.defects)


def test_three_thousand_nested_parts_are_not_followed_to_the_end() -> None:
    nest = b"".join(
        b'--b%d\r\nContent-Type: multipart/mixed; boundary="b%d"\r\n\r\n' % (n, n + 1) for n in range(3_000)
    )
    parsed = parse(b'Subject: deep\r\nContent-Type: multipart/mixed; boundary="b0"\r\n\r\n' + nest + b"the core")
    assert parsed.subject == "deep"
    assert any("nested too deeply" in defect for defect in parsed.defects)


def test_nesting_by_one_boundary_ends() -> None:
    parsed = parse(HEAD + b'--b\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n' * 5_000)
    assert parsed.subject == "bomb"


def test_nested_mails_are_one_attachment() -> None:
    parsed = parse(b"Content-Type: message/rfc822\r\n\r\n" * 20_000 + b"Subject: core\r\n\r\nx")
    assert len(parsed.attachments) == 1


def test_a_hundred_thousand_headers_are_read_up_to_the_bound() -> None:
    parsed = parse(b"Subject: many\r\n" + b"X-A: 1\r\n" * 100_000 + b"\r\nbody")
    assert parsed.subject == "many"
    assert sum(map(len, parsed.headers.values())) == MAX_HEADERS
    assert parsed.body.text == "body"
    assert parsed.defects


def test_a_header_of_ten_megabytes_is_cut_and_the_body_found() -> None:
    parsed = parse(b"X-Long: " + b"a" * 10_000_000 + b"\r\nSubject: after\r\n\r\nbody")
    assert parsed.body.text == "body"
    assert len(parsed.headers["x-long"][0]) <= MAX_VALUE
    assert parsed.defects


def test_a_line_of_fifty_megabytes_is_cut() -> None:
    parsed = parse(b"Subject: long\r\n\r\n" + b"a" * 50_000_000)
    assert len(parsed.body.text) == MAX_TEXT
    assert parsed.size > 50_000_000
    assert any("too long" in defect for defect in parsed.defects)


def test_an_endless_boundary_ends() -> None:
    raw = (
        b'Subject: x\r\nContent-Type: multipart/mixed; boundary="'
        + b"b" * 5_000
        + b'"\r\n\r\n'
        + b"--"
        + b"b" * 3_000_000
    )
    assert parse(raw).subject == "x"


def test_lines_that_are_nearly_boundaries_are_no_parts() -> None:
    assert parse(HEAD + b"--bb\r\n" * 200_000).attachments == ()


@pytest.mark.parametrize(
    "value",
    [
        b"=?a?b?" * 10_000,
        b"=?utf-8?q?a" * 6_000,
        b'"\\"' * 20_000,
        b"(" * 60_000,
        b"<" * 60_000,
        b'"' * 60_000,
        b"a," * 30_000,
        b":" * 60_000,
        b"\\" * 60_000,
        b"<a@b> " * 10_000,
    ],
)
def test_hostile_header_values_are_read_like_any_other(value: bytes) -> None:
    parsed = parse(b"Subject: " + value + b"\r\nTo: " + value + b"\r\nDate: " + value + b"\r\n\r\nbody")
    assert parsed.body.text == "body"
    assert len(parsed.to) <= MAX_ADDRESSES


@pytest.mark.parametrize("value", [b';a="\\"' * 10_000, b";a*0*=%" * 9_000, b";" * 60_000, b';a="' * 15_000])
def test_hostile_parameters_are_read_like_any_other(value: bytes) -> None:
    assert parse(b"Content-Type: text/plain" + value + b"\r\n\r\nbody").body.text == "body"


def test_a_part_number_of_any_size_is_only_not_found() -> None:
    with pytest.raises(Exception, match="no such attachment"):
        extract_part(HEAD, "1." * 100_000)
