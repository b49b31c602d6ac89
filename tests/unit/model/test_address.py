"""The one strict reading of an address that is about to receive mail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.address import (
    Address,
    ascii_domain,
    check_email,
    domain_key,
    masked,
    parse_address,
    refuse_line_breaks,
)
from postroom.model.errors import InvalidRequest

LINE_BREAKS = ["\r", "\n", "\0", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice@example.com", Address("alice@example.com")),
        ("  alice@example.com\t", Address("alice@example.com")),
        ("<alice@example.com>", Address("alice@example.com")),
        ("Alice <alice@example.com>", Address("alice@example.com", "Alice")),
        ("Alice<alice@example.com>", Address("alice@example.com", "Alice")),
        ("Doe, Alice <alice@example.com>", Address("alice@example.com", "Doe, Alice")),
        ('"Doe, Alice" <alice@example.com>', Address("alice@example.com", "Doe, Alice")),
        (r'"A \"b\" \\ c" <alice@example.com>', Address("alice@example.com", r'A "b" \ c')),
        ("alice@example.com <ALICE@example.com>", Address("ALICE@example.com")),
        ("a+tag.x@sub.example.co.uk", Address("a+tag.x@sub.example.co.uk")),
        ("jürgen@bücher.example", Address("jürgen@bücher.example")),
        ("a@xn--bcher-kva.example", Address("a@xn--bcher-kva.example")),
        ("用户@例え.テスト", Address("用户@例え.テスト")),
        ("a@हिन्दी.example", Address("a@हिन्दी.example")),
        ("x" * 64 + "@example.com", Address("x" * 64 + "@example.com")),
    ],
)
def test_an_address_is_read(text: str, expected: Address) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "alice",
        "a@b",
        "@example.com",
        "alice@",
        "alice@example.org]<bob@example.com>",
        "alice@example.org <bob@example.com>",
        '"alice@example.org" <bob@example.com>',
        "alice@example.com, bob@example.com",
        "alice@example.com;bob@example.com",
        "<a@b.cc> <c@d.ee>",
        "<a@b.cc> x",
        "a@b@c.dd",
        "a..b@example.com",
        ".a@example.com",
        "a.@example.com",
        "a b@example.com",
        "a @example.com",
        "a@ example.com",
        "alice@example.com.",
        "alice@.example.com",
        "alice@example..com",
        "alice@-example.com",
        "alice@example-.com",
        "alice@exa_mple.com",
        "alice@127.0.0.1",
        "alice@[127.0.0.1]",
        '"a b"@example.com',
        "alice@example.com (Alice)",
        "Team: alice@example.com, bob@example.com;",
        "Team:;",
        '"Alice <alice@example.com>',
        'Ali"ce <alice@example.com>',
        "x" * 65 + "@example.com",
        "ü" * 33 + "@example.com",
        "a@" + "x" * 64 + ".com",
        "a@" + "ü" * 60 + ".com",
        "a@" + "x." * 130 + "com",
        "a@ｅxample.com",
        "a@example。com",
        "a\u200bb@example.com",
        "a\u202eb@example.com",
        "a\u3000b@example.com",
        "a@exa\u200dmple.com",
        "a@example.com\u00a0",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_address(text)


@pytest.mark.parametrize("char", LINE_BREAKS)
@pytest.mark.parametrize("place", ["{}a@example.com", "a{}@example.com", "a@example{}.com", "A{} <a@example.com>"])
def test_line_breaks_and_controls_are_refused_wherever_they_stand(place: str, char: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_address(place.format(char))


@pytest.mark.parametrize("char", LINE_BREAKS)
def test_no_header_value_holds_a_line_break(char: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        refuse_line_breaks(f"Hello{char}Bcc: evil@example.net", "subject")
    assert refused.value.details == {"field": "subject"}
    assert "evil" not in refused.value.message


def test_ordinary_text_is_let_through() -> None:
    refuse_line_breaks("Grüße\t👩‍👧 ok", "subject")


def test_spellings_of_one_mailbox_share_a_key() -> None:
    assert Address("Alice@Example.COM").key == Address("alice@example.com", "A").key
    assert Address("a@BÜCHER.example").key == Address("A@xn--bcher-kva.example").key
    assert Address("ju\u0308rgen@x.yy").key == Address("jürgen@x.yy").key


def test_different_mailboxes_have_different_keys() -> None:
    assert Address("straße@x.yy").key != Address("strasse@x.yy").key
    assert Address("a@faß.de").key != Address("a@fass.de").key


def test_a_domain_is_known_by_its_letters() -> None:
    assert Address("a@XN--Bcher-KVA.example").domain == "bücher.example"
    assert Address("no address").domain == "no address"
    assert ascii_domain("bücher.example") == "xn--bcher-kva.example"
    assert domain_key(ascii_domain("bücher.example")) == "bücher.example"


@pytest.mark.parametrize("domain", ["xn--", "xn--\ud800", "xn--" + "9" * 500, "xn--ü", "..", ""])
def test_a_broken_domain_still_has_a_key(domain: str) -> None:
    assert Address(f"a@{domain}").key.startswith("a@")


def test_masking_keeps_the_first_letter_and_the_domain() -> None:
    assert masked("john@example.com") == "j***@example.com"
    assert masked("not an address") == "***"


@pytest.mark.parametrize("email", ["*bob@example.com", "@example.com", "!x@example.com", "\u0301x@example.com"])
def test_masking_never_shows_what_is_no_letter(email: str) -> None:
    assert masked(email) == "***@example.com"


@pytest.mark.parametrize("email", ["bob@exa mple.com", "bob@", "bob@a,b.com", "bob@[127.0.0.1]", ""])
def test_masking_shows_no_domain_that_is_none(email: str) -> None:
    assert masked(email) == "***"


def test_a_refusal_says_what_to_write() -> None:
    with pytest.raises(InvalidRequest, match="Write one address like alice"):
        check_email("nobody")


@given(st.text(max_size=60))
def test_whatever_is_accepted_is_one_plain_address(text: str) -> None:
    try:
        address = parse_address(text)
    except InvalidRequest:
        return
    assert address.email.count("@") == 1
    assert not set(address.email) & set(' \t"(),:;<>[\\]')
    assert parse_address(address.email) == Address(address.email)
