"""Whatever the bytes, reading and rendering them never raises."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.mime.clean import clean_line, clean_text, cleaned
from postroom.mime.read.parse import extract_part, parse, parse_headers
from postroom.mime.render import render, search_text, snippet
from postroom.model.message import Body

SAMPLE = b"""From: =?utf-8?q?J=C3=B6rg?= <j@example.com>
To: a@example.com, "B" <b@example.com>
Subject: =?gb2312?b?xOO6ww==?=
Date: Mon, 01 Jan 2024 10:00:00 +0100
Content-Type: multipart/mixed; boundary="bb"

--bb
Content-Type: text/plain; charset=utf-8; format=flowed
Content-Transfer-Encoding: quoted-printable

Hi=20
> old
--bb
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: base64

PHAgc3R5bGU9ImNvbG9yOnJlZCI+aGk8L3A+
--bb
Content-Type: application/pdf; name*0*=utf-8''a%20; name*1=b.pdf
Content-Disposition: attachment

%PDF
--bb--
"""
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read_everything(raw: bytes) -> None:
    parsed = parse(raw)
    parse_headers(raw)
    for attachment in parsed.attachments:
        assert attachment.filename
        assert "/" not in attachment.filename
        extract_part(raw, attachment.part)
    for fmt in ("markdown", "text", "html"):
        for keep in (True, False):
            render(parsed.body, fmt=fmt, keep_quoted=keep)
    assert "\n" not in snippet(parsed.body)
    search_text(parsed.body)
    assert parsed.date is None or parsed.date.tzinfo is not None


@quick
@given(st.binary(max_size=2_000))
def test_arbitrary_bytes_are_read(raw: bytes) -> None:
    read_everything(raw)


@quick
@given(
    st.lists(st.tuples(st.integers(0, len(SAMPLE)), st.integers(0, 40), st.binary(max_size=12)), min_size=1, max_size=8)
)
def test_mutated_mails_are_read(cuts: list[tuple[int, int, bytes]]) -> None:
    raw = SAMPLE
    for position, removed, added in cuts:
        raw = raw[:position] + added + raw[position + removed :]
    read_everything(raw)


@quick
@given(
    st.text(max_size=500),
    st.sampled_from(["<p>{}</p>", '<p style="{}">x</p>', '<a href="{}">y</a>', "<style>{}</style>z", "{}"]),
)
def test_arbitrary_html_is_rendered(text: str, frame: str) -> None:
    body = Body(html=frame.format(text.replace("{", "").replace("}", "")))
    for fmt in ("markdown", "text", "html"):
        render(body, fmt=fmt, keep_quoted=False)
    snippet(body)


@quick
@given(st.text(st.characters(), max_size=300))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once, removed = cleaned(text)
    assert cleaned(once) == (once, 0)
    assert removed <= len(text)
    assert "\n" not in clean_line(text)
    assert clean_text(text) == once
