"""No regular expression and no step of reading costs more than in proportion to what a stranger sent."""

from __future__ import annotations

import re

import pytest
from tests.unit.mime.growth import grows_too_fast
from tests.unit.mime.hostile_mails import ALL
from tests.unit.mime.regular_expressions import Expression, all_expressions, attacks

from postroom.index.entry import texts_of
from postroom.mime import render as rendering
from postroom.mime.css import rules
from postroom.mime.quotes.earlier import Earlier
from postroom.mime.quotes.folding import ThreadContext
from postroom.mime.read.parse import Parsed, parse
from postroom.mime.render import render, snippet
from postroom.mime.sender_facts import judge

_CHARACTERS = 2_000  # eight times as many are beyond every bound within an expression
_BYTES = 5_000
EXPRESSIONS = all_expressions()


def slow_attacks(expression: Expression, size: int = _CHARACTERS) -> list[tuple[str, str, str, float]]:
    found = []
    for before, unit, after in attacks(expression.pattern):

        def run(size: int, before: str = before, unit: str = unit, after: str = after) -> None:
            expression.run(before + unit * (size // len(unit)) + after)

        if ratio := grows_too_fast(run, size):
            found.append((before, unit, after, ratio))
            break
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda expression: expression.name)
def test_every_regular_expression_is_linear(expression: Expression) -> None:
    assert not slow_attacks(expression)


@pytest.mark.parametrize(
    ("pattern", "is_anchored"),
    [
        (r"[^<]*?\s*<", True),
        (r"[^<>\s]+@[^<>\s]+\s*\Z", True),
        (r"\s+$", False),
        (r'"(?:[^"\\]|\\.)*"', False),
        (r"<!--.*?-->", False),
        (r"(?:a|b)*c", False),
    ],
)
def test_an_expression_that_is_not_linear_would_be_found(pattern: str, is_anchored: bool) -> None:
    assert slow_attacks(Expression("bad", re.compile(pattern, re.DOTALL), is_anchored), size=_CHARACTERS // 2)


def test_all_expressions_are_looked_at() -> None:
    names = {expression.name for expression in EXPRESSIONS}
    assert {
        "postroom.mime.read.addresses._SIMPLE",
        "postroom.mime.clean._REMOVED",
        "postroom.index.words._PILES",
    } <= names
    assert any(name.startswith("postroom.service.attachment_files:") for name in names)  # written within a call


def read(raw: bytes) -> None:
    """As if nothing like it had been read before."""
    rules._usual_sheet.cache_clear()
    rendering._plain.cache_clear()
    parsed = parse(raw)
    judge(parsed.headers, parsed.sender, parsed.reply_to, ("example.com",))
    rendered = render(parsed.body, fmt="markdown", keep_quoted=False)
    fold(parsed, rendered.whole)
    texts_of(parsed.subject, rendered.text, tuple(file.filename for file in parsed.attachments))


def fold(parsed: Parsed, text: str) -> None:
    """As an answer to a mail with the same words, and to one that is not there."""
    answered = Earlier([text], ["a", parsed.sender.name, parsed.sender.email])
    for earlier in (answered, None):
        context = ThreadContext(is_reply=True, subject=parsed.subject, earlier=earlier)
        render(parsed.body, fmt="markdown", keep_quoted=False, context=context)
        snippet(parsed.body, context=context)
    render(parsed.body, fmt="html", keep_quoted=False, context=ThreadContext(is_reply=True, earlier=answered))


@pytest.mark.parametrize("name", ALL)
def test_reading_takes_time_in_proportion(name: str) -> None:
    mails = {size: ALL[name](size) for size in (_BYTES, 8 * _BYTES)}
    assert not grows_too_fast(lambda size: read(mails[size]), _BYTES)
