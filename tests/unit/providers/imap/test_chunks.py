from __future__ import annotations

from postroom.providers.imap.session.uid_sets import _LONGEST_SET, chunks
from postroom.providers.imap.session.wire import as_set


def test_neighbours_are_named_together_however_many() -> None:
    assert [len(chunk) for chunk in chunks(range(1, 2001), 1000)] == [1000, 1000]


def test_scattered_uids_are_split_where_a_line_would_grow_too_long() -> None:
    uids = list(range(4_000_000_000, 4_000_002_000, 2))
    found = list(chunks(uids, 1000))
    assert len(found) > 1
    assert all(len(as_set(chunk)) <= _LONGEST_SET for chunk in found)
    assert [uid for chunk in found for uid in chunk] == uids


def test_no_uids_are_no_chunk() -> None:
    assert list(chunks([])) == []
