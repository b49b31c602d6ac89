"""The query language, applied to one mail."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.address import Address
from postroom.model.message import Envelope
from postroom.model.query.match import matches
from postroom.model.query.text import parse_query
from postroom.model.words import folded, words

MAIL = Envelope(
    ref="1",
    thread_ref="t",
    folder="Projects/Alpha",
    sender=Address("anna.mueller@example.org", "Anna Müller"),
    to=(Address("bob@example.com", "Bob"),),
    cc=(Address("cara@example.net"),),
    subject="Spring offer: three cafés",
    date=datetime(2026, 1, 31, 12, 0, tzinfo=UTC),
    unread=True,
    has_attachments=True,
    labels=("To do",),
    size=5000,
)
BODY = "The invoice for R&D is attached. Straße 12, Zürich."
FILES = ("Überblick 2026.PDF", "logo.png")


def found(query: str, mail: Envelope = MAIL) -> bool:
    return matches(parse_query(query, now=datetime(2026, 3, 1, tzinfo=UTC)).node, mail, BODY, FILES)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "invoice",
        "INVOICE",
        "zurich",
        "Zürich",
        "cafes",
        "straße",
        "strasse",
        "inv*",
        '"invoice for"',
        '"r d is"',
        "R&D",
        "anna",
        "anna.mueller@example.org",
        "bob",
        "spring",
        "invoice spring",
        "missing OR spring",
        "-missing",
        "-(missing OR absent)",
        "from:anna",
        "from:ANN",
        'from:"anna muller"',
        "from:example.org",
        "from:mueller@example",
        "to:bob",
        "cc:cara@example.net",
        "subject:offer",
        'subject:"spring offer"',
        "subject:CAFÉS",
        "has:attachment",
        "is:unread",
        "is:unstarred",
        "-is:draft",
        "-is:answered",
        "in:projects/alpha",
        'label:"TO DO"',
        "after:2026-01-31",
        "before:2026-02-01",
        "after:2026-01-31T13:00:00+01:00",
        "older_than:1w",
        "larger:4999",
        "smaller:5001",
        "filename:.pdf",
        "filename:uberblick",
        "in:anywhere",
    ],
)
def test_it_matches(query: str) -> None:
    assert found(query)


@pytest.mark.parametrize(
    "query",
    [
        "missing",
        "invoic",
        '"for invoice"',
        '"cafés anna"',
        "nvoice*",
        "invoice -spring",
        "from:bob",
        'from:"muller anna"',
        "from:anna@",
        "to:anna",
        "cc:bob",
        "subject:invoice",
        'subject:"offer spring"',
        "is:read",
        "is:starred",
        "is:draft",
        "in:INBOX",
        "label:do",
        "after:2026-02-01",
        "before:2026-01-31",
        "before:2026-01-31T12:00",
        "newer_than:1w",
        "larger:5000",
        "smaller:5000",
        "filename:docx",
    ],
)
def test_it_does_not_match(query: str) -> None:
    assert not found(query)


def test_a_mail_without_a_date_is_neither_before_nor_after() -> None:
    undated = replace(MAIL, date=None)
    assert not found("after:1990-01-01", undated)
    assert not found("before:2090-01-01", undated)


def test_dates_are_compared_as_moments() -> None:
    late = replace(MAIL, date=datetime(2026, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5))))
    assert found("after:2026-02-01", late)


def test_each_flag_is_read_from_the_mail() -> None:
    other = replace(MAIL, unread=False, starred=True, answered=True, draft=True, has_attachments=False)
    assert found("is:read is:starred is:answered is:draft -has:attachment", other)


def test_the_caller_decides_what_a_folder_name_means() -> None:
    node = parse_query("in:sent", now=datetime(2026, 1, 1, tzinfo=UTC)).node
    assert matches(node, MAIL, folder_matches=lambda name: name == "sent")
    assert not matches(node, MAIL, folder_matches=lambda name: False)


def test_blind_copies_are_found_by_their_words() -> None:
    assert found("dora", replace(MAIL, bcc=(Address("dora@example.net"),)))


def test_words_are_folded_one_rule_for_all() -> None:
    assert words("Ärger, ÉTÉ_2026 don't") == ["arger", "ete", "2026", "don", "t"]
    assert words("") == words(" ,;!") == []
    assert folded("Müller@EXAMPLE.org") == "muller@example.org"


# Scripts that mail is written in; the full-text tokenizer's own tables end with Unicode 6.1, and ß is no ss to it.
_LETTERS = st.characters(min_codepoint=0x20, max_codepoint=0x2AF, exclude_characters="Ǡǡß") | st.sampled_from(
    "άΣςώЙйёЖשלוםسلامहिन日本語カナ한국 ﬁ½²€„“—\u0301\u0308\u00ad\u200b🎉"
)


@given(st.text(_LETTERS, max_size=40))
def test_words_fall_as_in_the_full_text_index(text: str) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE mail USING fts5(body, tokenize='unicode61 remove_diacritics 2')")
    database.execute("CREATE VIRTUAL TABLE term USING fts5vocab(mail, 'instance')")
    database.execute("INSERT INTO mail VALUES (?)", (text,))
    indexed = [row[0] for row in database.execute("SELECT term FROM term ORDER BY offset")]
    database.close()
    assert words(text) == indexed
