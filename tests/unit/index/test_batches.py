"""Messages that are added together are there as if they had been added one by one, in any order of links and dates."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.index.conftest import NOON, SCHEMA

from postroom.index import folders, writing
from postroom.index.database import Database
from postroom.index.entry import Entry, texts_of
from postroom.index.search import search
from postroom.index.threads import thread_envelopes
from postroom.index.words import normal
from postroom.model.address import Address
from postroom.model.message import Envelope
from postroom.model.query.tree import Query, Text

LABELS = ("Blue", "blue", "Ünique", "red")


def strangers(chance: random.Random, count: int) -> list[Entry]:
    """Few ids and few seconds, so that everything collides."""
    ids = ["", *(f"<{number}@x>" for number in range(count))]
    return [_stranger(chance, number, ids) for number in range(count)]


def _stranger(chance: random.Random, number: int, ids: Sequence[str]) -> Entry:
    some = chance.choice((2, 5, 20, len(ids)))
    envelope = Envelope(
        ref=f"r{number}",
        thread_ref="",
        folder=chance.choice(("INBOX", "Trash")),
        sender=Address(f"p{chance.randrange(5)}@example.com", chance.choice(("", "Anna", "anna"))),
        date=chance.choice((None, NOON + timedelta(seconds=chance.randrange(-3, 3), milliseconds=500))),
        message_id=chance.choice(ids[:some]),
        in_reply_to=chance.choice(ids[-some:]),
        references=tuple(chance.choices(ids, k=chance.choice((0, 0, 1, 3)))),
        labels=tuple(chance.sample(LABELS, chance.randrange(3))),
        forwarded=chance.random() < 0.2,
    )
    return Entry(envelope, f"word{number}x", tuple(chance.sample(("a.pdf", "B.PDF"), chance.randrange(3))))


def added(path: Path, batches: Sequence[Sequence[Entry]]) -> dict[str, Any]:
    """What is found in an index that got these batches, without the numbers that it gave."""
    database = Database(path, SCHEMA)
    database.open()
    try:
        with database.transaction() as index:
            folders.add_folder(index, "INBOX")
            folders.add_folder(index, "Trash")
            for batch in batches:
                writing.add(index, batch)
            return found(index, [entry.envelope.ref for batch in batches for entry in batch])
    finally:
        database.close()


def found(index: sqlite3.Connection, refs: Sequence[str]) -> dict[str, Any]:
    every = index.execute("SELECT id FROM thread").fetchall()
    threads = dict(index.execute("SELECT ref, thread FROM mail").fetchall())
    for (thread,) in every:  # each that was ever given out leads to one that is there
        assert thread_envelopes(index, str(thread))
    linked = index.execute("SELECT message_id, thread FROM thread_link").fetchall()
    page = search(index, Query(None), limit=1_000, offset=0)
    return {
        "order": [row.ref for row in page.items],
        "rows": {row.ref: (_folded(row.labels), row.forwarded, row.folder, row.sender, row.date) for row in page.items},
        "threads": {frozenset(ref for ref in refs if threads[ref] == thread) for thread in threads.values()},
        "links": {
            message_id: frozenset(ref for ref in refs if threads[ref] == thread) for message_id, thread in linked
        },
        "words": [
            [row.ref for row in search(index, Query(Text(f"word{number}x")), limit=5, offset=0).items]
            for number in range(len(refs))
        ],
        "files": sorted(
            index.execute("SELECT ref, name FROM attachment JOIN mail ON mail.id = attachment.mail").fetchall()
        ),
    }


def _folded(labels: Sequence[str]) -> list[str]:
    """They are spelt as the first that is written has it."""
    return sorted(label.casefold() for label in labels)


@pytest.mark.parametrize("seed", range(12))
def test_a_batch_is_as_its_messages_one_by_one(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    entries = strangers(chance, 40)
    one_by_one = added(tmp_path / "one.db", [[entry] for entry in entries])
    assert sorted(one_by_one["order"]) == sorted(entry.envelope.ref for entry in entries)
    assert added(tmp_path / "all.db", [entries]) == one_by_one
    border = chance.randrange(len(entries))
    assert added(tmp_path / "two.db", [entries[:border], entries[border:]]) == one_by_one


def test_threads_that_are_merged_again_and_again_are_moved_once(index: sqlite3.Connection) -> None:
    def mail(number: int, message_id: str, *references: str) -> Entry:
        date, sender = NOON + timedelta(seconds=number), Address("anna@example.com")
        return Entry(
            Envelope(f"r{number}", "", "INBOX", sender, date=date, message_id=message_id, references=references)
        )

    count = 200
    writing.add(index, [mail(number, f"<{number}@x>") for number in range(count)])
    before = index.total_changes
    joining = [(f"<{one}@x>", f"<{one - 1}@x>") for one in range(count - 1, 0, -1)]  # what is joined, to an older one
    writing.add(index, [mail(count + number, f"<join{number}@x>", *two) for number, two in enumerate(joining)])
    assert index.execute("SELECT count(DISTINCT thread) FROM mail").fetchone() == (1,)
    assert index.total_changes - before < 40 * count


def test_the_number_of_a_thread_is_not_used_again(index: sqlite3.Connection, entry: Callable[..., Entry]) -> None:
    writing.add(index, [entry(message_id="<1@x>"), entry(message_id="<2@x>")])
    index.execute("DELETE FROM thread")
    writing.add(index, [entry(message_id="<3@x>"), entry(message_id="<4@x>")])
    assert index.execute("SELECT thread FROM mail ORDER BY id").fetchall() == [("1",), ("2",), ("3",), ("4",)]
    assert index.execute("SELECT id FROM thread ORDER BY id").fetchall() == [(3,), (4,)]


def test_words_are_kept_as_they_were_given_to_the_full_text(
    index: sqlite3.Connection, entry: Callable[..., Entry]
) -> None:
    hostile = 'a "b" \\ c \t \x01 \x7f é 日本 \u2028 </script>'
    writing.add(index, [entry(hostile, subject=hostile, sender=Address("x@example.com", hostile))])
    ((key, words),) = index.execute("SELECT id, words FROM mail_text").fetchall()
    assert words.decode() == json.dumps(json.loads(words), ensure_ascii=False, separators=(",", ":"))
    assert writing.stored_words(index, key)[0] == normal(hostile)


def test_words_that_are_packed_later_are_the_same_before_and_after(
    index: sqlite3.Connection, entry: Callable[..., Entry]
) -> None:
    texts = [texts_of("Hello", body, (), packs=False) for body in ("Straße 日本 \ud800\0 end", "amber " * 500, "")]
    writing.add(index, [replace(entry(), texts=one) for one in texts])
    keys = dict(index.execute("SELECT id, ref FROM mail ORDER BY id").fetchall())
    before = {key: writing.stored_words(index, key) for key in keys}
    assert [words[-1] for words in before.values()] == [one.body for one in texts]

    def packed() -> int:
        return int(index.execute("SELECT count(*) FROM mail_text WHERE typeof(body) = 'blob'").fetchone()[0])

    assert packed() == 0
    writing.pack_words(index, [*list(keys.values())[:2], "unknown"])
    assert packed() == 2
    assert {key: writing.stored_words(index, key) for key in keys} == before
    writing.pack_words(index, list(keys.values()))
    assert packed() == 3
    assert {key: writing.stored_words(index, key) for key in keys} == before
    writing.remove(index, list(keys.values()))
    assert index.execute("SELECT count(*) FROM words WHERE words MATCH 'amber OR strasse OR hello'").fetchone() == (0,)
