from __future__ import annotations

import pytest

from postroom.mime.html.link_hosts import hosts


@pytest.mark.parametrize(
    ("html", "host"),
    [
        ('<a href="https://evil.example/x">https://bank.example</a>', "evil.example"),
        ("<a href='HTTPS://bank.example@evil.example/'>x</a>", "evil.example"),
        ('<a href="//evil.example/x">x</a>', "evil.example"),
        ('<a href="\\\\evil.example/x">x</a>', "evil.example"),
        ('<a href="&#104;ttps://evil.example">x</a>', "evil.example"),
        ('<a href="ht\ntps://evil.example">x</a>', "evil.example"),
        ('<img src="https://evil.example/p.gif" width=1>', "evil.example"),
        ('<form action="https://evil.example"><button formaction="x">', "evil.example"),
        ('<div style="background:url(https://evil.example/p.png)">', "evil.example"),
        ('<img srcset="https://evil.example/p.png 2x">', "evil.example"),
        ('<p style="display:none"><a href="https://evil.example">x</a></p>', "evil.example"),
        ("<!-- https://evil.example -->", "evil.example"),
        ('<a href="mailto:eve@evil.example?subject=x">x</a>', "mailto:eve@evil.example"),
        ('<a href="https:/evil.example/x">x</a>', "evil.example"),
        ('<a href="https:evil.example">x</a>', "evil.example"),
        ('<a href="https://%65vil.example">x</a>', "evil.example"),
        ('<a href="file://evil.example/share">x</a>', "evil.example"),
        ('<a href="smb:\\\\evil.example\\share">x</a>', "evil.example"),
        ('<meta http-equiv=refresh content="0;url=//evil.example/">', "evil.example"),
        ('<style>@import "//evil.example/x.css";</style>', "evil.example"),
        ('<!--[if mso]><a href="//evil.example">x</a><![endif]-->', "evil.example"),
        ('<source srcset="//evil.example/p.png 2x">', "evil.example"),
        ('<a href="mailto:sam@x.example?cc=eve@evil.example">x</a>', "mailto:sam@x.example,eve@evil.example"),
        ('<a href="mailto:?to=eve%40evil.example">x</a>', "mailto:eve@evil.example"),
        ('<a href="https://\u0430pple.example">x</a>', "xn--pple-43d.example (looks like apple.example)"),
    ],
)
def test_every_link_tells_the_host_it_really_leads_to(html: str, host: str) -> None:
    assert host in hosts("", html)


def test_hosts_of_a_text_come_once_and_in_order() -> None:
    text = "https://b.example/1 and http://a.example:8080/x, www.c.example, https://b.example/2"
    assert hosts(text, "") == ("b.example", "a.example", "www.c.example")


@pytest.mark.parametrize("sign", list(")]}'`(["))
def test_nothing_before_an_at_sign_hides_the_host_behind_it(sign: str) -> None:
    assert "evil.example" in hosts(f"https://bank.example{sign}@evil.example/login", "")


def test_a_mail_without_links_leads_nowhere() -> None:
    assert hosts("Hello. See you at 12:30.", '<p class="x">Hello</p>') == ()
