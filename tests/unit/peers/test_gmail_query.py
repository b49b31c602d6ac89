"""The peer's own search language: what a query finds, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage

import pytest
from tests.peers.gmail_mail import Mail, read_mail
from tests.peers.gmail_query import LONGEST, BadQuery, parse_query

NOW = datetime.now(UTC)


def letter() -> Mail:
    message = EmailMessage()
    message["From"] = "Anna Müller <anna.mueller@docks.example>"
    message["To"], message["Cc"], message["Bcc"] = "me@demo.example", "books@demo.example", "hidden@demo.example"
    message["Subject"] = "Garden party 請求書をお送りします"
    message["Message-ID"] = "<party@seed.example>"
    message.set_content("Bring lemonade, the quick brown fox and C++ code_review notes.")
    message.add_alternative("<style>p {color: crimson}</style><p>Bring <b>marzipan</b></p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="invoice-4711.pdf")
    return replace(
        read_mail(message.as_bytes(), NOW - timedelta(days=40)),
        flags=frozenset({"\\seen", "\\flagged"}),
        labels=frozenset({"Muy Importante", "\\Important"}),
        folder="INBOX",
    )


@pytest.mark.parametrize(
    "query",
    [
        "",
        "lemonade",
        "LEMONADE",
        "garden lemonade",
        '"quick brown"',
        "marzipan",
        "code_review",
        "請求書",
        "nothing OR lemonade",
        "garden (nothing OR lemonade)",
        "{nothing lemonade}",
        "-nothing",
        "-(lemonade nothing)",
        "from:anna",
        "from:docks.example",
        "from:(anna müller)",
        'from:"Anna Müller"',
        "from:{nobody anna}",
        "to:me to:books to:hidden",
        "cc:books bcc:hidden",
        "subject:(garden party)",
        "has:attachment",
        "filename:pdf",
        "filename:4711",
        'filename:"invoice-4711.pdf"',
        "in:inbox",
        "in:anywhere",
        'label:"Muy Importante"',
        "is:read is:starred is:important",
        "larger:10 smaller:1M size:10",
        "older_than:30d newer_than:2m",
        pytest.param(f"after:{int((NOW - timedelta(days=41)).timestamp())}", id="after a moment"),
        "after:2020/01/01 newer:2020-01-01 before:2100/01/01 older:2100/1/1",
        "rfc822msgid:party@seed.example",
        "garden AND lemonade",
    ],
)
def test_the_query_finds_the_mail(query: str) -> None:
    assert parse_query(query)(letter())


@pytest.mark.parametrize(
    "query",
    [
        "lemon",  # a part of a word
        "emonade",
        "crimson",  # of the style sheet
        "review",  # an underscore joins
        '"brown quick"',
        '"party Bring"',  # from one field into the next
        "lemonade nothing",
        "-lemonade",
        "from:ann",
        "from:books",
        "cc:me",
        "subject:lemonade",
        "filename:47",
        "is:unread",
        "in:sent",
        "label:work",
        "larger:1M",
        "newer_than:30d",
        "older_than:1y",
        "rfc822msgid:other@seed.example",
        "発票",
    ],
)
def test_the_query_does_not_find_the_mail(query: str) -> None:
    assert not parse_query(query)(letter())


@pytest.mark.parametrize(
    "query",
    [
        '"never closed',
        "(a b",
        "a b)",
        "{a b)",
        "a OR",
        "OR a",
        "a OR )",
        "from:(to:b)",
        "colour:red",
        "is:purple",
        "has:wings",
        "larger:big",
        "older_than:soon",
        "after:yesterday",
        "x" * (LONGEST + 1),
    ],
)
def test_what_means_nothing_is_refused(query: str) -> None:
    with pytest.raises(BadQuery):
        parse_query(query)


@pytest.mark.parametrize(
    ("query", "is_found"), [("lemonade", False), ("lemonade in:anywhere", True), ("in:trash", True)]
)
def test_trash_is_searched_only_when_named(query: str, is_found: bool) -> None:
    binned = replace(letter(), folder="[Gmail]/Trash")
    assert parse_query(query)(binned) is is_found
