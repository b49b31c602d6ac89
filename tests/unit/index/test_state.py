"""The full text after any number of changes says the same as the mails themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroom.index import folders, labels, placing, writing
from postroom.index.database import Database
from postroom.index.entry import Entry
from postroom.index.rows import envelopes
from postroom.index.schema import INDEX_TABLES, Schema
from postroom.index.search import search
from postroom.model.address import Address
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.folder import Role, match_folder
from postroom.model.message import Envelope
from postroom.model.query.match import matches
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

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ["alpha", "Alphabet", "Äther", "beta", "be-ta", "gamma", "x1"]
FOLDERS = ["INBOX", "Trash", "Work"]
LABELS = ["red", "Blue", "grün"]
PEOPLE = [
    Address("ann@a.org", "Ann Lee"),
    Address("bob@b.org", "Böb"),
    Address("lee@a.org"),
    Address("x@y.z", "ann@a.org"),
]

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
people = st.lists(st.sampled_from(PEOPLE), max_size=2).map(tuple)
moments = st.integers(0, 5).map(lambda hours: START + timedelta(hours=hours))
refs = st.lists(st.integers(0, 7).map(str), max_size=4)

places = st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=3, unique=True)

mails = st.builds(
    lambda body, names, lies_in, **fields: Entry(
        Envelope(ref="", thread_ref="", folder=lies_in[0], other_folders=tuple(lies_in[1:]), **fields), body, names
    ),
    body=texts,
    names=st.lists(st.sampled_from(["Plan.pdf", "äpfel.txt"]), max_size=1).map(tuple),
    lies_in=places,
    sender=st.sampled_from(PEOPLE),
    to=people,
    cc=people,
    bcc=people,
    subject=texts,
    date=st.none() | moments,
    unread=st.booleans(),
    starred=st.booleans(),
    answered=st.booleans(),
    draft=st.booleans(),
    has_attachments=st.booleans(),
    labels=st.lists(st.sampled_from(LABELS), unique=True, max_size=2).map(tuple),
    size=st.integers(0, 3),
)

leaves: st.SearchStrategy[Node] = st.one_of(
    st.builds(Text, texts, prefix=st.booleans()),
    st.builds(Text, st.sampled_from(["al", "b", "ath"]), prefix=st.just(True)),
    st.builds(Subject, st.sampled_from(WORDS)),
    st.builds(
        Correspondent,
        st.sampled_from(["from", "to", "cc"]),
        st.sampled_from(["ann", "LEE", "@a.org", "bob@b", "o", "ann@a.org"]),
    ),
    st.builds(Is, st.sampled_from(["unread", "read", "starred", "unstarred", "draft", "answered"])),
    st.builds(In, st.sampled_from(["inbox", "Trash", "work"])),
    st.builds(Label, st.sampled_from(["RED", "blue", "grün", "none"])),
    st.builds(HasAttachment),
    st.builds(After, moments),
    st.builds(Before, moments),
    st.builds(Larger, st.integers(0, 3)),
    st.builds(Smaller, st.integers(0, 3)),
    st.builds(Filename, st.sampled_from(["plan", "apfel", "."])),
)
nodes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)
changes = st.one_of(
    st.tuples(st.just("move"), refs, st.sampled_from(FOLDERS)),
    st.tuples(st.just("put"), refs, places),
    st.tuples(st.just("flag"), refs, st.sampled_from(["unread", "read", "starred", "unstarred", "answered"])),
    st.tuples(st.just("label"), refs, st.sampled_from(LABELS)),
    st.tuples(st.just("unlabel"), refs, st.sampled_from(LABELS)),
    st.tuples(st.just("remove"), refs, st.just("")),
    st.tuples(st.just("replace"), refs, mails),
)


@settings(max_examples=150)
@given(st.lists(mails, max_size=8), st.lists(changes, max_size=6), st.lists(nodes, min_size=1, max_size=6))
def test_a_search_finds_exactly_the_mails_that_match(
    entries: list[Entry], steps: list[tuple], asked: list[Node]
) -> None:
    with TemporaryDirectory() as folder:
        database = Database(Path(folder) / "mail.db", Schema((INDEX_TABLES,)))
        database.open()
        kept = _fill(database, entries)
        for step in steps:
            with database.transaction() as connection:
                _change(connection, kept, *step)
        with database.snapshot() as connection:
            for node in asked:
                _check(connection, kept, Query(node))
        with database.transaction() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
            writing.remove(connection, list(kept))
            connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
            assert [f.total for f in folders.list_folders(connection)] == [0, 0, 0]
        database.close()


def _fill(database: Database, entries: list[Entry]) -> dict[str, Entry]:
    kept = {str(n): replace(e, envelope=replace(e.envelope, ref=str(n))) for n, e in enumerate(entries)}
    with database.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        folders.add_folder(connection, "Trash", role=Role.TRASH)
        folders.add_folder(connection, "Work")
        writing.add(connection, list(kept.values()))
    return kept


def _change(connection: sqlite3.Connection, kept: dict[str, Entry], what: str, refs: list[str], value: object) -> None:
    """The same change to the index and to the mails as they should be."""
    there = [ref for ref in refs if ref in kept]
    if what == "remove":
        writing.remove(connection, refs)
        for ref in there:
            kept.pop(ref, None)
    elif what == "replace":
        for ref in dict.fromkeys(there):
            kept[ref] = replace(value, envelope=replace(value.envelope, ref=ref))  # type: ignore[type-var,attr-defined]
            writing.replace(connection, kept[ref])
    else:
        _organise(connection, kept, what, refs, value)


def _organise(
    connection: sqlite3.Connection, kept: dict[str, Entry], what: str, refs: list[str], value: object
) -> None:
    verbs = {
        "move": placing.move,
        "put": placing.put,
        "label": writing.apply_label,
        "unlabel": writing.remove_label,
        "flag": lambda connection, refs, value: writing.set_flags(connection, refs, [value]),
    }
    results = verbs[what](connection, refs, value)
    assert [result.ok for result in results] == [ref in kept for ref in refs]
    for ref in refs:
        if ref in kept:
            old = kept[ref].envelope
            kept[ref] = replace(kept[ref], envelope=replace(old, **_fields(old, what, value)))


def _fields(old: Envelope, what: str, value: object) -> dict[str, object]:
    if what == "put":
        return {"folder": value[0], "other_folders": tuple(value[1:])}  # type: ignore[index]
    if what == "move":
        kept = () if value == "Trash" else tuple(name for name in old.other_folders if name != value)
        return {"folder": value, "other_folders": kept}
    if what == "flag":
        column = {"read": "unread", "unstarred": "starred"}.get(str(value), str(value))
        return {column: column == value}
    others = tuple(name for name in old.labels if name != value)
    return {"labels": (*others, value) if what == "label" else others}


def _check(connection: sqlite3.Connection, kept: dict[str, Entry], query: Query) -> None:
    places = folders.list_folders(connection)

    def is_wanted(entry: Entry) -> bool:
        def lies_in(name: str) -> bool:
            place = match_folder(places, name)
            return place is not None and place.name in entry.envelope.folders

        if not query.names_folder and "Trash" in entry.envelope.folders:
            return False
        return matches(query.node, entry.envelope, entry.body, entry.filenames, folder_matches=lies_in)

    expected = {ref for ref, entry in kept.items() if is_wanted(entry)}
    page = search(connection, query, limit=3, offset=0)
    everything = search(connection, query, limit=100, offset=0)
    assert {envelope.ref for envelope in everything.items} == expected
    assert everything.items[:3] == page.items
    assert page.total == everything.total == len(expected)
    for envelope in everything.items:
        assert set(envelope.labels) == set(kept[envelope.ref].envelope.labels)
        assert envelope.folder == kept[envelope.ref].envelope.folder
        assert set(envelope.folders) == set(kept[envelope.ref].envelope.folders)
    for place in places:
        here = [entry.envelope for entry in kept.values() if place.name in entry.envelope.folders]
        assert (place.total, place.unread) == (len(here), sum(envelope.unread for envelope in here))


def test_what_is_gone_is_told_apart_from_what_was_done(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    ref = add(unread=True)
    results = writing.set_flags(index, [ref, "nope", ref, "\udc80"], ["read"])
    assert [(result.ref, result.ok) for result in results] == [
        (ref, True),
        ("nope", False),
        (ref, True),
        ("\udc80", False),
    ]
    assert isinstance(results[1].error, NotFound)
    (envelope,) = envelopes(index, [ref])
    assert envelope is not None
    assert not envelope.unread


def test_a_thousand_mails_are_changed_at_once(index: sqlite3.Connection, entry: Callable[..., Entry]) -> None:
    made = [entry("plan") for _ in range(1000)]
    writing.add(index, made)
    every = [one.envelope.ref for one in made]
    assert all(result.ok for result in placing.move(index, every, "Trash"))
    assert search(index, Query(And((Text("plan"), In("Trash")))), limit=1, offset=0).total == 1000


def test_a_flag_that_cannot_be_set_is_refused_before_anything_changes(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    ref = add()
    with pytest.raises(InvalidRequest, match="cannot be set"):
        writing.set_flags(index, [ref], ["starred", "draft"])
    assert search(index, Query(Is("starred")), limit=1, offset=0).total == 0


def test_moving_to_a_folder_that_is_not_there_changes_nothing(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    ref = add()
    with pytest.raises(NotFound):
        placing.move(index, [ref], "Nowhere")
    assert search(index, Query(In("INBOX")), limit=1, offset=0).total == 1


def test_a_mail_for_a_folder_that_is_not_there_is_refused(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    with pytest.raises(NotFound):
        add(folder="Nowhere")


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 101, "a\u200bb"])
def test_a_label_that_is_no_name_is_refused(index: sqlite3.Connection, add: Callable[..., str], name: str) -> None:
    ref = add()
    with pytest.raises(InvalidRequest, match="label"):
        writing.apply_label(index, [ref], name)
    assert labels.list_labels(index) == []


def test_a_label_keeps_its_first_spelling(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    one, two = add(), add()
    writing.apply_label(index, [one], "Später")
    writing.apply_label(index, [two], "SPÄTER")
    assert labels.list_labels(index) == ["Später"]
    assert [e.labels for e in envelopes(index, [one, two]) if e] == [("Später",), ("Später",)]
    writing.remove_label(index, [one], "später")
    assert search(index, Query(Label("Später")), limit=5, offset=0).total == 1


def test_counts_follow_every_change(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    def inbox() -> tuple[int | None, int | None]:
        folder = match_folder(folders.list_folders(index), "inbox")
        assert folder is not None
        return folder.total, folder.unread

    one, two = add(unread=True), add(unread=False)
    assert inbox() == (2, 1)
    writing.set_flags(index, [one, two], ["read"])
    assert inbox() == (2, 0)
    writing.set_flags(index, [two], ["unread"])
    placing.move(index, [two], "Trash")
    assert inbox() == (1, 0)
    writing.remove(index, [one])
    assert inbox() == (0, 0)
