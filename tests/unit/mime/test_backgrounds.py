"""A link without words over a background picture is what a person clicks on."""

from __future__ import annotations

import pytest

from postroom.mime.html import backgrounds
from postroom.mime.html.document import open_html
from postroom.mime.html.markdown import to_markdown, to_text_with_links

SHOP = "https://shop.example/a"
PAINTED = "display:block;width:600px;height:200px;background:#eee url(https://cdn.example/hero.png) no-repeat"


def markdown(html: str) -> str:
    return to_markdown(open_html(html).document)


@pytest.mark.parametrize(
    "html",
    [
        f'<a href="{SHOP}" style="{PAINTED}"></a>',
        f'<a href="{SHOP}" style="{PAINTED}">&nbsp;</a>',
        f'<a href="{SHOP}"><span style="{PAINTED}"></span></a>',
        f'<a href="{SHOP}"><table><tr><td background="hero.png" width=600 height=200>&nbsp;</td></tr></table></a>',
        f'<table><tr><td background="hero.png"><a href="{SHOP}" style="display:block"></a></td></tr></table>',
        f'<div style="background-image:URL(hero.png)"><p><a href="{SHOP}" style="display:block"> </a></p></div>',
    ],
)
def test_the_picture_is_told_with_its_link(html: str) -> None:
    assert markdown(html) == f"[picture]({SHOP})"
    assert to_text_with_links(open_html(html).document).split() == ["picture", f"<{SHOP}>"]


def test_pieces_of_one_picture_are_told_once() -> None:
    assert markdown(f'<a href="{SHOP}" style="{PAINTED}"></a>' * 3) == f"[picture]({SHOP})"


@pytest.mark.parametrize(
    "html",
    [
        f'<a href="{SHOP}"></a>',
        f'<a href="{SHOP}" style="display:block;height:200px;background:#c00"></a>',
        f'<div style="display:none"><a href="{SHOP}" style="{PAINTED}"></a></div>',
        f'<a style="{PAINTED}"></a>',
    ],
)
def test_without_a_picture_or_a_link_there_is_nothing_to_tell(html: str) -> None:
    assert markdown(f"<p>Hello</p>{html}") == "Hello"


def test_a_background_behind_words_is_not_a_picture_to_click_on() -> None:
    html = f'<div style="{PAINTED}"><p>Hello</p><a href="{SHOP}"></a></div>'
    assert markdown(html) == "Hello"


def test_a_message_of_many_words_needs_no_pictures() -> None:
    words = "word " * 200
    assert "picture" not in markdown(f'<p>{words}</p><a href="{SHOP}" style="{PAINTED}"></a>')


def test_only_so_many_links_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[object] = []

    def noted(box: object) -> bool:
        looked_at.append(box)
        return False

    monkeypatch.setattr(backgrounds, "_is_painted", noted)
    markdown("<div>" + f'<a href="{SHOP}"></a>' * 2_000 + "</div>")
    assert len(looked_at) <= 1_000
