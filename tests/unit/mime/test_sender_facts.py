"""Who really wrote it, as far as the headers tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.mime.lookalike import imitated, mixes_scripts, organisation
from postroom.mime.read.parse import parse
from postroom.mime.sender_facts import Facts, judge
from postroom.model.address import Address, ascii_domain

ANNA = Address("anna@example.org", "Anna")
OWN = ["mycompany.com"]


def facts(*results: str, sender: Address = ANNA, reply_to: tuple[Address, ...] = (), trusted: str = "") -> Facts:
    return judge({"authentication-results": results}, sender, reply_to, OWN, trusted=trusted)


def test_results_are_read_from_the_header() -> None:
    found = facts(
        "mx.example.com; dkim=pass (2048-bit key; unprotected) header.d=example.org header.i=@example.org;\r\n"
        ' spf=pass reason="good; dmarc=fail" smtp.mailfrom=anna@example.org;'
        " dmarc=pass (p=REJECT) header.from=example.org",
        trusted="mx.example.com",
    )
    assert found == Facts("pass", "pass", "pass", ())


def test_a_good_result_of_whom_nobody_trusts_is_called_a_claim() -> None:
    found = facts("anybody.example; spf=pass; dkim=fail; dmarc=pass")
    assert (found.spf, found.dkim, found.dmarc) == ("pass (claimed)", "fail", "pass (claimed)")


def test_only_the_topmost_header_counts() -> None:
    found = facts("mx.example.com; spf=fail", "mx.example.com; spf=pass; dkim=pass; dmarc=pass")
    assert (found.spf, found.dkim, found.dmarc) == ("fail", "", "")


def test_with_a_trusted_server_only_its_word_counts() -> None:
    headers = ("evil.example.net; dmarc=pass", "MX.example.com 1; dmarc=fail")
    assert facts(*headers, trusted="mx.example.com").dmarc == "fail"
    assert facts(*headers, trusted="other.example.com").dmarc == ""


def test_one_signature_that_holds_is_enough() -> None:
    assert facts("mx; dkim=fail header.d=list.example; dkim=pass header.d=example.org", trusted="mx").dkim == "pass"


@pytest.mark.parametrize(
    "header",
    [
        "",
        ";",
        "mx; none",
        "mx; spf=ignore previous instructions",
        "mx; spf",
        "mx (dmarc=pass",
        "mx; x-spf=pass",
        "(" * 9000,
    ],
)
def test_anything_else_in_the_header_says_nothing(header: str) -> None:
    assert facts(header) == Facts()


def test_versions_spaces_and_nested_comments_are_understood() -> None:
    found = facts("mx 1 (a (b) c); SPF / 1 = Pass (x; dkim=fail); dmarc=none", trusted="mx")
    assert (found.spf, found.dkim, found.dmarc) == ("pass", "", "none")


def test_a_failed_check_is_said_in_a_sentence() -> None:
    assert facts("mx; dmarc=fail").warnings == ("DMARC failed: this message may not come from example.org.",)
    assert len(facts("mx; spf=softfail; dkim=none").warnings) == 1
    assert facts("mx; spf=fail; dkim=fail; dmarc=pass").warnings == ()
    assert facts("mx; spf=fail; dkim=pass").warnings == ()
    assert "changed" in facts("mx; spf=pass; dkim=fail").warnings[0]


@pytest.mark.parametrize(
    ("domain", "original"),
    [
        ("mycornpany.com", "mycompany.com"),
        ("myc0mpany.com", "mycompany.com"),
        ("mycompаny.com", "mycompany.com"),  # Cyrillic а
        (ascii_domain("mycompаny.com"), "mycompany.com"),
        ("mail.mycornpany.com", "mycompany.com"),
        ("mycompany.com.evil.example", "mycompany.com"),
        ("login.mycompany.com.evil.example", "mycompany.com"),
        ("paypa1.com", "paypal.com"),
        ("paypa1.de", "paypal.com"),
        ("rnicrosoft.com", "microsoft.com"),
        ("mail.micr0soft.co.uk", "microsoft.com"),
        ("аррӏе.com", "apple.com"),  # Cyrillic throughout
        ("g00gle.com", "google.com"),
        ("paypal.com.evil.example", "paypal.com"),
        ("PAYPAI.com", "paypal.com"),
    ],
)
def test_a_look_alike_domain_is_recognised(domain: str, original: str) -> None:
    assert imitated(domain, OWN) == original


@pytest.mark.parametrize(
    "domain",
    [
        "mycompany.com",
        "mail.mycompany.com",
        "paypal.com",
        "paypal.de",
        "amazon.co.uk",
        "amazon.com.br",
        "mail.google.com",
        "example.org",
        "münchen.example",
        "xn--mnchen-3ya.example",
        "пример.example",
        "日本語カナ.example",
        "",
    ],
)
def test_an_honest_domain_is_let_be(domain: str) -> None:
    assert imitated(domain, OWN) == ""
    assert not mixes_scripts(domain)


def test_mixed_scripts_are_pointed_out_and_shown_in_plain_letters() -> None:
    (warning,) = facts(sender=Address("a@exаmple.org")).warnings
    assert "mixes letters" in warning
    assert warning.isascii()
    assert "xn--" in warning


def test_a_look_alike_is_pointed_out() -> None:
    (warning,) = facts(sender=Address("a@mycornpany.com")).warnings
    assert warning == "The sender's domain mycornpany.com looks like mycompany.com but is a different domain."


def test_an_address_in_the_name_that_is_not_the_senders_is_pointed_out() -> None:
    (warning,) = facts(sender=Address("x@example.net", "Boss <boss@mycompany.com>")).warnings
    assert "boss@mycompany.com" in warning
    assert "x@example.net" in warning
    assert facts(sender=Address("anna@example.org", "Anna@Example.org")).warnings == ()


@pytest.mark.parametrize(
    "fields",
    [
        "From: Anna <anna@example.org>\nFrom: Mallory <mallory@evil.example>",
        "From: Anna <anna@example.org>, mallory@evil.example",
    ],
)
def test_a_second_sender_is_pointed_out(fields: str) -> None:
    mail = parse(f"{fields}\nAuthentication-Results: mx.example.com; dmarc=pass\n\nhello".encode())
    (warning,) = judge(mail.headers, mail.sender, (), OWN, trusted="mx.example.com").warnings
    assert "another sender, too: mallory@evil.example" in warning


@pytest.mark.parametrize(
    "header",
    [
        "Anna <anna@example.org>",
        "=?utf-8?q?M=C3=BCller=2C_Anna?= <anna@example.org>",
        "anna@example.org (Anna, at home)",
    ],
)
def test_one_sender_is_no_reason_to_warn(header: str) -> None:
    mail = parse(f"From: {header}\n\nhello".encode())
    assert judge(mail.headers, mail.sender, (), OWN).warnings == ()


def test_a_reply_that_would_go_elsewhere_is_pointed_out() -> None:
    (warning,) = facts(reply_to=(Address("anna@example.net"),)).warnings
    assert "anna@example.net" in warning
    assert facts(reply_to=(Address("desk@help.example.org"), Address("anna@EXAMPLE.org"))).warnings == ()
    assert facts(sender=Address("a@mail.example.co.uk"), reply_to=(Address("b@example.co.uk"),)).warnings == ()
    assert facts(sender=Address("a@one.co.uk"), reply_to=(Address("b@two.co.uk"),)).warnings != ()


def test_the_registered_part_of_a_domain() -> None:
    assert organisation("mail.example.co.uk") == "example.co.uk"
    assert organisation("a.b.example.com") == "example.com"
    assert organisation("localhost") == "localhost"


@given(st.text(max_size=200), st.text(max_size=80), st.text(max_size=80))
def test_no_header_however_odd_breaks_the_judgement(header: str, name: str, email: str) -> None:
    found = judge({"authentication-results": (header,)}, Address(email, name), (Address(name), Address(email)), [name])
    assert all(warning.endswith(".") for warning in found.warnings)
    assert all(len(warning) < 1000 for warning in found.warnings)
