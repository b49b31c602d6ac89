"""Links: short, without trackers, with the host they really lead to."""

from __future__ import annotations

import pytest

from postroom.mime.html import links
from postroom.mime.html.links import disguised_host, numbered_link, short_link, shorten_in_text, whole_link
from postroom.mime.render import render
from postroom.model.message import Body

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
        ("mailto:joe@example.com?subject=hi", "mailto:joe@example.com?subject=hi"),
        (f"mailto:joe@example.com?subject={TOKEN}", "mailto:joe@example.com?…"),
        (f"tel:{TOKEN}", f"tel:{TOKEN[:55]}…"),
        ("https://app.example/#/reset?token=77", "https://app.example#/reset?token=77"),
        (f"https://app.example/#/reset?token={TOKEN}", "https://app.example#…"),
        (f"https://files.example/d/7#{TOKEN[:43]}", "https://files.example/d/7#…"),
        (f"https://files.example/d/7?as=zip#{TOKEN}", "https://files.example/d/7?…"),
        ("https://parcels.example/t?trknbr=7777&trk=mail&trkEmail=x", "https://parcels.example/t?trknbr=7777"),
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


NEEDED = [
    "https://us02web.zoom.example/j/81234567890?pwd=QmFzZTY0RW5jb2RlZFBhc3N3b3JkMTIzNDU2",
    "https://meet.example/room-with-a-view#config.startWithAudioMuted=true&userInfo.displayName=Alex",
    f"https://app.example/#/reset-password?token={TOKEN}",
    f"https://app.example/password/reset/{TOKEN}?email=a%40b.example",
    "https://docs.example/document/d/1AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefghij/edit?usp=sharing",
    f"https://files.example/file/AbCdEfGh#{TOKEN[:43]}",
    "https://www.parcels.example/track/?trknbr=777712345678&locale=en",
    f"https://long.example/?{'&'.join(f'part{number}={TOKEN}' for number in range(60))}",
    f"mailto:leave@list.example?subject={TOKEN}",
]


@pytest.mark.parametrize("href", NEEDED)
def test_a_link_that_is_not_shown_whole_says_so_and_can_be_read_whole(href: str) -> None:
    mail = Body(html=f'<p>Please <a href="{href.replace("&", "&amp;")}">go on</a> today.</p>')
    shown = render(mail, fmt="markdown", keep_quoted=True).text
    assert f"]({href})" in shown or "…#1)" in shown
    assert render(mail, fmt="links", keep_quoted=True).text == f"1. {href}"


@pytest.mark.parametrize("href", [href for href in NEEDED if href.startswith("http")])
def test_a_link_in_plain_text_that_is_not_shown_whole_says_so_and_can_be_read_whole(href: str) -> None:
    mail = Body(text=f"Please go to {href} today.")
    shown = render(mail, fmt="markdown", keep_quoted=True).text
    assert href in shown or "… today." in shown
    assert render(mail, fmt="links", keep_quoted=True).text == f"1. {href}"
    assert href in render(mail, fmt="text", keep_quoted=True).text


@pytest.mark.parametrize("href", NEEDED)
def test_html_that_is_read_as_text_keeps_where_its_links_lead(href: str) -> None:
    mail = Body(html=f'<p>Please <a href="{href.replace("&", "&amp;")}">go on</a> today.</p>')
    assert render(mail, fmt="text", keep_quoted=True).text == f"Please go on <{href}> today."
    assert render(mail, fmt="text", keep_quoted=False).text == f"Please go on <{href}> today."


@pytest.mark.parametrize(
    ("link", "read"),
    [
        ('<a href="https://shop.example/a">https://shop.example/a</a>', "https://shop.example/a"),
        ('<a href="https://shop.example/">shop.example</a>', "shop.example"),
        ('<a href="mailto:joe@shop.example">joe@shop.example</a>', "joe@shop.example"),
        ('<a href="https://evil.example/a">https://bank.example</a>', "https://bank.example <https://evil.example/a>"),
        ('<a href="https://shop.example/a"><img src="x.png" alt="Sale"></a>', "<https://shop.example/a>"),
        ('<a href="javascript:alert(1)">press</a>', "press"),
        ('<a href="#top">top</a>', "top"),
        ('<a href="https://shop.example/a"></a>', ""),
    ],
)
def test_in_text_an_address_stands_beside_its_words_unless_they_say_it(link: str, read: str) -> None:
    shown = render(Body(html=f"<p>One</p><p>{link}</p><p>two</p>"), fmt="text", keep_quoted=True).text
    assert shown == "\n\n".join(part for part in ("One", read, "two") if part)


def test_a_quote_and_the_text_version_of_html_are_its_words_alone() -> None:
    mail = Body(html='<p>Please <a href="https://shop.example/a">go on</a> today.</p>')
    assert render(mail, fmt="words", keep_quoted=True).text == "Please go on today."


def test_a_cut_address_of_mail_keeps_its_number() -> None:
    assert numbered_link(f"mailto:leave@list.example?subject={TOKEN}", 3, 4) == "mailto:leave@list.example?…#3"


def test_a_link_beyond_every_bound_is_marked_as_cut() -> None:
    assert whole_link(f"https://long.example/{'x' * 20_000}").endswith("x…")


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "/",
        "?",
        "#",
        "?a=1",
        "#b",
        "/a?b#c",
        "/a#b?c",
        "/?#",
        "//a",
        "/a;b?c=d&e=%20#f",
        "/a[b]?c[]=1",
        ":80/a",
        "@b",
    ],
)
def test_usual_links_are_taken_apart_as_all_are(rest: str) -> None:
    usual, any_other = links._split(f"https://a-1.example{rest}"), links._split(f"HTTPS://a-1.example{rest}")
    assert usual == any_other is not None


@pytest.mark.parametrize(
    "link", ["https://a.example\\@b.example/", "https://a.example/\n", "https://[::1]/", "https://é.x/"]
)
def test_odd_links_are_left_to_the_standard_library(link: str) -> None:
    assert links._USUAL.fullmatch(link) is None
