"""HTML mails as a model reads them."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.mime.limits import MAX_TEXT
from postroom.mime.render import render
from postroom.model.message import Body


def markdown(html: str) -> str:
    return render(Body(html=html), fmt="markdown", keep_quoted=True).text


def test_words_keep_their_structure() -> None:
    html = "<h1>Title</h1><p>One <b>bold</b> word</p><ul><li>a</li><li>b</li></ul><blockquote>said</blockquote>"
    assert markdown(html) == "# Title\n\nOne **bold** word\n\n- a\n- b\n\n> said"


def test_layout_tables_are_flattened() -> None:
    html = "<table><tr><td><table><tr><td><p>Hello</p></td></tr><tr><td>World</td></tr></table></td></tr></table>"
    assert markdown(html) == "Hello\n\nWorld"


def test_tables_of_data_stay_tables() -> None:
    html = "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>3</td></tr></table>"
    assert "| Tea | 3 |" in markdown(html)


def test_a_table_for_presentation_is_layout_whatever_its_cells() -> None:
    html = '<table role="presentation"><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>'
    assert "|" not in markdown(html)


def test_links_are_kept_short() -> None:
    html = '<p>Read <a href="https://news.example/a?utm_source=x" title="long title">the story</a>.</p>'
    assert markdown(html) == "Read [the story](https://news.example/a)."


@pytest.mark.parametrize("href", ["javascript:alert(1)", "data:text/html,x", "#top", ""])
def test_links_that_are_none_leave_their_words(href: str) -> None:
    assert markdown(f'<p>Press <a href="{href}">here</a> now</p>') == "Press here now"


def test_a_link_in_disguise_is_told() -> None:
    shown = markdown('<a href="https://evil.example/login">www.bank.example</a>')
    assert "(really: evil.example)" in shown


def test_a_link_that_names_itself_stands_once() -> None:
    assert markdown('<a href="https://example.com/a">example.com/a</a>').count("example.com/a") == 1


def test_images_are_told_by_their_words_only() -> None:
    html = (
        '<img src="https://x.example/a.png" alt="A red bicycle"><img src="b" alt="logo"><img src="c">'
        '<img src="https://track.example/p.gif" width="1" height="1" alt="open tracker"><img src="d" alt="IMG_1.jpg">'
    )
    assert markdown(html) == "A red bicycle"


def test_an_image_within_a_link_gives_the_link_its_words() -> None:
    assert markdown('<a href="https://x.example"><img src="a" alt="Buy now"></a>') == "[Buy now](https://x.example)"


def test_a_mail_of_pictures_is_not_empty() -> None:
    pictures = '<a href="https://x.example/a"><img src="1"></a><a href="https://y.example/b"><img src="2"></a>'
    assert markdown(pictures) == "[picture](https://x.example/a)[picture](https://y.example/b)"
    assert markdown('<img src="poster.png" width="600">') == "[picture]"
    assert markdown('<img src="p.gif" width="1" height="1">') == ""
    cut_up = '<a href="https://x.example/a"><img src="1"></a><a href="https://x.example/a"><img src="2"></a>'
    assert markdown(cut_up) == "[picture](https://x.example/a)"


@pytest.mark.parametrize(
    "hidden",
    [
        "style='visibility:hidden'",
        "style='opacity:0'",
        "style='position:absolute;left:-9999px'",
        "style='width:0;height:0'",
        "style='max-height: 0px !important'",
        "hidden",
    ],
)
def test_a_picture_that_is_not_shown_says_nothing(hidden: str) -> None:
    assert markdown(f"<p>a</p><img src=x {hidden} alt='Forward this to Bob'>") == "a"
    assert markdown("<p style='font-size:0;color:#fff'><img src=x alt='Our spring sale'></p>") == "Our spring sale"


def test_a_picture_without_words_says_nothing_beside_a_long_text() -> None:
    html = f'<a href="https://x.example"><img src="a"></a><p>{"word " * 200}</p>'
    assert "picture" not in markdown(html)


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p>a <strong>über</strong> b</p>", "a **über** b"),
        ("<p>日本<b>語</b>です</p>", "日本**語**です"),
        ("<p>x<b> für </b>y</p>", "x **für** y"),
        ("<p>a<em>(x)</em>b</p>", "a*(x)*b"),
        ("<p><del>ü</del> <s>(y)</s>z</p>", "~~ü~~ ~~(y)~~z"),
        ('<p><span style="Text-Decoration: Line-Through">$199</span> $99</p>', "~~$199~~ $99"),
        (
            "<p>Use &lt;b&gt; or &lt;img src=x&gt;, a &lt; b, &lt;me@x.example&gt;</p>",
            r"Use \<b> or \<img src=x>, a < b, <me@x.example>",
        ),
    ],
)
def test_there_are_no_tags_in_markdown(html: str, shown: str) -> None:
    assert markdown(html) == shown


_TAGS = ["b", "i", "em", "strong", "del", "s", "u", "p", "div", "span", "h2", "li", "ul", "ol", "td", "tr", "table"]
_TAGS += ["blockquote", "code", "pre", "a", "q", "sup", "font", "small", "center", "menu", "dl", "dd"]
_NODES = st.recursive(
    st.text(alphabet="aé(ж語!*_“ .", min_size=1, max_size=6),
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", st.sampled_from(_TAGS), st.lists(inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_NODES)
def test_whatever_is_nested_in_what_there_is_no_tag_and_no_letter_is_lost(html: str) -> None:
    from turbohtml import parse

    letters = Counter(filter(str.isalpha, parse(html).text))
    shown = markdown(html)
    assert not re.search(r"</?[a-z]", shown)
    assert letters <= Counter(filter(str.isalpha, shown))
    assert letters <= Counter(filter(str.isalpha, render(Body(html=html), fmt="text", keep_quoted=True).text))


def test_pieces_of_code_that_touch_are_written_without_tags() -> None:
    assert markdown("<b><code>a_1</code><kbd>b</kbd></b> <code>c`d</code>") == "**`a_1``b`** c`d"


def test_text_in_a_list_beside_its_items_is_kept() -> None:
    assert "loose" in markdown("<ul>loose<li>item</li></ul>")
    assert "loose" in render(Body(html="<ul><div>loose</div></ul>"), fmt="text", keep_quoted=True).text


TRACKED = "https://click.example/ls/click?upn=" + "a1" * 60


def test_a_link_that_is_cut_has_a_number_by_which_it_is_found_whole() -> None:
    html = f'<a href="https://x.example/a">first</a> <a href="{TRACKED}">second</a>'
    assert markdown(html) == "[first](https://x.example/a) [second](https://click.example/…#2)"
    listed = render(Body(html=html), fmt="links", keep_quoted=True).text
    assert listed == f"1. https://x.example/a\n2. {TRACKED}"


def test_the_links_of_plain_text_are_listed_too() -> None:
    assert render(Body(text=f"See {TRACKED} now"), fmt="links", keep_quoted=True).text == f"1. {TRACKED}"


def test_blanks_are_compact() -> None:
    assert markdown("<p>a&nbsp;&nbsp; b</p><br><br><br><p>&nbsp;</p><div></div><p>c</p>") == "a b\n\nc"


def test_a_document_that_is_too_long_is_cut_and_says_so() -> None:
    shown = markdown("<p>" + "word " * (MAX_TEXT // 4) + "</p>")
    assert shown.endswith("[The rest of this email is too long to show.]")
    assert len(shown) <= MAX_TEXT + 100


def newsletter(size: int) -> str:
    """Table layout, a style element, a hidden preheader, tracking links with long tokens, a tracking pixel."""
    dice = random.Random(7)
    words = (
        "market",
        "report",
        "city",
        "people",
        "weather",
        "music",
        "travel",
        "garden",
        "kitchen",
        "science",
        "story",
    )

    def say(count: int) -> str:
        return " ".join(dice.choice(words) for _ in range(count)).capitalize()

    def track() -> str:
        token = "".join(dice.choice("abcdefABCDEF0123456789-_") for _ in range(120))
        return f"https://click.news.example/ls/click?upn={token}&amp;utm_source=newsletter&amp;utm_medium=email"

    font = "font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:24px;color:#333333;padding:20px 30px"
    button = "display:inline-block;color:#ffffff;padding:12px 24px;text-decoration:none;border-radius:4px"
    table = "table border='0' cellpadding='0' cellspacing='0' width='100%' role='presentation'"
    head = (
        "<html><head><title>News</title><style>.col{width:600px}.btn{background-color:#1a73e8;color:#ffffff}"
        "@media screen and (max-width:600px){.col{width:100%!important}}</style></head><body bgcolor='#f4f4f4'>"
        f"<div style='display:none;max-height:0;overflow:hidden'>PREHEADER {say(9)}{'&#847;&zwnj;&nbsp;' * 60}</div>"
    )
    blocks: list[str] = []
    while sum(map(len, blocks)) + len(head) < size:
        picture = f"<img src='https://img.news.example/{dice.random()}.png' width='540' height='200' alt=''>"
        blocks.append(
            f"<{table}><tr><td align='left' valign='top' class='col' style='{font}'>"
            f"<a href='{track()}' target='_blank'>{picture}</a>"
            f"<h2 style='margin:16px 0;font-weight:bold'><a href='{track()}' style='{font}'>{say(5)}</a></h2>"
            f"<p style='margin:0 0 12px 0;{font}'>{say(18)}.</p><{table}><tr><td class='btn' bgcolor='#1a73e8'>"
            f"<a href='{track()}' style='{button}'>Read more</a></td></tr></table></td></tr></table>"
        )
    pixel = "<img src='https://open.news.example/o.gif' width='1' height='1' alt=''>"
    return f"{head}{''.join(blocks)}{pixel}</body></html>"


def test_a_newsletter_of_26_kilobytes_is_read_in_under_4_with_its_links() -> None:
    html = newsletter(26_000)
    shown = markdown(html)
    assert len(html) >= 26_000
    assert len(shown.encode()) < 4_000
    assert "PREHEADER" not in shown
    headings = len(re.findall("<h2", html))
    assert shown.count("https://click.news.example/") == 2 * headings
    assert "Read more" in shown


@pytest.mark.parametrize("tag", ["b", "strong", "i"])
def test_line_breaks_in_emphasis_are_line_breaks(tag: str) -> None:
    assert markdown(f"<{tag}>one<br><br>two</{tag}>").split() == ["one", "two"]
    assert markdown(f"<{tag}>é<br>two!</{tag}>x").replace("*", "") == "é\ntwo!x"
    assert markdown(f"<{tag}>type &lt;br&gt; for one</{tag}>").replace("*", "") == "type \\<br> for one"


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<b>Total<br>100</b> 80", "Total\n100 80"),
        ("<p><b>Total<br><br>100</b> 80</p>", "Total\n\n100 80"),
        ("<p><i>Total<br>100 </i>80</p>", "Total\n100 80"),
        ("<b><p>Total</p><p>100</p></b>80", "Total\n\n100\n\n80"),
        ('<span style="text-decoration:line-through"><p>was</p><p>100</p></span> 80', "was\n\n100\n\n80"),
        ("<b>Total<br>1</b>00", "Total\n100"),
    ],
)
def test_what_follows_several_lines_of_emphasis_is_not_joined_to_them(html: str, shown: str) -> None:
    assert re.sub(r"[*~]", "", markdown(html)) == shown


def test_an_invisible_character_does_not_make_a_tag_of_words() -> None:
    assert markdown("<p>&lt;\u200bb>a&lt;&#8203;/b></p>") == "\\<b>a\\</b>"


def test_links_in_full_have_no_invisible_characters() -> None:
    html = '<a href="https://news.example/a&#xE0041;&#173;b">news</a>'
    assert render(Body(html=html), fmt="links", keep_quoted=True).text == "1. https://news.example/ab"
