"""What leads to messages is kept by mailbox: a name that comes to stand for another one takes nothing over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.store.kit import FakeTime
from tests.unit.store.test_plans import NEW

from postroom.model.errors import InternalError, NotFound
from postroom.model.ids import Kind
from postroom.store import JournalItem, Store, open_store

WORK, HOME, SHARED = "work", "home", "work/sales@example.org"
ADDRESSES = {WORK: "ann@example.org", HOME: "ann@home.example"}
OWNERS = {WORK: "imap.example.org", HOME: "imap.home.example"}
MOVED = {**OWNERS, WORK: "imap.elsewhere.example"}
REF = "INBOX/7/1"


def settle(store: Store, owners: dict[str, str], **addresses: str) -> None:
    store.mailboxes.settle({name: addresses.get(name, ADDRESSES[name]) for name in owners}, owners)


@pytest.fixture
def store(store: Store) -> Store:
    settle(store, OWNERS)
    return store


@pytest.mark.parametrize("kind", [Kind.EMAIL, Kind.THREAD, Kind.DRAFT])
@pytest.mark.parametrize("account", [WORK, SHARED])
def test_a_handle_names_nothing_in_another_mailbox_and_its_message_again_when_that_is_back(
    store: Store, account: str, kind: Kind
) -> None:
    (old,) = store.handles.issue(kind, account, [REF])
    settle(store, MOVED)
    with pytest.raises(NotFound, match=r"(again|list_drafts) to get a current"):
        store.handles.resolve(old, kind)
    (new,) = store.handles.issue(kind, account, [REF])
    assert new != old
    assert (store.handles.resolve(new, kind).account, store.handles.resolve(new, kind).ref) == (account, REF)

    settle(store, OWNERS)
    assert store.handles.resolve(old, kind).account == account
    assert store.handles.issue(kind, account, [REF]) == [old]
    with pytest.raises(NotFound):
        store.handles.resolve(new, kind)


def test_accounts_that_did_not_change_keep_everything(store: Store) -> None:
    handles, numbers = store.handles.issue(Kind.EMAIL, HOME, [REF]), store.numbers.issue(HOME, "INBOX", [REF])
    operation = store.journal.record(HOME, "create_folder", [], {"folder_ref": "F"})
    settle(store, MOVED)
    assert store.handles.resolve(handles[0], Kind.EMAIL).account == HOME
    assert (store.handles.issue(Kind.EMAIL, HOME, [REF]), store.numbers.issue(HOME, "INBOX", [REF])) == (
        handles,
        numbers,
    )
    assert store.journal.load(operation).account == HOME
    assert store.journal.made_folder(HOME, "F")


def test_a_process_that_still_runs_for_the_old_mailbox_and_one_for_the_new_do_not_share_handles(
    store: Store, other: Store
) -> None:
    settle(other, MOVED)
    (old,), (new,) = (one.handles.issue(Kind.EMAIL, WORK, [REF]) for one in (store, other))
    for knows, does_not in ((old, new), (new, old)):
        one = store if knows is old else other
        assert one.handles.resolve(knows, Kind.EMAIL).ref == REF
        with pytest.raises(NotFound):
            one.handles.resolve(does_not, Kind.EMAIL)
    assert store.numbers.issue(WORK, "INBOX", [REF]) != other.numbers.issue(WORK, "INBOX", [REF])


def test_a_move_in_the_new_mailbox_leaves_the_old_ones_handles_where_they_are(store: Store) -> None:
    (old,) = store.handles.issue(Kind.EMAIL, WORK, [REF])
    settle(store, MOVED)
    (new,) = store.handles.issue(Kind.EMAIL, WORK, [REF])
    store.handles.rename(Kind.EMAIL, WORK, {REF: "Archive/7/1"})
    store.follow_renamed(WORK, {}, lambda ref: f"Old/{ref}")
    assert store.handles.resolve(new, Kind.EMAIL).ref == "Old/Archive/7/1"
    settle(store, OWNERS)
    assert store.handles.resolve(old, Kind.EMAIL).ref == REF


def test_refs_that_were_only_shown_for_the_old_mailbox_are_told_from_those_never_shown(store: Store) -> None:
    store.handles.issue(Kind.EMAIL, WORK, [REF, "both"])
    store.handles.issue(Kind.EMAIL, HOME, ["both"])
    settle(store, MOVED)
    assert store.handles.owners(Kind.EMAIL, [REF, "both", "never"]) == {REF: [], "both": [HOME]}


@pytest.mark.parametrize("account", [WORK, SHARED])
def test_a_number_is_not_given_to_a_message_of_another_mailbox_whatever_its_folder_is_called(
    store: Store, account: str
) -> None:
    assert store.numbers.issue(account, "inbox-1", ["b", "a"]) == [2, 1]
    settle(store, MOVED)
    assert store.numbers.resolve(account, "inbox-1", 1) is None
    assert store.numbers.issue(account, "inbox-2", ["b", "a"]) == [4, 3]
    assert store.numbers.issue(account, "inbox-2", ["c"]) == [5]
    settle(store, OWNERS)
    assert store.numbers.resolve(account, "inbox-1", 1) == "a"
    assert store.numbers.issue(account, "inbox-1", ["c", "b"]) == [6, 2]


def test_a_change_of_folders_cannot_be_undone_in_another_mailbox(store: Store) -> None:
    operation = store.journal.record(WORK, "create_folder", [], {"folder_ref": "F"})
    settle(store, MOVED)
    for refused in (store.journal.load, store.journal.begin_undo):
        with pytest.raises(NotFound):
            refused(operation)
    assert not store.journal.made_folder(WORK, "F")
    store.follow_renamed(WORK, {"F": "G"})
    settle(store, OWNERS)
    assert store.journal.load(operation).detail == {"folder_ref": "F"}
    assert store.journal.made_folder(WORK, "F")


def test_of_a_change_in_two_accounts_what_was_done_in_the_other_one_can_still_be_undone(store: Store) -> None:
    (work,), (home,) = (store.handles.issue(Kind.EMAIL, account, [REF]) for account in (WORK, HOME))
    items = [JournalItem(handle, {"unread": True}, {"unread": False}) for handle in (work, home)]
    operation = store.journal.record(WORK, "mark", items)
    settle(store, MOVED)
    loaded = store.journal.load(operation)
    assert (loaded.account, [item.handle for item in loaded.items]) == (WORK, [work, home])
    assert store.handles.resolve(home, Kind.EMAIL).account == HOME
    with pytest.raises(NotFound):
        store.handles.resolve(work, Kind.EMAIL)


def test_a_plan_is_not_run_in_another_mailbox_and_what_was_run_can_be_looked_up(store: Store) -> None:
    ready, run = store.plans.save(NEW), store.plans.save(NEW)
    cut_short = store.plans.save(replace(NEW, rule_id="r2"), is_scheduled=True)
    for plan in (run, cut_short):
        store.plans.claim(plan.plan_id)
    store.plans.finish(run.plan_id, {"done": 1})
    store.plans.interrupt(cut_short.plan_id)
    settle(store, MOVED)
    with pytest.raises(NotFound, match="make a new plan"):
        store.plans.claim(ready.plan_id)
    assert store.plans.unfinished("r2") is None
    assert store.plans.claim(run.plan_id).report == {"done": 1}
    fresh = store.plans.save(NEW)
    assert (fresh.account, store.plans.claim(fresh.plan_id).account) == (WORK, WORK)
    settle(store, OWNERS)
    assert store.plans.claim(ready.plan_id).state == "running"
    assert store.plans.unfinished("r2") is not None


@pytest.mark.parametrize(("address", "is_kept"), [(ADDRESSES[WORK], True), ("zoe@example.org", False)])
def test_a_file_from_before_is_the_present_mailboxes_unless_another_address_is_known(
    store: Store, address: str, is_kept: bool
) -> None:
    (old,) = store.handles.issue(Kind.EMAIL, WORK, [REF])
    with store._database.transaction() as connection:
        connection.execute("DELETE FROM first_mailboxes")
    settle(store, MOVED, work=address)
    assert (store.handles.issue(Kind.EMAIL, WORK, [REF]) == [old]) is is_kept
    settle(store, OWNERS)
    with pytest.raises(NotFound):
        store.handles.resolve(old, Kind.EMAIL)


def test_a_file_that_cannot_be_written_now_keeps_no_start_and_mixes_no_mailboxes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old,) = store.handles.issue(Kind.EMAIL, WORK, [REF])

    def is_full(**_: bool) -> None:
        raise InternalError("The disk is full.")

    monkeypatch.setattr(store._database, "transaction", is_full)
    settle(store, MOVED, work="zoe@example.org")
    with pytest.raises(NotFound):
        store.handles.resolve(old, Kind.EMAIL)


def test_two_processes_that_start_a_new_file_for_different_mailboxes_do_not_both_come_first(
    path: Path, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, early = (open_store(path, clock=time.clock()) for _ in range(2))
    write = late._database.transaction

    def after_the_other(**given: bool):  # type: ignore[no-untyped-def]
        settle(early, OWNERS)
        return write(**given)

    monkeypatch.setattr(late._database, "transaction", after_the_other)
    settle(late, MOVED)
    monkeypatch.undo()
    assert late.handles.issue(Kind.EMAIL, WORK, [REF]) != early.handles.issue(Kind.EMAIL, WORK, [REF])
    for store in (late, early):
        store.close()
