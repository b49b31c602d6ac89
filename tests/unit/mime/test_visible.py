"""What a person reads before deciding: no two addresses look alike, and nothing hides or moves."""

from __future__ import annotations

import unicodedata
from functools import cache

import pytest

from postroom.mime.visible import guarded, visible_email, visible_line, visible_name, visible_text
from postroom.model.address import Address, parse_address
from postroom.model.characters import is_hidden
from postroom.model.errors import InvalidRequest
from postroom.service.presenting import shown_address

UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@cache
def every_sign() -> list[str]:
    """All code points, but of those that one rule covers (ideographs, syllables, private and unassigned) a sample."""
    return [chr(code) for code in range(0x110000) if not _is_one_of_many(chr(code)) or code % 199 == 0]


def _is_one_of_many(sign: str) -> bool:
    category = unicodedata.category(sign)
    return category in ("Cn", "Co", "Cs") or (
        category == "Lo"
        and unicodedata.name(sign, "").startswith(("CJK UNI", "HANGUL SYL", "TANGUT", "EGYPT", "CUNEI"))
    )


def test_no_two_addresses_are_shown_alike_whatever_sign_they_differ_by() -> None:
    seen: dict[str, str] = {visible_email(plain): plain for plain in ("sam@demo.example", "@sam@demo.example")}
    for sign in every_sign():
        for address in (f"sam{sign}@demo.example", f"sam@demo{sign}.example"):
            shown = visible_email(address)
            known = seen.setdefault(shown, address)
            assert Address(known).key == Address(address).key, ascii(sign)
            # Whoever sees only plain letters right can still tell them apart.
            assert not any(map(is_hidden, shown)), ascii(sign)
            assert address.isascii() or "[" in shown or "⟨U+" in shown, ascii(sign)


def test_no_sign_reaches_a_terminal_or_a_preview_that_is_unseen_there() -> None:
    for sign in every_sign():
        for show in (visible_line, visible_name, guarded):
            assert not any(map(is_hidden, show(f"a{sign}b"))), ascii(sign)
        text = visible_text(f"a{sign}b").replace("\n", "").replace("\t", "")
        assert not [char for char in text if unicodedata.category(char) in UNSEEN], ascii(sign)


def test_no_hidden_sign_is_dropped_from_an_address_that_came_by_mail() -> None:
    plain = shown_address(Address("sam@demo.example"))
    for sign in filter(is_hidden, every_sign()):
        assert shown_address(Address(f"sam@de{sign}mo.example")) != plain, ascii(sign)


@pytest.mark.parametrize(
    ("email", "shown"),
    [
        ("sam@bücher.example", "sam@bücher.example [xn--bcher-kva.example]"),
        ("jürgen@demo.example", "jürgen@demo.example [j⟨U+00FC⟩rgen@demo.example]"),
        ("sam@\u0430pple.example", "sam@\u0430pple.example [xn--pple-43d.example, looks like sam@apple.example]"),
        ("sam@xn--pple-43d.example", "sam@xn--pple-43d.example [looks like sam@apple.example]"),
        ("sam@p\u0430yb\u0434l.example", "sam@p\u0430yb\u0434l.example [xn--pybl-53d0a.example, mixes alphabets]"),
        ("\u0455\u0430m@demo.example", "looks like sam@demo.example"),
        ("sam@\u0561\u0578\u057d.example", "looks like sam@wnu.example"),
        ("sam@\u13aa\u13a2.example", "looks like sam@at.example"),
        ("\U0001d42c\U0001d41a\U0001d426@demo.example", "looks like sam@demo.example"),
        ("sam@PAYPAI.com", "sam@paypai.com"),
        ("sam@demo.example", "sam@demo.example"),
    ],
)
def test_letters_beyond_ascii_are_also_told_in_plain_ones(email: str, shown: str) -> None:
    assert visible_email(email).endswith(shown) or shown in visible_email(email)


NAMES = [
    "Sam ‹sam＠demo.example>",
    "sam﹫demo.example",
    "sam\uff20demo.example",
    "Sam \uff1csam",
    "Sam \u2329sam",
    "Sam 〈sam〉",
    "Sam \u27e8sam\u27e9",
    "Sam ᐸsamᐳ",
    "sam ⓐ demo.example",
]


@pytest.mark.parametrize("name", [*NAMES, "sam@demo.example", "a<b", "a>b"])
def test_a_name_that_could_pass_for_an_address_is_refused_and_shown_for_what_it_is(name: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_address(f'"{name}" <eve@evil.example>')
    for shown in (visible_name(name), shown_address(Address("eve@evil.example", name)).rpartition(" <")[0]):
        assert not set("@＠﹫<>‹›＜〈〈〉〉ᐸᐳⓐ") & set(shown)
        assert "⟨U+" in shown


def test_no_sign_that_unicode_takes_for_at_or_an_angle_gets_into_a_name() -> None:
    for sign in every_sign():
        if not set("@<>").isdisjoint(unicodedata.normalize("NFKC", sign)):
            with pytest.raises(InvalidRequest):
                parse_address(f'"Sam {sign}" <eve@evil.example>')


@pytest.mark.parametrize(
    "name", ["Jürgen Müller", "Сергей", "Nº 5", "Çalıştır", "山田 太郎", "می‌خواهم", "O'Brien, Ann"]
)
def test_names_of_people_stay_as_they_are(name: str) -> None:
    assert visible_name(name) == visible_line(name) == name
    if "," not in name:
        assert parse_address(f"{name} <sam@demo.example>").name == name


@pytest.mark.parametrize("sign", ["\u3164", "\u115f", "\u034f", "\ufe0f", "\ufe00", "\U000e0100", "\u17b4", "\u200d"])
def test_no_mail_is_sent_to_an_address_with_a_letter_that_cannot_be_seen(sign: str) -> None:
    for address in (f"sam{sign}@demo.example", f"sam@de{sign}mo.example"):
        with pytest.raises(InvalidRequest):
            parse_address(address)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u202efdp.exe", "pay⟨U+202E⟩fdp.exe"),
        ("a\x1b[2Kb\rc\nd", "a⟨U+001B⟩[2Kb⟨U+000D⟩c⟨U+000A⟩d"),
        ("a\u200b\u200b\u200bb", "a⟨U+200B ×3⟩b"),
        ("invoice.pdf          .exe", "invoice.pdf⟨10 spaces⟩.exe"),
        ("inv\u043eice", "inv⟨U+043E⟩ice"),
        ("\u0456nvoice.p\uff44f", "⟨U+0456⟩nvoice.p⟨U+FF44⟩f"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟨U+27E9⟩"),
        ("1\ufe0f", "1⟨U+FE0F⟩"),
        ("Lunch 👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3", "Lunch 👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3"),
        ("Привет, мир", "Привет, мир"),
        ("שלום", "שלום"),
    ],
)
def test_one_line_is_shown_with_everything_in_it(text: str, shown: str) -> None:
    assert visible_line(text) == shown


def test_a_body_keeps_its_lines_and_loses_its_tricks() -> None:
    assert visible_text("a\r\nb\tc\u00a0d\u3000e") == "a\nb\tc\u00a0d\u3000e"
    assert visible_text("a\rb\u2028c\u2066d\x1b]0;x\x07") == "a⟨U+000D⟩b⟨U+2028⟩c⟨U+2066⟩d⟨U+001B⟩]0;x⟨U+0007⟩"
    assert visible_text("a" + " " * 500 + "b") == "a⟨500 spaces⟩b"
    assert visible_text("a" + "\n" * 300 + "b") == "a\n⟨299 empty lines⟩\nb"
    assert visible_text("مرحبا 👨\u200d👩") == "مرحبا 👨\u200d👩"


def test_an_address_that_is_refused_is_told_without_what_it_hides() -> None:
    with pytest.raises(InvalidRequest, match="⟨U\\+202E⟩"):
        parse_address("sam\u202e@demo.example")


def test_what_is_marked_already_is_not_marked_twice_at_the_terminal() -> None:
    assert guarded(visible_line("a\u202eb")) == visible_line("a\u202eb")
