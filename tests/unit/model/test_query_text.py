"""One query language for every mailbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.model.errors import InvalidRequest
from postroom.model.query.text import MAX_LENGTH, parse_query, to_text
from postroom.model.query.tree import (
    After,
    And,
    Before,
    Correspondent,
    Filename,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Node,
    Not,
    Or,
    Query,
    Smaller,
    Subject,
    Text,
)
from postroom.model.words import words

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
A, B, C, D = (Text(letter) for letter in "abcd")


def parsed(text: str) -> Node | None:
    return parse_query(text, now=NOW).node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("", None),
        ("   ", None),
        ("a", A),
        ("a b", And((A, B))),
        ("a AND b", And((A, B))),
        ('"a b"', Text("a b", phrase=True)),
        ('"say \\"hi\\""', Text('say "hi"', phrase=True)),
        ('"a\\\\b"', Text("a\\b", phrase=True)),
        ('"C:\\temp"', Text("C:\\temp", phrase=True)),
        ("invoi*", Text("invoi", prefix=True)),
        ("-a", Not(A)),
        ("NOT a", Not(A)),
        ("a -b", And((A, Not(B)))),
        ("-(a b)", Not(And((A, B)))),
        ("{a b}", Or((A, B))),
        ("{a}", A),
        ("{a OR b c}", Or((A, B, C))),
        ("c -{a (b d)}", And((C, Not(Or((A, And((B, D)))))))),
        ("from:{anna bob}", Or((Correspondent("from", "anna"), Correspondent("from", "bob")))),
        ("label:Inbox", In("inbox")),
        ("-label:unread", Not(Is("unread"))),
        ('label:"inbox"', Label("inbox")),
        ("a-b", Text("a-b")),
        ("a OR b", Or((A, B))),
        ("a OR b OR c", Or((A, B, C))),
        ("a b OR c d", And((A, Or((B, C)), D))),
        ("(a b) OR (c d)", Or((And((A, B)), And((C, D))))),
        ("((a)) (b c)", And((A, B, C))),
        ("a or b", And((A, Text("or"), B))),
        ("a\nb\tc", And((A, B, C))),
    ],
)
def test_words_phrases_and_their_joints(text: str, node: Node | None) -> None:
    assert parsed(text) == node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("from:anna", Correspondent("from", "anna")),
        ("FROM:Anna", Correspondent("from", "Anna")),
        ('to:"Anna Müller"', Correspondent("to", "Anna Müller")),
        ("cc:*@example.com", Correspondent("cc", "@example.com")),
        ("from:(anna OR bob)", Or((Correspondent("from", "anna"), Correspondent("from", "bob")))),
        ("-from:anna", Not(Correspondent("from", "anna"))),
        ("subject:offer", Subject("offer")),
        ('subject:"spring offer"', Subject("spring offer", phrase=True)),
        ("subject:(spring offer)", And((Subject("spring"), Subject("offer")))),
        ('subject:(a "b c" -d)', And((Subject("a"), Subject("b c", phrase=True), Not(Subject("d"))))),
        ("has:attachment", HasAttachment()),
        ("HAS:Attachments", HasAttachment()),
        ("is:unread", Is("unread")),
        ("is:Starred", Is("starred")),
        ("in:Sent", In("Sent")),
        ('in:"Projects/New ones"', In("Projects/New ones")),
        ("in:anywhere", None),
        ("a in:anywhere", A),
        ("in:anywhere OR a", None),
        ('label:"to do"', Label("to do")),
        ("filename:*.pdf", Filename(".pdf")),
        ("larger:5M", Larger(5 * 2**20)),
        ("larger:10MB", Larger(10 * 2**20)),
        ("larger:1.5k", Larger(1536)),
        ("smaller:300K", Smaller(300 * 2**10)),
        ("smaller:1024", Smaller(1024)),
        ("larger:999999999999999", Larger(999999999999999)),
    ],
)
def test_operators(text: str, node: Node | None) -> None:
    assert parsed(text) == node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("after:2026-01-31", After(datetime(2026, 1, 31, tzinfo=UTC))),
        ("before:2026/1/5", Before(datetime(2026, 1, 5, tzinfo=UTC))),
        ("after:2026-01-31T09:30", After(datetime(2026, 1, 31, 9, 30, tzinfo=UTC))),
        ("after:2026-01-31T09:30:00Z", After(datetime(2026, 1, 31, 9, 30, tzinfo=UTC))),
        (
            "before:2026-01-31T09:30:00+02:00",
            Before(datetime(2026, 1, 31, 9, 30, tzinfo=timezone(timedelta(hours=2)))),
        ),
        ("older_than:7d", Before(NOW - timedelta(days=7))),
        ("newer_than:2w", After(NOW - timedelta(weeks=2))),
        ("newer_than:12h", After(NOW - timedelta(hours=12))),
        ("older_than:1m", Before(datetime(2026, 2, 28, 12, tzinfo=UTC))),
        ("older_than:3M", Before(datetime(2025, 12, 31, 12, tzinfo=UTC))),
        ("newer_than:1y", After(datetime(2025, 3, 31, 12, tzinfo=UTC))),
    ],
)
def test_dates_and_spans(text: str, node: Node) -> None:
    assert parsed(text) == node


@pytest.mark.parametrize(
    "word", ["https://example.com/a?b=c", "12:30", "std::string", "anna@example.com", "R&D", "5:0"]
)
def test_a_colon_does_not_make_an_operator(word: str) -> None:
    assert parsed(word) == Text(word)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("foo:bar", "from: to: cc: subject:"),
        ("foo:(a b)", "not a search operator"),
        ("bcc:anna", "not a search operator"),
        ("from: anna", "without a space"),
        ("Re: budget", "in quotes"),
        ('from:""', "no value"),
        ("from:*", "no value"),
        ("subject:()", "need a search term"),
        ('"never closed', "quotation mark"),
        ('from:"anna', "quotation mark"),
        ("(a", r"missing \)"),
        ("a)", r"no \("),
        ("{a", r"missing \}"),
        ("{a)", r"missing \}"),
        ("{}", "need a search term"),
        ("a}", r"no \{"),
        ("()", "need a search term"),
        ("OR", "need a search term"),
        ("OR a", "need a search term"),
        ("a OR", "need a search term"),
        ("a OR OR b", "need a search term"),
        ("a AND", "need a search term"),
        ("NOT", "need a search term"),
        ("-", "lone"),
        ("a - b", "lone"),
        ("(a -)", "lone"),
        ("*", r"; \* has neither"),
        ("!!!", "; !!! has neither"),
        ('""', '; "" has neither'),
        ('"..."', '; "..." has neither'),
        ("subject:---", "has neither"),
        ("in*voice", "end of a word"),
        ("subject:invoi*", r"not accept \*"),
        ("label:a*", r"not accept \*"),
        ("has:image", "has:attachment"),
        ("is:important", "is:starred"),
        ("after:yesterday", "2026-01-31"),
        ("after:2026-13-01", "2026-01-31"),
        ("before:0000-01-01", "2026-01-31"),
        ("after:0001-01-01T00:00+23:00", "2026-01-31"),
        ("after:(2026-01-01)", "single value"),
        ("older_than:soon", "7d"),
        ("older_than:99999y", "shorter"),
        ("larger:big", "5M"),
        ("larger:-5", "5M"),
        ("larger:99999999999G", "smaller size"),
        ("smaller:99999999999.5G", "smaller size"),
        ("from:(subject:a)", "inside from"),
        ("-in:anywhere", "every message"),
        ("a\0b", "control character"),
        ("a\ud800", "control character"),
    ],
)
def test_a_malformed_query_is_refused_and_the_fix_named(text: str, advice: str) -> None:
    with pytest.raises(InvalidRequest, match=advice):
        parsed(text)


def test_the_length_is_bounded() -> None:
    assert parsed("a" * MAX_LENGTH) is not None
    with pytest.raises(InvalidRequest, match="longer"):
        parsed("a" * (MAX_LENGTH + 1))


@pytest.mark.parametrize("text", ["(" * 20 + "a" + ")" * 20, "-" * 20 + "a"])
def test_reasonable_nesting_is_read(text: str) -> None:
    assert parsed(text) is not None


@pytest.mark.parametrize("text", ["(" * 21 + "a" + ")" * 21, "-" * 21 + "a", "(" * 1000, "-(" * 500])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="nested"):
        parsed(text)


# --- written back ---------------------------------------------------------------------------------------------------

values = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=12).map(
    lambda text: "".join(" " if char.isspace() else char for char in text).strip()
)
wordy = values.filter(lambda text: bool(words(text)))
bare = st.from_regex(r"[a-zäß0-9]{1,8}", fullmatch=True)
moments = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
sizes = st.integers(0, 10**14)
leaves: st.SearchStrategy[Node] = st.one_of(
    bare.map(Text),
    bare.map(lambda value: Text(value, prefix=True)),
    wordy.map(lambda value: Text(value, phrase=True)),
    st.builds(Correspondent, st.sampled_from(["from", "to", "cc"]), values.filter(bool)),
    wordy.map(lambda value: Subject(value, phrase=True)),
    bare.map(Subject),
    st.just(HasAttachment()),
    st.builds(Is, st.sampled_from(["unread", "read", "starred", "unstarred", "draft", "answered"])),
    values.filter(lambda text: bool(text) and text.casefold() != "anywhere").map(In),
    values.filter(bool).map(Label),
    values.filter(bool).map(Filename),
    moments.map(After),
    moments.map(Before),
    sizes.map(Larger),
    sizes.map(Smaller),
)


def _group(kind: type[And] | type[Or], nodes: list[Node]) -> Node:
    flat = tuple(part for node in nodes for part in (node.nodes if isinstance(node, kind) else (node,)))
    return kind(flat)


trees: st.SearchStrategy[Node] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda nodes: _group(And, nodes)),
        st.lists(inner, min_size=2, max_size=3).map(lambda nodes: _group(Or, nodes)),
    ),
    max_leaves=8,
)


@given(trees)
@example(In(":"))
@example(Label("//x"))
@example(Label("Inbox"))
@example(Text("{x", phrase=True))
@example(Correspondent("from", "-(a OR b)*"))
@example(Text("from:x", phrase=True))
def test_a_query_written_out_is_read_back_the_same(node: Node) -> None:
    text = to_text(Query(node))
    if len(text) <= MAX_LENGTH:
        assert parse_query(text, now=NOW) == Query(node)


def test_everything_is_written_as_nothing() -> None:
    assert to_text(Query()) == ""


@given(st.text(st.sampled_from('ab:"(){}-* OR\\ANDfromsubject'), max_size=60))
def test_any_text_is_read_or_refused_and_what_is_read_can_be_written(text: str) -> None:
    try:
        query = parse_query(text, now=NOW)
    except InvalidRequest:
        return
    assert parse_query(to_text(query), now=NOW) == query


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("newer_than:2d", "2026-03-28T12:00:00+01:00"),  # the clock was put forward in between
        ("newer_than:48h", "2026-03-28T11:00:00+01:00"),
        ("newer_than:1m", "2026-02-28T12:00:00+01:00"),
        ("after:2026-03-30", "2026-03-30T00:00:00+02:00"),
        ("after:2026-03-30T09:00", "2026-03-30T09:00:00+02:00"),
        ("after:2026-03-30T09:00:00Z", "2026-03-30T09:00:00+00:00"),
    ],
)
def test_days_are_counted_on_the_clock_of_the_zone(text: str, moment: str) -> None:
    now = datetime.fromisoformat("2026-03-30T12:00:00+02:00")
    assert parse_query(text, now=now, zone=ZoneInfo("Europe/Berlin")).node == After(datetime.fromisoformat(moment))
