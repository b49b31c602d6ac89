"""A query without what a provider cannot apply finds at least all that the whole query would find."""

from __future__ import annotations

import pytest

from postroom.model.address import Address
from postroom.model.message import Envelope
from postroom.model.query.match import matches
from postroom.model.query.tree import And, Correspondent, HasAttachment, Is, Larger, Node, Not, Or, Query
from postroom.model.query.widening import widened

MAILS = [
    Envelope("1", "1", "INBOX", Address("ann@a.example"), unread=unread, size=size, has_attachments=has)
    for unread in (True, False)
    for size in (1, 100)
    for has in (True, False)
]
LARGE, UNREAD, FILES = Larger(50), Is("unread"), HasAttachment()


@pytest.mark.parametrize(
    "node",
    [
        LARGE,
        Not(LARGE),
        And((LARGE, UNREAD)),
        And((Not(LARGE), UNREAD)),
        Or((LARGE, UNREAD)),
        Not(Or((LARGE, UNREAD))),
        Not(And((LARGE, Not(Or((Not(LARGE), FILES)))))),
    ],
)
def test_nothing_that_matches_is_missed_and_what_was_left_out_is_named(node: Node) -> None:
    query, left_out = widened(Query(node, anywhere=True), ["larger", "from"])
    assert left_out == ("larger",)
    assert query.anywhere
    assert not any(isinstance(leaf, Larger) for leaf in query.leaves())
    assert all(matches(query.node, mail) for mail in MAILS if matches(node, mail))


def test_conditions_beside_it_still_hold() -> None:
    query, _ = widened(Query(And((LARGE, UNREAD))), ["larger"])
    assert [matches(query.node, mail) for mail in MAILS] == [mail.unread for mail in MAILS]


def test_a_query_that_can_be_applied_is_left_alone() -> None:
    query = Query(And((UNREAD, Correspondent("from", "ann"))))
    assert widened(query, ["larger", "to"]) == (query, ())
    assert widened(Query(), ["larger"]) == (Query(), ())
