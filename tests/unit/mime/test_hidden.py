"""The ways to hide text from a reader, each with its spellings; and what only looks like hiding."""

from __future__ import annotations

import pytest

from postroom.mime.html_document import open_html
from postroom.mime.html_to_markdown import to_markdown
from postroom.mime.limits import MAX_ELEMENTS

WAYS = {
    "display": [
        '<div style="display:none">SECRET</div>',
        '<div style="DISPLAY : None !important ; color:red">SECRET</div>',
        '<div style="color:red;display:/* x */none">SECRET</div>',
        '<div style="d\\69splay:none">SECRET</div>',
        '<p style=display:none>SECRET<b style="display:block">SECRET</b></p>',
    ],
    "visibility": [
        '<p style="visibility:hidden">SECRET</p>',
        '<p style="Visibility: Collapse"><b>SECRET</b></p>',
    ],
    "opacity": [
        '<p style="opacity:0">SECRET</p>',
        '<p style="opacity: 0.0 !important">SECRET</p>',
        '<p style="opacity:.01">SECRET</p>',
        '<p style="opacity:0%">SECRET</p>',
        '<p style="filter:alpha(opacity=0)">SECRET</p>',
    ],
    "font size": [
        '<span style="font-size:0">SECRET</span>',
        '<span style="font-size: 0px">SECRET</span>',
        '<span style="FONT-SIZE:0.01EM">SECRET</span>',
        '<span style="font-size:1px"><i>SECRET</i></span>',
        '<span style="font-size:1%">SECRET</span>',
        '<span style="font:0/0 a">SECRET</span>',
    ],
    "max height": [
        '<div style="max-height:0;overflow:hidden">SECRET</div>',
        '<div style="overflow-y : hidden ; max-height : 0px">SECRET</div>',
        '<div style="height:1px;width:1px;overflow:hidden">SECRET</div>',
    ],
    "background colour": [
        '<p style="color:#fff">SECRET</p>',
        '<p style="color:white;background:white">SECRET</p>',
        '<p style="color:#FEFEFE">SECRET</p>',
        '<p style="color:rgb(255, 255, 255)">SECRET</p>',
        '<p style="color:rgba(0,0,0,0)">SECRET</p>',
        '<p style="color:hsl(0 0% 100%)">SECRET</p>',
        '<p style="color:transparent">SECRET</p>',
        '<font color="#ffffff">SECRET</font>',
        '<table bgcolor="#000000"><tr><td style="color:#010101">SECRET</td></tr></table>',
        '<div style="background-color:#336699"><span style="color:#336699">SECRET</span></div>',
        '<div style="color:#fff;background:#000"><p style="background:#fff">SECRET</p></div>',
    ],
    "hidden attribute": ["<p hidden>SECRET</p>", '<div HIDDEN="hidden"><b>SECRET</b></div>'],
    "style element": [
        "<style>.x{display:none}</style><p class=x>SECRET</p>",
        "<style>#x { font-size : 0 !important }</style><p id=x style='font-size:12px'>SECRET</p>",
        "<style>td.a.b , em{visibility:hidden}</style><em>SECRET</em>",
        "<style><!-- p .x>b{opacity:0} --></style><p><i class=x><b>SECRET</b></i></p>",
        "<style>@media screen{.x{display:none}}</style><p class=x>SECRET</p>",
        "<style>@media (min-width:1px){.x{display:none}}</style><p class=x>SECRET</p>",
        "<style>@import url(a.css);.x{color:#fff}</style><p class=x>SECRET</p>",
        "<style>/* } */ [data-x]{display:none}</style><p data-x>SECRET</p>",
    ],
    "off screen": [
        '<p style="position:absolute;left:-9999px">SECRET</p>',
        '<p style="position: fixed; top: -100em">SECRET</p>',
        '<p style="text-indent:-9999px">SECRET</p>',
        '<p style="margin-left:-5000px">SECRET</p>',
        '<p style="position:absolute;clip:rect(0 0 0 0)">SECRET</p>',
        '<p style="clip-path: inset(100%)">SECRET</p>',
        '<p style="transform:translateX(-9999px)">SECRET</p>',
        '<p style="transform:scale(0)">SECRET</p>',
    ],
    "mso-hide": ['<div style="mso-hide:all">SECRET</div>', '<div style="MSO-HIDE : ALL">SECRET</div>'],
    "comments": ["<!-- SECRET -->", "<!--[if mso]><p>SECRET</p><![endif]-->", "<![CDATA[SECRET]]>", "<!SECRET>"],
    "script, noscript, template": [
        "<script>SECRET</script>",
        "<noscript><p>SECRET</p></noscript>",
        "<template><p>SECRET</p></template>",
        "<object>SECRET</object>",
    ],
}


@pytest.mark.parametrize("html", [html for spellings in WAYS.values() for html in spellings])
def test_hidden_text_is_removed_and_counted(html: str) -> None:
    opened = open_html(f"<html><body><p>before</p>{html}<p>after</p></body></html>")
    assert opened.hidden_removed >= 1
    shown = to_markdown(opened.document)
    assert "SECRET" not in shown
    assert "before" in shown
    assert "after" in shown


@pytest.mark.parametrize(
    "html",
    [
        '<div style="font-size:0"><span style="font-size:14px">SEEN</span></div>',
        '<p style="visibility:hidden"><b style="visibility:visible">SEEN</b></p>',
        '<table bgcolor="#1a73e8"><tr><td style="color:#ffffff">SEEN</td></tr></table>',
        '<div style="background:url(sky.png)"><p style="color:#fff">SEEN</p></div>',
        '<table><tr><td background="sky.png"><font color=white>SEEN</font></td></tr></table>',
        '<a style="background-color:#000;color:#fff">SEEN</a>',
        '<p style="color:#888888">SEEN</p>',
        '<p style="opacity:0.8">SEEN</p>',
        '<div style="max-height:0">SEEN</div>',
        '<div style="overflow:hidden;max-width:600px">SEEN</div>',
        '<p style="margin-left:-10px;position:relative;left:-5px">SEEN</p>',
        "<style>.x{display:none}</style><p class=y>SEEN</p>",
        "<style>p.x{display:none}</style><p class=x style='display:block'>SEEN</p>",
        "<style>@media (max-width:600px){.x{display:none!important}}</style><p class=x>SEEN</p>",
        "<style>@media print{.x{display:none}}</style><p class=x>SEEN</p>",
        "<style>p{display:none} p.x{display:block}</style><p class=x>SEEN</p>",
        "<style>a:hover{display:none}</style><a>SEEN</a>",
    ],
)
def test_what_can_be_seen_stays(html: str) -> None:
    assert "SEEN" in to_markdown(open_html(html).document)


def test_hidden_text_in_entities_is_cleaned_too() -> None:
    html = "<p>Hello&#8203;&#xE0053;&#917573;&zwnj; world</p>"
    assert to_markdown(open_html(html).document) == "Hello world"


def test_pieces_are_counted_one_by_one() -> None:
    gone = "<p hidden>one</p><p style='display:none'>two<b>words</b></p><!-- three -->"
    html = f"{gone}<p style='color:#fff'>four</p><p hidden> </p>"
    assert open_html(html).hidden_removed == 4


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "x",
        '<div style="color:red">' * 80_000 + "x",
        "<b>x</b>" * 250_000,
        "<table><tr><td>" * 30_000,
        "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x",
        '<p title="' + "a" * 3_000_000 + '">x',
        "<style>"
        + "".join(f".c{n} .d .e{{color:red}}" for n in range(9_000))
        + "</style>"
        + "<p class='d e'>x" * 40_000,
        "<style>" + "/*" * 90_000 + "</style>x",
        "<style>" + "{" * 150_000 + "</style>x",
        "<!-- a -->" * 100_000,
        '<a href="http://a.example/">x</a>' * 30_000,
    ],
    ids=lambda html: html[:20],
)
def test_documents_made_to_exhaust_their_reader_are_read(html: str) -> None:
    opened = open_html(html)
    to_markdown(opened.document)
    assert sum(1 for _ in opened.document.iter_elements()) <= MAX_ELEMENTS
