"""Transfer encodings and charsets, as labelled and as mislabelled."""

from __future__ import annotations

import base64
import binascii
import os

import pytest

from postroom.mime.read.decode import decode_text, decode_transfer, decoded_size


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("utf-8", "naïve".encode(), "naïve"),
        ("UTF8", "\ufeffnaïve".encode(), "naïve"),
        ("iso-8859-1", "naïve".encode(), "naïve"),
        ("iso-8859-1", b"\x93quoted\x94 na\xefve", "“quoted” naïve"),
        ("us-ascii", "naïve".encode(), "naïve"),
        ("us-ascii", b"na\xefve", "naïve"),
        ("utf-8", b"na\xefve", "naïve"),
        ("gb2312", "镕".encode("gb18030"), "镕"),
        ("GB2312", "你好，世界！".encode(), "你好，世界！"),
        ("ks_c_5601-1987", "똠방".encode("cp949"), "똠방"),
        ("shift_jis", "①".encode("cp932"), "①"),
        ("iso-2022-jp", "日本".encode("iso2022_jp"), "日本"),
        ("iso-2022-jp", b"\x1b$B-!\x1b(B \x1b$B-jF|K\\\x1b(B", "① ㈱日本"),
        ("iso-2022-jp", b"\x1b$B|b66$5$s\x1b(B, \x1b(IC=D\x1b(B", "髙橋さん, ﾃｽﾄ"),  # a name as Outlook writes it
        ("iso-2022-jp", "日本㈱①".encode("iso2022_jp_2004"), "日本㈱①"),  # signs that a later standard has
        ("iso-2022-jp-2", "日本㈱①".encode("iso2022_jp_3"), "日本㈱①"),
        ("iso-2022-jp", b"\x1b$B|b\x1b$(C0!\x1b$ACG\x1b$BF|\x1b(B", "髙가们日"),
        ("iso-2022-jp", b"\x1b$B|b\x1b$(D0!\x1b(B \x1b$B)!66\x1b(B", "髙丂 \ufffd橋"),
        ("koi8-r", "привет".encode("koi8_r"), "привет"),
        ("windows-1251", "привет".encode("cp1251"), "привет"),
        ("iso-8859-15", b"\xa4", "€"),
        ("utf-7", b"Hi Mom +Jjo-!", "Hi Mom ☺!"),
        ("utf-16", "hi ☺".encode("utf-16"), "hi ☺"),
        ("utf-16le", "hi".encode("utf-16-le"), "hi"),
        ("", "naïve".encode(), "naïve"),
        ("", "hi".encode("utf-16"), "hi"),
        ("x-unknown", b"na\xefve", "naïve"),
        ("no such charset \x00 ☺", "naïve".encode(), "naïve"),
    ],
)
def test_text_is_read_whatever_its_label_says(label: str, data: bytes, text: str) -> None:
    assert decode_text(data, label) == text


@pytest.mark.parametrize(
    "label", ["punycode", "unicode_escape", "raw_unicode_escape", "idna", "rot13", "zlib", "undefined"]
)
def test_codecs_that_are_no_charsets_are_not_asked(label: str) -> None:
    assert decode_text(b"a\\u0041-b", label) == "a\\u0041-b"


@pytest.mark.parametrize(
    "label", ["utf-8", "utf-7", "utf-16", "utf-32", "gb2312", "big5", "shift_jis", "iso-2022-kr", "hz", ""]
)
def test_broken_bytes_never_raise(label: str) -> None:
    assert isinstance(decode_text(bytes(range(256)) * 3 + b"\x1b$(", label), str)


def test_one_broken_byte_does_not_turn_utf8_into_another_charset() -> None:
    assert decode_text("Grüße, größere Grüße — ✓ ✓ ✓".encode() + b"\xc3", "utf-8").startswith(
        "Grüße, größere Grüße — ✓"
    )


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"aGVsbG8=", b"hello"),
        (b"aGVs\r\nbG8=\r\n", b"hello"),
        (b"aGVsbG8", b"hello"),
        (b"aGVs*bG8=", b"hello"),
        (b"aGVsbG8=\r\n-- \r\nAn unsubscribe footer, in the clear.", b"hello"),
        (b"aGk=\r\naGk=", b"hi"),
        (b"_-8=", b"\xff\xef"),
        (b"a", b""),
        (b"", b""),
    ],
)
def test_base64_is_decoded_as_far_as_it_goes(data: bytes, content: bytes) -> None:
    assert decode_transfer(data, "base64") == content


@pytest.mark.parametrize("line", [57, 60, 21])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 56, 57, 58, 5_000])
def test_the_size_of_base64_is_known_without_decoding_it(size: int, line: int) -> None:
    content = os.urandom(size)
    lines = [binascii.b2a_base64(content[start : start + line], newline=False) for start in range(0, size, line)]
    for end in (b"\n", b"\r\n"):
        data = end.join(lines) + end
        assert decoded_size(data, "base64") == size == len(decode_transfer(data, "base64"))


def test_the_size_of_base64_in_uneven_lines_is_known_too() -> None:
    data = base64.b64encode(b"x" * 300)
    assert decoded_size(base64.encodebytes(b"x" * 301) + b" \r\n\r\n", "base64") == 301
    assert decoded_size(data[:11] + b"\r\n" + data[11:50] + b"\n \n" + data[50:], "base64") == 300


def test_quoted_printable_and_uuencode_are_decoded() -> None:
    assert decode_transfer(b"caf=C3=A9 =\r\nau lait =ZZ", "quoted-printable") == "café au lait =ZZ".encode()
    encoded = b"begin 644 a.txt\r\n" + binascii.b2a_uu(b"hello") + b"`\r\nend\r\n"
    assert decode_transfer(encoded, "x-uuencode") == b"hello"


def test_blanks_after_a_soft_line_break_do_not_end_the_line() -> None:
    assert decode_transfer(b"one = \r\nline=\t\nonly, 1 = 1", "quoted-printable") == b"one lineonly, 1 = 1"


def test_an_unknown_encoding_leaves_the_bytes_alone() -> None:
    assert decode_transfer(b"=41", "7bit") == decode_transfer(b"=41", "x-strange") == b"=41"
