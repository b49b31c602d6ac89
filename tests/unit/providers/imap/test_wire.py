from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.errors import ProviderError
from postroom.providers.imap.session import wire


def test_a_fetch_answer_with_literals_is_read_by_uid() -> None:
    answers = [
        (b"1 (UID 5 FLAGS (\\Seen $Forwarded) BODY[HEADER.FIELDS (DATE FROM)] {7}", b"Date: x"),
        (b" BODY[] {4}", b"a)b("),
        b")",
        b"2 (UID 6 RFC822.SIZE 44)",
        None,
    ]
    assert wire.read_fetches(answers) == {
        5: {"FLAGS": [b"\\Seen", b"$Forwarded"], "HEADERS": b"Date: x", "BODY[]": b"a)b("},
        6: {"RFC822.SIZE": b"44"},
    }


def test_announcements_without_a_uid_are_passed_over_and_later_facts_win() -> None:
    answers = [b"3 (FLAGS (\\Seen))", b"1 (UID 5 FLAGS ())", b"1 (UID 5 FLAGS (\\Flagged))"]
    assert wire.read_fetches(answers) == {5: {"FLAGS": [b"\\Flagged"]}}


@pytest.mark.parametrize("part", [b"<0>", b"<0.2048>"])  # hoodiecrow repeats the length, too
def test_partial_sections_are_named_without_their_offset(part: bytes) -> None:
    assert wire.read_fetches([(b"1 (UID 5 BODY[1]%s {2}" % part, b"ab"), b")"]) == {5: {"BODY[1]": b"ab"}}


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        (b'"a \\"quoted\\" \\\\ string" NIL nil', [b'a "quoted" \\ string', None, None]),
        (b'(("TEXT" "PLAIN") "MIXED") 12', [[[b"TEXT", b"PLAIN"], b"MIXED"], b"12"]),
        (b"((unclosed", [[[b"unclosed"]]]),
        (b"closed))) after", [b"closed", b"after"]),
        (b"", []),
    ],
)
def test_tokens_are_read_from(line: bytes, tokens: list[object]) -> None:
    assert wire.read_tokens([line]) == tokens


_PIECES = st.lists(st.sampled_from([b"1 (", b"UID ", b"5 ", b"x ", b"(", b")", b'"', b"\\", b"NIL ", b"BODY[", b"{3}"]))


@given(st.lists(st.one_of(_PIECES.map(b"".join), st.tuples(_PIECES.map(b"".join), st.binary()), st.none())))
def test_no_answer_however_broken_raises(answers: list[wire.Raw | None]) -> None:
    assert all(isinstance(uid, int) for uid in wire.read_fetches(answers))


def test_nesting_beyond_reason_is_bounded() -> None:
    assert wire.read_tokens([b"(" * 100_000 + b")" * 100_000])


@given(st.sets(st.integers(1, 2**32 - 1)))
def test_a_set_of_uids_is_read_back_as_it_was_written(uids: set[int]) -> None:
    assert wire.read_set(wire.as_set(uids)) == sorted(uids)


def test_consecutive_uids_become_a_range() -> None:
    assert wire.as_set([3, 1, 2, 9]) == b"1:3,9"


def test_copied_uids_are_paired_across_ranges() -> None:
    assert wire.read_copied([b"77 4:6,9 101:104"]) == (77, {4: 101, 5: 102, 6: 103, 9: 104})
    assert wire.read_copied([]) == (0, {})


def test_the_uid_of_an_appended_mail_is_found_in_the_answer() -> None:
    assert wire.read_appended(b"[APPENDUID 38505 3955] Append completed.") == (38505, 3955)
    assert wire.read_appended(b"Append completed.") is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (b" 1-Jun-2026 10:00:05 +0200", datetime(2026, 6, 1, 10, 0, 5, tzinfo=timezone(timedelta(hours=2)))),
        (b"17-jul-1996 02:44:25 -0730", datetime(1996, 7, 17, 2, 44, 25, tzinfo=timezone(-timedelta(hours=7.5)))),
        (b"31-Feb-2026 10:00:05 +0200", None),
        (b"yesterday", None),
        (None, None),
    ],
)
def test_internal_dates_are_aware_or_none(text: bytes | None, moment: datetime | None) -> None:
    assert wire.read_internal_date(text) == moment


@pytest.mark.parametrize("digits", [b"9" * 20, b"9" * 5_000])
def test_a_number_of_any_length_is_no_error(digits: bytes) -> None:
    """Python itself refuses to read more than 4,300 digits."""
    assert wire.read_fetches([b"1 (UID " + digits + b" FLAGS ())"]) == {}
    assert wire.number(digits) == 0
    assert wire.read_appended(b"[APPENDUID 1 " + digits + b"]") is None


def test_a_string_that_is_not_closed_goes_to_the_end() -> None:
    assert wire.read_tokens([b'(a "b c']) == [[b"a", b"b c"]]


def test_changes_during_idle_are_those_of_the_open_folder_and_of_folders_that_are_named() -> None:
    news = [(3, b"EXISTS"), (b"STATUS", b"Archive", [b"MESSAGES", 2]), (b"STATUS", 2026), (b"OK", b"Still here")]
    assert wire.changed_folders(news) == {b"", b"Archive", b"2026"}
    assert wire.changed_folders([(b"OK", b"Still here"), ()]) == set()


def test_a_server_that_stops_telling_is_not_waited_for() -> None:
    with pytest.raises(ProviderError):
        wire.changed_folders([(b"OK", b"[NOTIFICATIONOVERFLOW] too much")])


_NAMES = st.sampled_from(
    [b"UID", b"FLAGS", b"RFC822.SIZE", b"INTERNALDATE", b"EMAILID", b"BODY[]<0>", b"BODY[1]", b"X"]
)
_VALUES = st.one_of(
    st.integers(0, 2**64).map(lambda number: b"%d" % number),
    st.sampled_from([b'""', b'"01-Jan-2026 10:00:00 +0000"', b'"a \\" b"', b"NIL", b"M1", b"(M1)", b"()", b'("a")']),
    st.lists(st.sampled_from([b"\\Seen", b"NIL", b"nil", b"Nile", b"$Label1", b"[a", b"BODY[a", b"b]", b"{3}"])).map(
        lambda flags: b"(%s)" % b" ".join(flags)
    ),
)


# Nested lists are not among what is usual.
_UNUSUAL = b"ANY ((x)) "


def unusually(found: dict[int, wire.Item]) -> dict[int, wire.Item]:
    return {uid: {"ANY": [[b"x"]], **item} for uid, item in found.items()}


@given(st.lists(st.tuples(_NAMES, _VALUES), max_size=6), st.sampled_from([b"", b" ", b")", b" (X", b"(X)"]))
def test_usual_responses_are_read_as_any_other(pairs: list[tuple[bytes, bytes]], more: bytes) -> None:
    content = b" ".join(b"%s %s" % pair for pair in [(b"UID", b"5"), *pairs]) + more
    unusual = wire.read_fetches([b"1 (%s%s)" % (_UNUSUAL, content)])
    assert unusually(wire.read_fetches([b"1 (%s)" % content])) == unusual


@given(_NAMES, st.binary(max_size=20), st.sampled_from([b")", b" UID 6)", b" FLAGS ())", b"x)", b""]))
def test_a_message_alone_is_read_as_one_among_other_data(name: bytes, raw: bytes, end: bytes) -> None:
    content = b"UID 5 %s {%d}" % (name, len(raw))
    unusual = wire.read_fetches([(b"1 (%s%s" % (_UNUSUAL, content), raw), end])
    assert unusually(wire.read_fetches([(b"1 (%s" % content, raw), end])) == unusual


def test_a_long_name_is_read_but_not_kept() -> None:
    wire._usual_name.cache_clear()
    name = b"X" * 100_000
    assert wire.read_fetches([b"1 (UID 5 %s 7)" % name]) == {5: {name.decode(): b"7"}}
    assert wire._usual_name.cache_info().currsize == 1  # that of the UID
