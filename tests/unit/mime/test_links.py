"""Links: short, without trackers, with the host they really lead to."""

from __future__ import annotations

import pytest

from postroom.mime.html.links import disguised_host, short_link, shorten_in_text

TOKEN = "a1B2c3D4e5F6g7H8" * 8


@pytest.mark.parametrize(
    ("href", "shown"),
    [
        ("https://example.com/", "https://example.com"),
        ("https://example.com/a?b=1#c", "https://example.com/a?b=1#c"),
        ("https://shop.example/x?utm_source=mail&id=7&mc_eid=abc&fbclid=z", "https://shop.example/x?id=7"),
        ("https://shop.example/x?utm_campaign=y", "https://shop.example/x"),
        (f"https://click.example/ls/click?upn={TOKEN}", "https://click.example/ls/click?…"),
        (f"https://click.example/track/{TOKEN}/open", "https://click.example/track/…"),
        (
            "https://news.example/2024/01/how-we-built-a-house-with-our-own-hands-in-a-year",
            "https://news.example/2024/01/how-we-built-a-house-with-our-own-hands-in-a-year",
        ),
        ("https://user:pass@evil.example/", "https://evil.example"),
        ("https://bank.example@evil.example/login", "https://evil.example/login"),
        ("HTTPS://Example.COM:8443/A", "https://example.com:8443/A"),
        ("https://ex\u200bample.com/\n a", "https://example.com/a"),
        ("https://аpple.com/", "https://xn--pple-43d.com"),
        ("mailto:joe@example.com?subject=hi", "mailto:joe@example.com"),
        ("tel:+49123", "tel:+49123"),
    ],
)
def test_a_link_is_shown_short_and_honest(href: str, shown: str) -> None:
    assert short_link(href) == shown


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        " data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "cid:logo",
        "#top",
        "/relative",
        "",
        "https://",
        "https://[broken",
    ],
)
def test_what_is_no_link_for_a_reader_is_not_shown(href: str) -> None:
    assert short_link(href) == ""


@pytest.mark.parametrize(
    "href",
    [
        "https://www.google.com/url?q=https%3A%2F%2Ftarget.example%2Fpage&sa=D",
        "https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Ftarget.example%2Fpage&data=05",
        "https://l.facebook.com/l.php?u=https%3A%2F%2Ftarget.example%2Fpage",
        "https://urldefense.proofpoint.com/v2/url?u=https-3A__target.example_page&d=x",
        "https://urldefense.com/v3/__https://target.example/page__;!!abc",
        "https://urldefense.com/v3/__https:/target.example/page__;!!abc",
    ],
)
def test_a_known_redirector_is_unwrapped(href: str) -> None:
    assert short_link(href) == "https://target.example/page"


def test_an_unknown_redirector_is_never_believed() -> None:
    assert short_link("https://evil.example/?url=https://bank.example/").startswith("https://evil.example")
    assert short_link("https://notgoogle.com/url?q=https://bank.example/").startswith("https://notgoogle.com")


@pytest.mark.parametrize(
    ("text", "href", "real"),
    [
        ("www.bank.example", "https://evil.example/x", "evil.example"),
        ("https://bank.example/login", "https://bank.example.evil.org/", "bank.example.evil.org"),
        ("bank.example", "https://www.bank.example/login", ""),
        ("www.bank.example", "https://bank.example", ""),
        ("login.bank.example", "https://bank.example", ""),
        ("Click here", "https://evil.example", ""),
        ("Our report.", "https://evil.example", ""),
        ("see this.now or", "https://evil.example", ""),
        ("www.bank\u200b.example", "https://evil.example", "evil.example"),
        ("bank.example", "mailto:x@evil.example", ""),
        ("bank.example", "https://bаnk.example", "xn--bnk-6cd.example"),
    ],
)
def test_a_link_that_names_another_host_is_found_out(text: str, href: str, real: str) -> None:
    assert disguised_host(text, href) == real


def test_long_links_in_plain_text_are_shortened() -> None:
    text = f"See (https://click.example/c?t={TOKEN}) and https://short.example/a."
    assert shorten_in_text(text) == "See (https://click.example/c?…) and https://short.example/a."
