from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postroom.model.query.tree import (
    After,
    And,
    Before,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Leaf,
    Node,
    Not,
    Or,
    Subject,
    Text,
)
from postroom.providers.imap.flavours.criteria import (
    ALL,
    NONE,
    Keys,
    bounds,
    said,
    searchable,
)
from postroom.providers.querying.bounds import FALSE, TRUE, Bounds, within

JUNE = datetime(2026, 6, 15, 12, tzinfo=UTC)


def in_words(node: Node) -> str:
    keys = bounds(node)
    assert keys.are_exact
    return b" ".join(keys.upper.words).decode()


def test_the_last_day_of_the_calendar_has_none_after_it() -> None:
    assert bounds(After(datetime(9999, 12, 31, tzinfo=UTC))).lower.words[:2] == (b"SENTSINCE", b"31-Dec-9999")
    assert bounds(Before(datetime(1, 1, 1, tzinfo=UTC))).lower.words[:2] == (b"SENTBEFORE", b"1-Jan-0001")


@pytest.mark.parametrize(
    ("node", "keys"),
    [
        (Is("unread"), "UNSEEN"),
        (Not(Is("unread")), "NOT UNSEEN"),
        (Larger(1000), "LARGER 1000"),
        (Label("to do"), "KEYWORD to=20do"),
        (Subject('say "hi"'), 'SUBJECT "say \\"hi\\""'),
        (And((Is("read"), Is("starred"))), "SEEN FLAGGED"),
        (Or((Is("read"), Is("starred"))), "OR SEEN FLAGGED"),
        (Not(And((Is("read"), Is("starred")))), "NOT (SEEN FLAGGED)"),
        (Or((And((Is("read"), Is("draft"))), Is("starred"))), "OR (SEEN DRAFT) FLAGGED"),
        (Or((Is("read"), Is("draft"), Is("starred"))), "OR SEEN OR DRAFT FLAGGED"),
        (And(()), "ALL"),
    ],
)
def test_what_a_server_can_say_is_said_exactly(node: Node, keys: str) -> None:
    assert in_words(node) == keys


def test_words_are_looked_for_where_people_write_not_in_every_header() -> None:
    assert in_words(Text("plain")).startswith('OR SUBJECT "plain" OR FROM "plain"')
    assert " BODY " in in_words(Text("plain"))
    assert "TEXT" not in in_words(Text("plain"))


@pytest.mark.parametrize("text", ['"', "***", "", "\x00"])
def test_text_without_a_word_matches_nothing(text: str) -> None:
    assert bounds(Text(text)).upper == NONE


def test_moments_are_bracketed_by_days_with_one_to_spare() -> None:
    after, before = bounds(After(JUNE)), bounds(Before(JUNE))
    assert (after.upper.words[1:3], after.lower.words[:2]) == (
        (b"SENTSINCE", b"14-Jun-2026"),
        (b"SENTSINCE", b"17-Jun-2026"),
    )
    assert (before.upper.words[1:3], before.lower.words[:2]) == (
        (b"SENTBEFORE", b"17-Jun-2026"),
        (b"SENTBEFORE", b"14-Jun-2026"),
    )


def test_dates_that_servers_read_in_their_own_way_are_decided_here() -> None:
    after, before = bounds(After(JUNE)), bounds(Before(JUNE))
    unlike = b"NOT (SENTSINCE 1-Jan-1980 SENTBEFORE 1-Jan-2100)"
    assert b" ".join(after.upper.words).endswith(b" (%s SINCE 14-Jun-2026)" % unlike)
    assert b" ".join(before.upper.words).endswith(b" " + unlike)
    assert before.lower.words[2:] == (b"SENTSINCE", b"1-Jan-1980"), "for Dovecot what has none was sent in 1970"
    assert after.lower.words[2:] == (b"SENTBEFORE", b"1-Jan-2100"), "for Dovecot that is where 1969 is"


def test_not_swaps_the_bounds() -> None:
    inner, outer = bounds(HasAttachment()), bounds(Not(HasAttachment()))
    assert outer.upper.words == (b"NOT", *inner.lower.words)
    assert (b"NOT", *outer.lower.words) == inner.upper.words, "two times NOT is nothing"


def test_a_server_with_words_of_its_own_is_asked_in_them_at_every_depth() -> None:
    def say(leaf: Leaf) -> Bounds:
        return Bounds(Keys((b"MAYBE",)), Keys((b"SURELY",))) if isinstance(leaf, HasAttachment) else said(leaf)

    found = bounds(And((Is("read"), Or((Not(HasAttachment()), Is("draft"))))), say)
    assert found.upper.words == (b"SEEN", b"OR", b"NOT", b"SURELY", b"DRAFT")
    assert found.lower.words == (b"SEEN", b"OR", b"NOT", b"MAYBE", b"DRAFT")


def test_folders_are_decided_before_a_server_is_asked() -> None:
    query = Or((And((In("inbox"), Is("unread"))), In("sent")))
    assert within(query, lambda name: name == "inbox") == Is("unread")
    assert within(query, lambda name: name == "sent") == TRUE
    assert within(query, lambda name: False) == FALSE
    assert within(Not(In("trash")), lambda name: False) == TRUE


def test_a_group_never_closes_right_behind_a_literal() -> None:
    keys = bounds(Not(And((Is("read"), Subject("Grüße"))))).upper
    assert keys.words[-2:] == ("Grüße".encode(), b"ALL)")


@pytest.mark.parametrize("text", ["a\r\nb LOGOUT", 'x" NOT "y', "a\\"])
def test_no_text_gets_out_of_its_quotes(text: str) -> None:
    word = searchable(text)
    assert word.startswith(b'"')
    assert word.endswith(b'"')
    assert b"\r" not in word
    assert b"\n" not in word
    inner = word[1:-1].replace(b"\\\\", b"").replace(b'\\"', b"")
    assert b'"' not in inner
    assert b"\\" not in inner


def test_all_and_none_are_kept_out_of_longer_questions() -> None:
    assert bounds(And((TRUE, Is("read")))).upper.words == (b"SEEN",)
    assert bounds(Or((TRUE, Is("read")))).upper == ALL
    assert bounds(And((FALSE, Is("read")))).upper == NONE
