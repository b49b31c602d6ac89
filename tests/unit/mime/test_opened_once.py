"""Opening HTML is the most expensive step of reading: whatever is made of a message, it is done once."""

from __future__ import annotations

import pytest

from postroom.mime import render as rendering
from postroom.mime.html.document import OpenedHtml, open_html
from postroom.mime.quotes.earlier import Earlier
from postroom.mime.quotes.folding import ThreadContext
from postroom.model.message import Body

SAID = "Shall we all meet again tomorrow at noon, or rather in the evening?"
REPLY = Body(
    text=f"Yes.\n\n> {SAID}", html=f'<p>Yes, <a href="https://x.example/">here</a>.</p><blockquote>{SAID}</blockquote>'
)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def watched(html: str) -> OpenedHtml:
        seen.append(html)
        return open_html(html)

    monkeypatch.setattr(rendering, "open_html", watched)
    for cached in (rendering._opened, rendering._written, rendering._words_of_html):
        cached.cache_clear()
    return seen


def test_a_message_is_opened_once_for_its_text_its_words_and_what_it_quotes(opened: list[str]) -> None:
    first = rendering.render(REPLY, fmt="markdown", keep_quoted=False, context=ThreadContext(is_reply=True))
    earlier = ThreadContext(is_reply=True, earlier=Earlier([SAID]))
    again = rendering.render(REPLY, fmt="markdown", keep_quoted=False, context=earlier)
    assert first.may_quote
    assert again.text == "Yes, [here](https://x.example)."
    assert SAID in rendering.search_text(REPLY)
    assert opened == [REPLY.html]


def test_one_version_does_not_change_another(opened: list[str]) -> None:
    words = rendering.search_text(REPLY)
    shown = rendering.render(REPLY, fmt="markdown", keep_quoted=True).text
    plain = rendering.render(Body(html=REPLY.html), fmt="text", keep_quoted=True).text
    for cached in (rendering._opened, rendering._written, rendering._words_of_html):
        cached.cache_clear()
    assert rendering.render(Body(html=REPLY.html), fmt="text", keep_quoted=True).text == plain
    assert rendering.render(REPLY, fmt="markdown", keep_quoted=True).text == shown
    assert rendering.search_text(REPLY) == words
    assert opened == [REPLY.html] * 2
