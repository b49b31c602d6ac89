from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from postroom.index import folders, people, writing
from postroom.index.database import Database
from postroom.index.entry import Entry
from postroom.index.search import COUNTED, is_quick, newest, search
from postroom.model.address import Address
from postroom.model.errors import NotFound
from postroom.model.folder import Role
from postroom.model.query.tree import (
    After,
    And,
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

Add = Callable[..., str]
Make = Callable[..., Entry]


def found(index: sqlite3.Connection, node: Node | None, *, anywhere: bool = False) -> list[str]:
    page = search(index, Query(node, anywhere), limit=100, offset=0)
    assert page.total == len(page.items)
    return [envelope.ref for envelope in page.items]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The Invoice is due", "invoice"),
        ("Grüße aus Köln", "Koln"),
        ("café", "CAFE"),
        ("well-known: it's 12:30", "well-known"),
        ("well-known: it's 12:30", "12:30"),
        ("mail to bob@example.org today", "bob@example.org"),
        ("来週の請求書をお送りします", "請求書"),
        ("ミーティングの件", "ティング"),
        ("회의 일정을 보내드립니다", "일정"),
        ("发票已经寄出", "发票"),
        ("สวัสดีครับ", "สวัสดี"),
        ("ＡＢＣ株式会社", "abc"),
        ("ﾃｽﾄ", "テスト"),
        ("cafe\u0301", "café"),
    ],
)
def test_a_word_is_found_in_the_body_and_in_the_subject(
    index: sqlite3.Connection, add: Add, text: str, wanted: str
) -> None:
    body, subject = add(text), add(subject=text)
    add("something else entirely")
    assert found(index, Text(wanted)) == [subject, body]
    assert found(index, Subject(wanted)) == [subject]


def test_a_phrase_is_words_in_a_row(index: sqlite3.Connection, add: Add) -> None:
    right = add("please find attached the plan")
    add("attached please find")
    assert found(index, Text("find attached", phrase=True)) == [right]


def test_a_phrase_does_not_reach_from_a_name_into_an_address_or_the_next_person(
    index: sqlite3.Connection, add: Add
) -> None:
    add(to=(Address("bob@example.com", "Bob Stone"), Address("carol@example.com", "Carol")))
    assert found(index, Text("stone bob", phrase=True)) == []
    assert found(index, Text("com carol", phrase=True)) == []
    assert len(found(index, Text("bob stone", phrase=True))) == 1


@pytest.mark.parametrize("stem", ["i", "in", "inv", "invo", "invoic", "INVOICE"])
def test_a_prefix_finds_what_begins_with_it(index: sqlite3.Connection, add: Add, stem: str) -> None:
    right = add("two invoices")
    add("the convoy")
    assert found(index, Text(stem, prefix=True)) == [right]


@pytest.mark.parametrize("nonsense", ["!!!", "", "   ", "🎉", '"', "\0", "\ud800"])
def test_what_holds_no_word_is_found_nowhere(index: sqlite3.Connection, add: Add, nonsense: str) -> None:
    ref = add("words and !!! 🎉")
    assert found(index, Text(nonsense)) == []
    assert found(index, Not(Text(nonsense))) == [ref]


@pytest.mark.parametrize(
    "hostile",
    [
        '" OR "x',
        "body : x",
        "a NEAR b",
        "x AND NOT y",
        "state : \ue000",
        "\ue000",
        "\U000f0001",
        "'; DROP TABLE mail; --",
        "*",
        "^x",
        "(",
        "{a b}",
    ],
)
def test_the_words_of_a_query_are_never_taken_for_its_syntax(index: sqlite3.Connection, add: Add, hostile: str) -> None:
    add("ordinary")
    for node in (
        Text(hostile),
        Text(hostile, prefix=True),
        Subject(hostile),
        Correspondent("from", hostile),
        Label(hostile),
        Filename(hostile),
    ):
        assert found(index, node) == []


def test_text_with_our_own_tokens_in_it_changes_no_state(index: sqlite3.Connection, add: Add) -> None:
    add("\ue000 \ue002 \ue003 \U000f0002 \U00100001", subject="\U000f0002", starred=False, unread=False)
    assert found(index, Is("starred")) == found(index, Is("unread")) == found(index, In("Trash")) == []


def test_correspondents_are_found_by_any_part_of_name_or_address(index: sqlite3.Connection, add: Add) -> None:
    ref = add(sender=Address("Anna.Mueller@Example.com", "Änna Müller"), cc=(Address("max@other.org", "Max"),))
    for part in ("anna", "muller", "ÄNNA MÜ", "mueller@example", "@example.com", "nna", "ample"):
        assert found(index, Correspondent("from", part)) == [ref], part
    assert found(index, Correspondent("cc", "other.org")) == [ref]
    assert found(index, Correspondent("to", "anna")) == found(index, Correspondent("from", "max")) == []


def test_an_address_is_not_found_in_a_name_that_pretends_to_it(index: sqlite3.Connection, add: Add) -> None:
    add(sender=Address("mallory@evil.example", "boss@example.com"))
    assert found(index, Correspondent("from", "boss@example.com")) == []


def test_too_many_correspondents_for_the_full_text_are_found_all_the_same(index: sqlite3.Connection, add: Add) -> None:
    refs = [
        add("plan", sender=Address(f"p{number}@example.com", f"P{number}@x")) for number in range(people.MAX_PEOPLE + 6)
    ]
    other = add("plan", sender=Address("zoe@elsewhere.org"))
    assert found(index, Correspondent("from", "example.com")) == refs[::-1]
    assert found(index, And((Text("plan"), Correspondent("from", "@example")))) == refs[::-1]
    assert found(index, Correspondent("from", "@x")) == []
    assert found(index, Not(Correspondent("from", "example.com"))) == [other]
    assert found(index, Or((Correspondent("from", "example.com"), Text("plan")))) == [other, *refs[::-1]]


def test_flags_labels_and_attachments(index: sqlite3.Connection, add: Add) -> None:
    plain = add()
    full = add(
        filenames=("Rechnung März.PDF",), unread=True, starred=True, answered=True, draft=True, has_attachments=True,
        labels=("Später", "work"),
    )  # fmt: skip
    for node in (
        Is("unread"),
        Is("starred"),
        Is("answered"),
        Is("draft"),
        HasAttachment(),
        Label("SPÄTER"),
        Label("work"),
        Filename("märz"),
        Filename("marz.pdf"),
    ):
        assert found(index, node) == [full], node
        assert found(index, Not(node)) == [plain], node
    assert found(index, Is("read")) == found(index, Is("unstarred")) == [plain]
    assert found(index, Label("wor")) == found(index, Filename("xlsx")) == []


def test_sizes_are_compared_strictly(index: sqlite3.Connection, add: Add) -> None:
    small, large = add(size=100), add(size=200)
    assert found(index, Larger(100)) == [large]
    assert found(index, Smaller(200)) == [small]
    assert found(index, Larger(200)) == found(index, Smaller(100)) == []


def test_trash_and_junk_are_searched_only_when_asked_for(index: sqlite3.Connection, add: Add) -> None:
    kept, thrown = add("plan"), add("plan", folder="Trash")
    assert found(index, Text("plan")) == found(index, None) == [kept]
    assert found(index, And((Text("plan"), In("trash")))) == found(index, In("TRASH")) == [thrown]
    assert found(index, Text("plan"), anywhere=True) == found(index, None, anywhere=True) == [thrown, kept]
    assert found(index, And((Text("plan"), Not(In("inbox"))))) == [thrown]


def test_a_folder_is_found_by_name_role_or_either_in_any_case(index: sqlite3.Connection, add: Add) -> None:
    ref = add(folder="Projects/Aurora")
    assert found(index, In("projects/aurora")) == [ref]
    with pytest.raises(NotFound, match="list_folders"):
        found(index, In("Nowhere"))


def test_conditions_mix_freely(index: sqlite3.Connection, add: Add) -> None:
    a, b = add("alpha", size=10), add("beta", unread=True, size=20)
    c = add("alpha beta", size=30, filenames=("plan.pdf",))
    assert found(index, Or((Text("alpha"), Is("unread")))) == [c, b, a]
    assert found(index, And((Text("alpha"), Or((Larger(20), Text("beta")))))) == [c]
    assert found(index, Or((And((Text("alpha"), Not(Text("beta")))), Larger(25)))) == [c, a]
    assert found(index, Not(Or((Text("alpha"), Filename("plan"))))) == [b]
    assert found(index, Not(Not(Text("beta")))) == [c, b]
    assert found(index, And((Not(Text("alpha")), Not(Is("read"))))) == [b]
    assert found(index, And((After(datetime(2020, 1, 1, tzinfo=UTC)), Text("alpha")))) == [c, a]
    assert found(index, And((Not(Larger(15)), Not(Text("beta"))))) == [a]
    assert found(index, And(())) == [c, b, a]
    assert found(index, Or(())) == []


@pytest.mark.parametrize(
    "node", [None, In("INBOX"), Text("plan"), Is("unread"), Larger(0), And((Text("plan"), Larger(0)))]
)
def test_pages_tell_the_whole_number_and_whether_more_follow(
    index: sqlite3.Connection, add: Add, node: Node | None
) -> None:
    refs = [add("plan", unread=True, size=1) for _ in range(7)][::-1]
    seen: list[str] = []
    for offset in (0, 3, 6):
        page = search(index, Query(node), limit=3, offset=offset)
        assert (page.total, page.limit, page.offset) == (7, 3, offset)
        assert page.has_more == (offset < 6)
        seen += [envelope.ref for envelope in page.items]
    assert seen == refs
    beyond = search(index, Query(node), limit=3, offset=50)
    assert (beyond.items, beyond.total, beyond.has_more) == ((), 7, False)


def test_matches_are_counted_up_to_a_bound_and_paged_beyond_it(
    index: sqlite3.Connection, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.index.search.COUNTED", 5)
    refs = [add("plan") for _ in range(7)][::-1]
    pages = [search(index, Query(Text("plan")), limit=3, offset=offset) for offset in (0, 3, 6)]

    assert [page.total for page in pages] == [None, None, 7]
    assert [page.has_more for page in pages] == [True, True, False]
    assert [envelope.ref for page in pages for envelope in page.items] == refs
    assert search(index, Query(), limit=3, offset=0).total == 7, "a folder's count is known"
    by_age = {ref: age for age, ref in enumerate(refs)}
    assert newest(index, Query(Text("plan")), 3, lambda _: by_age) == (refs[:3], None)


def test_an_envelope_comes_back_as_it_went_in(index: sqlite3.Connection, entry: Callable[..., object]) -> None:
    made = entry(
        to=(Address("bob@example.com", "Bob"),),
        cc=(Address("c@example.com"),),
        bcc=(Address("d@example.com", "日本"),),
        reply_to=(Address("e@example.com"),),
        subject="Subject",
        snippet="First words",
        starred=True,
        has_attachments=True,
        labels=("a", "b"),
        size=12,
        message_id="<1@x>",
        in_reply_to="<0@x>",
        references=("<-1@x>", "<0@x>"),
    )
    writing.add(index, [made])  # type: ignore[list-item]
    (got,) = search(index, Query(), limit=1, offset=0).items
    expected = made.envelope  # type: ignore[attr-defined]
    assert {**_fields(expected), "thread_ref": got.thread_ref} == _fields(got)
    assert got.date.isoformat() == expected.date.isoformat()


def test_broken_characters_are_stored_and_found(index: sqlite3.Connection, add: Add) -> None:
    ref = add("half \udc80 of \0 it", subject="sub\0ject \ud83d", sender=Address("a\udcff@x.org", "\ud800"))
    assert found(index, Text("half")) == found(index, Correspondent("from", "x.org")) == [ref]


def _fields(envelope: object) -> dict[str, object]:
    return {name: getattr(envelope, name) for name in envelope.__slots__}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("node", "offset", "expected"),
    [
        (In("INBOX"), 0, True),
        (In("INBOX"), COUNTED + 1, False),
        (Text("word"), 0, True),
        (Text("two words"), 0, False),
        (Text("請求書"), 0, False),
        (Text("wor", prefix=True), 0, False),
        (Subject("word"), 0, True),
        (Larger(1), 0, False),
        (And((In("INBOX"), Is("unread"))), 0, False),
        (Not(Text("word")), 0, False),
        (None, 0, False),
    ],
)
def test_only_what_reads_little_more_than_its_page_is_quick(node: Node | None, offset: int, expected: bool) -> None:
    assert is_quick(Query(node), offset) is expected


def test_a_thread_may_be_named_by_its_first_message_id(index: sqlite3.Connection, add: Add) -> None:
    headers: list[tuple[dict[str, object], str]] = [
        ({"references": ("<a@x>", "<b@x>"), "in_reply_to": "<b@x>", "message_id": "<c@x>"}, "<a@x>"),
        ({"in_reply_to": "<b@x>", "message_id": "<d@x>"}, "<b@x>"),
        ({"message_id": "<e@x>"}, "<e@x>"),
    ]
    names = [name for _, name in headers]
    for fields, _ in headers:
        add(**fields)
    alone = add()
    page = search(index, Query(), limit=10, offset=0, by_headers=True)
    assert [envelope.thread_ref for envelope in page.items] == [alone, *reversed(names)]


def test_the_pages_of_a_search_are_counted_once_and_anew_after_a_change(database: Database, entry: Make) -> None:
    with database.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        writing.add(connection, [entry("word") for _ in range(5)])
    statements: list[str] = []
    with database.read() as connection:
        connection.set_trace_callback(statements.append)

    def total(offset: int) -> int | None:
        with database.snapshot() as connection:
            return search(connection, Query(Text("word")), limit=1, offset=offset).total

    assert [total(offset) for offset in range(3)] == [5, 5, 5]
    assert sum("count(*)" in statement for statement in statements) == 1
    with database.transaction() as connection:
        writing.add(connection, [entry("word")])
    assert total(0) == 6


@pytest.mark.parametrize(
    "query",
    [Query(In("INBOX")), Query(Text("word")), Query(Or((Larger(0), Text("none")))), Query(Is("unread"))],
    ids=["folder", "word", "either", "flag"],
)
@pytest.mark.parametrize("is_ranked", [True, False], ids=["ranked", "as added"])
def test_pages_are_the_same_in_whatever_order_they_are_turned(
    database: Database, entry: Make, query: Query, is_ranked: bool
) -> None:
    """Within a snapshot a search goes on from where its last page was."""
    with database.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        writing.add(connection, [entry("word", unread=True, size=1, date=_shared(n)) for n in range(40)])

    def page(offset: int, limit: int) -> list[str]:
        with database.snapshot() as connection:
            found = search(connection, query, limit=limit, offset=offset, rank=_by_ref if is_ranked else None)
        assert (found.total, found.has_more) == (40, offset + limit < 40)
        return [envelope.ref for envelope in found.items]

    def anew(offset: int, limit: int) -> list[str]:
        database.close()
        database.open()
        return page(offset, limit)

    whole = anew(0, 40)
    turned = [(start, 5) for start in range(0, 45, 5)]
    jumping = [(30, 3), (28, 3), (29, 8), (0, 2), (39, 5), (17, 1), (16, 1), (40, 5), (22, 18), (1, 1)]
    assert len(set(whole)) == 40
    for offset, limit in [*turned, *reversed(turned), *jumping]:
        assert page(offset, limit) == whole[offset : offset + limit]
    for offset, limit in jumping:
        assert anew(offset, limit) == whole[offset : offset + limit]


def test_turning_a_page_does_not_pass_over_those_before_it_again(database: Database, entry: Make) -> None:
    with database.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        writing.add(connection, [entry("word") for _ in range(30)])
    statements: list[str] = []
    with database.read() as connection:
        connection.set_trace_callback(statements.append)

    def skipped(offset: int) -> str:
        statements.clear()
        with database.snapshot() as connection:
            search(connection, Query(Text("word")), limit=10, offset=offset)
        return next(said.rpartition("OFFSET ")[2] for said in reversed(statements) if "FROM words CROSS" in said)

    assert [skipped(offset) for offset in (0, 10, 20)] == ["0", "1", "1"]
    with database.transaction() as connection:
        writing.add(connection, [entry("word")])
    assert skipped(20) == "20"


def _shared(number: int) -> datetime:
    """Three messages in each second."""
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number // 3)


def _by_ref(refs: Sequence[str]) -> dict[str, str]:
    return {ref: ref for ref in refs}
