"""Filters beside a query: each holds besides the words, and none of their values is read as language."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postroom.model.errors import InvalidRequest
from postroom.model.query.text import parse_query
from postroom.model.query.tree import (
    After,
    And,
    Before,
    Correspondent,
    HasAttachment,
    Is,
    Label,
    Not,
    Query,
    Subject,
    Text,
)
from postroom.service.reading.filters import Filters

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def test_filters_hold_besides_the_words() -> None:
    filters = Filters(
        sender="ann@x.example",
        to="bob",
        subject="spring offer",
        labels=("work", "later"),
        has_attachment=True,
        unread=False,
        after="2026-01-31",
        before="2026-02-01T09:00:00+01:00",
    )
    assert filters.narrow(parse_query("ladder", now=NOW), UTC).node == And(
        (
            Text("ladder"),
            Correspondent("from", "ann@x.example"),
            Correspondent("to", "bob"),
            Subject("spring offer", phrase=True),
            Label("work"),
            Label("later"),
            HasAttachment(),
            Is("read"),
            After(datetime(2026, 1, 31, tzinfo=UTC)),
            Before(datetime(2026, 2, 1, 8, tzinfo=UTC)),
        )
    )


def test_no_filter_asks_for_nothing_and_a_false_one_for_the_opposite() -> None:
    assert Filters().narrow(Query(), UTC) == Query()
    assert Filters(has_attachment=False).narrow(Query(), UTC) == Query(Not(HasAttachment()))


def test_a_value_is_taken_as_it_stands() -> None:
    assert Filters(sender='a OR from:b "').narrow(Query(), UTC) == Query(Correspondent("from", 'a OR from:b "'))


@pytest.mark.parametrize(
    "wrong",
    [
        Filters(after="soon"),
        Filters(before="31.01.2026"),
        Filters(sender="x" * 201),
        Filters(subject="a\r\nb"),
        Filters(labels=("x",) * 21),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong: Filters) -> None:
    with pytest.raises(InvalidRequest):
        wrong.narrow(Query(), UTC)
