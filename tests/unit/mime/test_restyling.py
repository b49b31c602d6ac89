from __future__ import annotations

import pytest

from postroom.mime.html.restyling import may_show_other_words


@pytest.mark.parametrize(
    "html",
    [
        "<style>p:after{content:' and pay'}</style><p>Hello</p>",
        "<style>p:after{c\\6fntent:' and pay'}</style><p>Hello</p>",
        "<style>p:after{content/**/:' and pay'}</style><p>Hello</p>",
        "<style>:root{--d:none}b{display:var(--d)}</style>Do <b>not</b> pay",
        "<style>p{& b{display:none}}</style><p>Do <b>not</b> pay</p>",
        "<style>@import 'data:text/css,b{display:none}';</style>Do <b>not</b> pay",
        "<style>@font-face{font-family:x;src:url(data:,)}</style>",
        "<link rel=stylesheet href='data:text/css,b{display:none}'>Do <b>not</b> pay",
        "Do <b style='display:inline-block;scale:0'>not</b> pay",
        "Do <b style='display:inline-block;tr&#97;nslate:-9999px'>not</b> pay",
        "<p style='unicode-bidi:bidi-override;direction:rtl'>yap</p>",
        "<bdo dir=rtl>yap</bdo>",
        "<div style='display:flex;flex-direction:row-reverse'><i>you</i><i>I owe</i></div>",
        "<p>Hello <input value='and pay'></p>",
    ],
)
def test_what_can_show_other_words_is_noticed(html: str) -> None:
    assert may_show_other_words(html)


@pytest.mark.parametrize(
    "html",
    [
        "<p>The content: order: 5, position: absolute; see @import &amp; var(x) {}</p>",
        "<style>p{color:red;margin:0 0 1em}.x:after{content:'';clear:both}</style><p class=x>Hello</p>",
        "<p dir=rtl style='direction:rtl;text-align:right'>Hello</p>",
        "<table style='border-collapse:collapse'><tr><td style='padding:2px'>1</td></tr></table>",
        "<a href='https://x.example/?a=1&b={2}' style='color:blue'>x</a>",
    ],
)
def test_ordinary_html_gives_no_alarm(html: str) -> None:
    assert not may_show_other_words(html)
