"""The whole query language on every provider. One mailbox, one table: what is asked, which mails answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from postroom.model.query.text import parse_query
from postroom.model.query.tree import (
    After,
    Before,
    Correspondent,
    Filename,
    HasAttachment,
    Is,
    Label,
    Larger,
    Leaf,
    Query,
    Smaller,
    Subject,
    Text,
)

from .mails import NOW, PDF, mail, searched
from .rigs import Rig, RigAccount, SeedMail

MAILS = {
    "invoice": SeedMail(
        mail(
            "invoice",
            subject="Invoice 4711 for the harbour works",
            text="The quick brown fox signed the contract in March.",
            sender="Anna Müller <anna@docks.example>",
            to="me@demo.example",
            cc="books@demo.example",
            days_ago=3,
            files=[("invoice-4711.pdf", PDF)],
        ),
    ),
    "reminder": SeedMail(
        mail(
            "reminder",
            subject="Reminder: rent",
            text="A brown dog and a quick cat. The invoice is overdue.",
            sender="Landlord <rent@houses.example>",
            days_ago=10,
        ),
        flags=("read",),
    ),
    "party": SeedMail(
        mail(
            "party",
            subject="Garden party",
            text="Bring lemonade and a contract bridge deck.",
            sender="Ben Okafor <ben@friends.example>",
            to="me@demo.example, Anna Müller <anna@docks.example>",
            days_ago=40,
        ),
        flags=("read", "starred"),
    ),
    "umlaut": SeedMail(
        mail(
            "umlaut",
            subject="Grüße aus Köln",
            text="Wir treffen uns in der Straßenbahn, liebe Grüße.",
            sender="Jürgen Weiß <juergen@friends.example>",
            days_ago=60,
        ),
        flags=("read",),
    ),
    "japanese": SeedMail(
        mail(
            "japanese",
            subject="請求書をお送りします",
            text="いつもお世話になっております。会議の資料を確認してください。",
            sender="田中太郎 <tanaka@kaisha.example>",
            days_ago=80,
        ),
        flags=("read", "answered"),
    ),
    "heavy": SeedMail(
        mail(
            "heavy",
            subject="Photos",
            text="From the mountains.",
            sender="Ben Okafor <ben@friends.example>",
            days_ago=200,
            files=[("summit.png", b"\x89PNG" + bytes(300_000)), ("Übersicht.csv", b"a,b\n")],
        ),
        flags=("read",),
    ),
    "sent": SeedMail(
        mail(
            "sent",
            subject="Question about the lease",
            text="Could you send the lease again?",
            sender="me@demo.example",
            to="rent@houses.example",
            days_ago=5,
        ),
        folder="sent",
        flags=("read",),
    ),
    "archived": SeedMail(
        mail("archived", subject="Old newsletter", text="Weekly digest of the harbour.", days_ago=400),
        folder="archive",
        flags=("read",),
    ),
    "binned": SeedMail(
        mail("binned", subject="Cheap contract", text="Quick money for the harbour.", days_ago=2),
        folder="trash",
        flags=("read",),
    ),
}

SEARCHES = [
    ("", "invoice sent reminder party umlaut japanese heavy archived"),
    ("lemonade", "party"),
    ("LEMONADE", "party"),
    ("harbour", "invoice archived"),
    ("nosuchwordanywhere", ""),
    ("contract", "invoice party"),
    ("contract lemonade", "party"),
    ('"quick brown"', "invoice"),
    ('"brown quick"', ""),
    ("lemonade OR overdue", "reminder party"),
    ("contract -lemonade", "invoice"),
    ("(lemonade OR overdue) is:starred", "party"),
    ("-harbour is:read", "sent reminder party umlaut japanese heavy"),
    ("overd*", "reminder"),
    ("from:anna@docks.example", "invoice"),
    ("from:Müller", "invoice"),
    ('from:"Anna Müller"', "invoice"),
    ("from:friends.example", "party umlaut heavy archived"),
    ("to:rent@houses.example", "sent"),
    ("to:anna", "party"),
    ("cc:books@demo.example", "invoice"),
    ("subject:rent", "reminder"),
    ('subject:"garden party"', "party"),
    ("subject:contract", ""),
    ("has:attachment", "invoice heavy"),
    ("-has:attachment from:ben", "party"),
    ("is:unread", "invoice"),
    ("is:read has:attachment", "heavy"),
    ("is:starred", "party"),
    ("is:unstarred from:ben", "heavy"),
    ("is:answered", "japanese"),
    ("in:inbox from:ben", "party heavy"),
    ("in:sent", "sent"),
    ("in:archive", "archived"),
    ("in:trash", "binned"),
    ("in:trash harbour", "binned"),
    ("after:2026-06-11", "invoice"),
    ("before:2026-06-06", "reminder party umlaut japanese heavy archived"),
    ("after:2026-06-05 before:2026-06-11", "sent reminder"),
    ("after:2026-04-10 before:2026-05-10", "party umlaut"),
    ("newer_than:7d", "invoice sent"),
    ("older_than:6m", "heavy archived"),
    ("older_than:1y", "archived"),
    ("larger:200K", "heavy"),
    ("smaller:200K has:attachment", "invoice"),
    ("filename:summit", "heavy"),
    ("filename:4711", "invoice"),
    ("filename:Übersicht", "heavy"),
    ("Grüße", "umlaut"),
    ("GRÜSSE OR köln", "umlaut"),
    ("straßenbahn", "umlaut"),
    ("請求書", "japanese"),
    ("会議", "japanese"),
    ("資料を確認", "japanese"),
    ("発票", ""),
    ("subject:請求書", "japanese"),
    ("from:田中", "japanese"),
    ("from:ben newer_than:90d -is:unread subject:party", "party"),
]

_FIELDS: dict[type, str] = {
    Correspondent: "",
    Subject: "subject",
    HasAttachment: "has",
    Label: "label",
    After: "after",
    Before: "before",
    Larger: "larger",
    Smaller: "smaller",
    Filename: "filename",
    Text: "text",
}


def field_of(leaf: Leaf) -> str:
    """The query language's word for a condition, as `search_not_applied` and `Page.not_applied` spell it."""
    if isinstance(leaf, Correspondent):
        return leaf.field
    return "is" if isinstance(leaf, Is) else _FIELDS.get(type(leaf), "in")


def beyond(query: Query, account: RigAccount) -> set[str]:
    return {field_of(leaf) for leaf in query.leaves()} & set(account.capabilities.search_not_applied)


@dataclass(frozen=True)
class Library:
    """The table's mails in an account of their own, which no test changes. `names` has them by ref."""

    account: RigAccount
    names: dict[str, str]


@pytest.fixture(scope="module")
async def library(rig_class: type[Rig], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    rig = rig_class(tmp_path_factory.mktemp("library"))
    account = await rig.make_account()
    refs = await rig.seed(list(MAILS.values()))
    await rig.settle()
    yield Library(account, dict(zip(refs, MAILS, strict=True)))
    await rig.close()


@pytest.mark.parametrize(("text", "expected"), SEARCHES, ids=[text or "everything" for text, _ in SEARCHES])
async def test_the_query(library: Library, text: str, expected: str) -> None:
    page = await searched(library.account, text)
    missing = beyond(parse_query(text, now=NOW), library.account)
    assert set(page.not_applied) == missing
    if not missing:
        assert [library.names[row.ref] for row in page.items] == expected.split()
        assert page.total in (len(expected.split()), None)


async def test_a_message_of_the_very_moment_is_not_before_it(rig: Rig, account: RigAccount) -> None:
    """Of 1 June, 00:00:00."""
    await rig.seed([SeedMail(mail("midnight", days_ago=14.5))])
    await rig.settle()
    for query, is_found in (("after:2026-06-01", True), ("before:2026-06-01", False), ("-before:2026-06-01", True)):
        assert bool((await searched(account, query)).items) is is_found, query


@pytest.mark.needs("can_label")
async def test_label_finds_exactly_the_labelled(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed(
        [
            SeedMail(mail("red"), labels=("red",)),
            SeedMail(mail("both", days_ago=2), labels=("red", "blue")),
            SeedMail(mail("none", days_ago=3)),
        ]
    )
    await rig.settle()
    assert [row.ref for row in (await searched(account, "label:red")).items] == refs[:2]
    assert [row.ref for row in (await searched(account, "label:red -label:blue")).items] == refs[:1]


@pytest.mark.needs("can_draft")
async def test_drafts_are_found_by_their_flag(rig: Rig, account: RigAccount) -> None:
    await rig.seed([SeedMail(mail("ordinary"))])
    draft = await account.mailbox.create_draft(mail("unsent", subject="Unsent"))  # type: ignore[attr-defined]
    await rig.settle()
    assert [row.ref for row in (await searched(account, "is:draft")).items] == [draft.message_ref]


@pytest.mark.parametrize(
    "text", ['"', "'; DROP TABLE mails; --", '"a"" b"', "NEAR(a b)", "a AND b", "*", "%_%", "ünï\u0000x", "🎉", "((a))"]
)
async def test_odd_text_is_searched_or_refused_but_never_breaks_the_mailbox(library: Library, text: str) -> None:
    query = Query(Text(text))
    page = await library.account.mailbox.search(query, limit=10, offset=0)
    assert page.limit == 10
    assert len((await searched(library.account, "")).items) == 8
