"""What the store knows by the refs of a folder, and of messages in it, follows a folder that is renamed."""

from __future__ import annotations

from functools import partial

from tests.unit.store.kit import A_DAY, WORK, FakeTime, forget

from postroom.model.ids import Kind
from postroom.providers.imap.mail.refs import in_renamed
from postroom.store import JournalItem, Store

FOLDERS = {"A": "B", "A/x": "B/x"}
REF_AFTER = partial(in_renamed, folders=FOLDERS)


def test_ids_of_mails_in_it_and_below_lead_to_their_new_refs(store: Store, other: Store) -> None:
    refs = ["A|7|1", "A/x|7|1", "A2|7|1", "A|b|7|1"]
    issued = store.handles.issue(Kind.EMAIL, WORK, refs)
    (thread,) = store.handles.issue(Kind.THREAD, WORK, ["A|7|1"])
    (elsewhere,) = store.handles.issue(Kind.EMAIL, "home", ["A|7|1"])
    store.follow_renamed(WORK, FOLDERS, REF_AFTER)
    found = [one.ref for one in other.handles.resolve_many(issued, Kind.EMAIL)]
    assert found == ["B|7|1", "B/x|7|1", "A2|7|1", "A|b|7|1"]
    assert store.handles.resolve(thread, Kind.THREAD).ref == "B|7|1"
    assert store.handles.resolve(elsewhere, Kind.EMAIL).ref == "A|7|1"
    assert store.handles.issue(Kind.EMAIL, WORK, ["B|7|1"]) == issued[:1]
    assert store.handles.issue(Kind.EMAIL, WORK, ["A|7|1"]) != issued[:1]


def test_earlier_operations_are_undone_to_where_the_folder_is_now(store: Store) -> None:
    own, others = (store.handles.issue(Kind.EMAIL, name, ["1"])[0] for name in (WORK, "home"))
    before = {"folder_ref": "A/x", "role": "", "others": [{"folder_ref": "C", "role": ""}]}
    items = [JournalItem(handle, before, {"folder_ref": "A"}) for handle in (own, others)]
    moved = store.journal.record(WORK, "move_email", items)
    store.follow_renamed(WORK, FOLDERS)
    mine, theirs = store.journal.load(moved).items
    assert (mine.handle, theirs.handle) == (own, others)
    assert mine.before == {"folder_ref": "B/x", "role": "", "others": [{"folder_ref": "C", "role": ""}]}
    assert mine.after == {"folder_ref": "B"}
    assert (theirs.before, theirs.after) == (before, {"folder_ref": "A"})


def test_a_folder_that_was_made_or_named_here_is_known_as_such_for_good(store: Store, time: FakeTime) -> None:
    store.journal.record(WORK, "create_folder", [], {"folder_ref": "A/x"})
    store.journal.record("home", "create_folder", [], {"folder_ref": "A/x"})
    store.follow_renamed(WORK, FOLDERS)
    store.journal.record(WORK, "rename_folder", [], {"folder_ref": "B"})
    time.passes(100 * A_DAY)
    forget(store, time)
    assert store.journal.made_folder(WORK, "B/x")
    assert store.journal.made_folder(WORK, "B")
    assert not store.journal.made_folder(WORK, "A/x")
    assert store.journal.made_folder("home", "A/x")
