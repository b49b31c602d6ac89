"""New text is never folded away: a table of made mails, each in every format."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.mime.folding_cases import CASES, Case

from postroom.mime.quotes.earlier import Earlier
from postroom.mime.quotes.folding import ThreadContext
from postroom.mime.quotes.subjects import is_forward_subject
from postroom.mime.render import render
from postroom.model.message import Body

PEOPLE = ["Marta Quist", "marta@harbour.example", "Alex Rivera", "alex@demo.example"]


def context_of(case: Case) -> ThreadContext:
    earlier = Earlier() if not case.reply else None if case.earlier is None else Earlier([case.earlier], PEOPLE)
    return ThreadContext(case.reply, is_forward_subject(case.subject), case.subject, earlier)


@pytest.mark.parametrize(("case", "fmt"), [(case, fmt) for case in CASES for fmt in case.formats], ids=str)
def test_what_is_new_is_shown_and_what_is_a_copy_is_folded(case: Case, fmt: str) -> None:
    body = Body(case.text, case.html)
    rendered = render(body, fmt=fmt, keep_quoted=False, context=context_of(case))  # type: ignore[arg-type]
    assert [words for words in case.shows if words not in rendered.text] == []
    if case.folds:
        assert [words for words in case.folds if words in rendered.text] == []
        assert rendered.quoted_folded > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_left_out_without_being_counted(case: Case) -> None:
    body = Body(case.text, case.html)
    whole = render(body, fmt="text", keep_quoted=True).text
    shown = render(body, fmt="text", keep_quoted=False, context=context_of(case))
    missing = sum(1 for line in whole.split("\n") if line.strip() and line.strip() not in shown.text)
    assert (missing > 0) == (shown.quoted_folded > 0)


def test_where_the_thread_can_be_asked_nothing_is_folded_before() -> None:
    body, context = Body(text="Yes.\n\n> Shall we all meet again tomorrow?"), ThreadContext(is_reply=True)
    waiting = render(body, fmt="markdown", keep_quoted=False, context=replace(context, can_be_asked=True))
    assert (waiting.text, waiting.quoted_folded, waiting.may_quote) == (body.text, 0, True)
    assert render(body, fmt="markdown", keep_quoted=False, context=context).text == "Yes."
