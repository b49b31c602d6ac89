"""Mails made to exhaust their reader: what is too much is left out and said, never an error."""

from __future__ import annotations

from functools import partial

import pytest

from postroom.mime.limits import (
    MAX_ADDRESSES,
    MAX_HEADERS,
    MAX_MARKS,
    MAX_PART_HEADERS,
    MAX_PARTS,
    MAX_TEXT,
    MAX_VALUE,
)
from postroom.mime.read import structure
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


def test_the_headers_of_all_parts_have_one_bound() -> None:
    parsed = parse(HEAD + (b"--b\r\nContent-Type: image/png\r\n" + b"X: 1\r\n" * 500 + b"\r\nx\r\n") * 900 + b"--b--")
    images = [file for file in parsed.attachments if file.mime_type == "image/png"]
    assert len(images) == MAX_PART_HEADERS // 501 + 1
    assert any("header block is too long" in defect for defect in parsed.defects)


def test_the_bytes_of_all_headers_have_one_bound() -> None:
    part = b"--b\r\nContent-Type: image/png; name=" + b"=?utf-8?q?=41?= " * 200 + b"\r\n\r\nx\r\n"
    parsed = parse(HEAD + part * 900 + b"--b--")
    assert sum(file.mime_type == "image/png" for file in parsed.attachments) < 400
    assert any("header block is too long" in defect for defect in parsed.defects)


def test_places_that_look_like_a_boundary_are_looked_at_up_to_the_bound() -> None:
    parsed = parse(HEAD + b"--b\r\n\r\nfirst\r\n" + b"--bx\r\n" * (MAX_MARKS + 10) + b"--b\r\n\r\nlast\r\n--b--")
    assert parsed.body.text.endswith("last\n--b--")  # nothing is lost, only not taken apart
    assert any("look like the boundary" in defect for defect in parsed.defects)


def test_multiparts_are_opened_until_so_much_was_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    nest = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(5))
    raw = nest + b"\r\n" + b"x" * 10_000
    assert "xxx" in parse(raw).body.text
    monkeypatch.setattr(structure, "_Budget", partial(structure._Budget, scanned=35_000))
    parsed = parse(raw)
    assert not parsed.body.text
    assert any("nested too deeply" in defect for defect in parsed.defects)


def test_the_subject_of_an_attached_mail_is_found_among_many_headers() -> None:
    attached = (
        b"Content-Type: message/rfc822\r\n\r\n" + b"Received: x\r\n y\r\n" * 3_000 + b"SUBJECT: =?utf-8?q?=41b?=\r\n"
    )
    parsed = parse(HEAD + b"--b\r\n" + attached + b"\r\nSubject: not this\r\n--b--")
    assert parsed.attachments[0].filename == "Ab.eml"


def test_a_uuencoded_file_is_measured_as_it_would_be_decoded() -> None:
    lines = b"begin 644 a\r\n" + b"#0V%T\r\n" * 1_000 + b"`\r\nend\r\n"
    parsed = parse(b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\n" + lines)
    assert parsed.attachments[0].size == 3_000
