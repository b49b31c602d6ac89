"""The same messages in a mailbox at Graph and in an embedded one: every query finds the same in both."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import NOW, mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

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
    Leaf,
    Node,
    Not,
    Or,
    Query,
    Smaller,
    Subject,
    Text,
)
from postroom.providers.context import ProviderContext
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import LocalAccount

SUBJECTS = [
    "Parcel for you",
    "Garden party",
    "Grüße aus Köln",
    "請求書をお送りします",
    "O'Brien & Sons",
    "Plan: (draft)",
]
TEXTS = ["A parcel for O'Brien.", "quick brown fox", "brown quick fox", "会議の資料を確認", "AND the OR, NOT near"]
PEOPLE = ["Ada King <ada@x.example>", "Jürgen Weiß <juergen@friends.example>", '"Smith, Bob" <bob+tag@x.example>']
FILES: list[list[tuple[str, bytes]]] = [[], [], [("plan-b.pdf", b"%PDF")], [("Übersicht.csv", b"x" * 4000)]]
FOLDERS = {"inbox": "inbox", "sent": "sentitems", "archive": "archive", "trash": "deleteditems", "junk": "junkemail"}
LABELS = ["red", "it's", "東京"]
WORDS = [
    "parcel",
    "quick brown",
    "fox",
    "Grüße",
    "請求書",
    "資料を確認",
    "O'Brien",
    "AND",
    "not",
    "ada",
    "x.example",
    "*",
    '"',
    "a:b",
]
WHO = ["ada", "Ada King", "ada@x.example", "friends.example", "jürgen", "bob+tag@x.example", "Smith, Bob"]


def leaf(chance: random.Random) -> Leaf:
    pick, when = chance.choice, NOW - timedelta(days=chance.choice([1, 20, 60]), seconds=chance.randrange(3))
    return pick(
        [
            Text(pick(WORDS), phrase=pick([True, False])),
            Text(pick(["parc", "qui", "Grü", "pla"]), prefix=True),
            Subject(pick(WORDS)),
            Correspondent(pick(["from", "to", "cc"]), pick(WHO)),
            HasAttachment(),
            Is(pick(["unread", "read", "starred", "unstarred", "answered"])),
            In(pick([*FOLDERS])),
            Label(pick([*LABELS, "RED", "none"])),
            After(when),
            Before(when),
            pick([Larger, Smaller])(pick([500, 1000, 3000])),
            Filename(pick(["plan-b.pdf", "plan", "Übersicht"])),
        ]
    )


def node(chance: random.Random, depth: int = 0) -> Node:
    roll = chance.random()
    if depth == 3 or roll < 0.45:
        return leaf(chance)
    if roll < 0.6:
        return Not(node(chance, depth + 1))
    return (And if roll < 0.85 else Or)(tuple(node(chance, depth + 1) for _ in range(chance.choice([2, 3]))))


def some_mail(chance: random.Random, number: int) -> dict[str, Any]:
    pick = chance.choice
    raw = mail(
        str(number),
        subject=pick(SUBJECTS),
        text=f"{pick(TEXTS)} {pick(TEXTS)}",
        sender=pick(PEOPLE),
        to=pick(PEOPLE),
        cc=pick(["", *PEOPLE]),
        days_ago=chance.randrange(80),
        files=pick(FILES),
    )
    flags = tuple(flag for flag in ("read", "starred", "answered") if chance.random() < 0.3)
    labels = tuple(label for label in LABELS if chance.random() < 0.2)
    return {"raw": raw, "folder": pick([*FOLDERS]), "flags": flags, "labels": labels}


def deliver(graph: FakeGraph, user: Mailbox, given: dict[str, Any]) -> None:
    graph.deliver(
        user,
        given["raw"],
        FOLDERS[given["folder"]],
        is_read="read" in given["flags"],
        flag="flagged" if "starred" in given["flags"] else "notFlagged",
        categories=list(given["labels"]),
        properties={"Integer 0x1081": "102"} if "answered" in given["flags"] else {},
    )


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_query_finds_the_same_as_in_the_embedded_mailbox(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    account = LocalAccount(name="mine", address="me@demo.example", path=tmp_path / "mine.db")
    local = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
    await local.connect()
    mails = [some_mail(chance, number) for number in range(40)]
    await local.add_messages(NewMail(one["raw"], one["folder"], one["flags"], one["labels"]) for one in mails)
    for one in mails:
        deliver(graph, alice, one)
    for _ in range(60):
        query = Query(node(chance), anywhere=chance.random() < 0.2)
        pages = [await each.search(query, limit=50, offset=0) for each in (mailbox, local)]
        found, expected = ({row.message_id for row in page.items} for page in pages)
        assert found == expected, query
    await local.close()
