"""Numbers within a folder are kept for ever, by whichever process they were handed out."""

from __future__ import annotations

from pathlib import Path

from postroom.store import open_store
from postroom.store.database import Database
from postroom.store.numbers import Numbers

WORK = "work"


def test_a_ref_keeps_its_number_and_later_ones_are_higher(store) -> None:
    assert store.numbers.issue(WORK, "INBOX", ["new", "old"]) == [2, 1]
    assert store.numbers.issue(WORK, "INBOX", ["newer", "new", "newer"]) == [3, 2, 3]
    assert store.numbers.resolve(WORK, "INBOX", 1) == "old"


def test_folders_and_accounts_count_for_themselves(store) -> None:
    assert store.numbers.issue(WORK, "INBOX", ["a"]) == store.numbers.issue(WORK, "Sent", ["b"]) == [1]
    assert store.numbers.issue("home", "INBOX", ["c"]) == [1]
    assert store.numbers.resolve(WORK, "Sent", 1) == "b"
    assert store.numbers.resolve(WORK, "INBOX", 2) is None


def test_a_message_that_is_in_two_folders_has_a_number_in_each(store) -> None:
    """As where a label is a folder, and one message bears several."""
    assert store.numbers.issue(WORK, "INBOX", ["a", "b", "c"]) == [3, 2, 1]
    assert store.numbers.issue(WORK, "Sent", ["a"]) == [1]
    assert store.numbers.issue("home", "INBOX", ["b"]) == [1]
    assert store.numbers.issue(WORK, "INBOX", ["a", "b"]) == [3, 2]
    assert store.numbers.issue(WORK, "Sent", ["b", "a"]) == [2, 1]


def test_what_has_its_number_is_answered_while_another_process_writes(path: Path) -> None:
    writer, reader = Database(path), Database(path, wait_for_lock=0.0)
    issued = Numbers(writer).issue(WORK, "INBOX", ["a", "b"])
    with writer.transaction():
        assert Numbers(reader).issue(WORK, "INBOX", ["a", "b"]) == issued
        assert Numbers(reader).issue(WORK, "INBOX", []) == []
    writer.close()
    reader.close()


def test_numbers_outlast_a_restart_and_none_is_given_twice(tmp_path: Path) -> None:
    for expected, ref in enumerate(("a/b+c==", "../../etc/passwd", "x" * 900), start=1):
        store = open_store(tmp_path / "state.db")
        assert store.numbers.issue(WORK, "INBOX", [ref]) == [expected]
        store.close()
