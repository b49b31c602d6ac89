from __future__ import annotations

from typing import NoReturn

import pytest
from tests.unit.store.kit import A_DAY, WORK, FakeTime, forget

from postroom.model.errors import Conflict, InternalError, InvalidRequest, NotFound
from postroom.model.ids import Kind, is_handle
from postroom.store import JournalItem, Operation, Store
from postroom.store.database import Database

ITEMS = (JournalItem("e0000000001", {"folder": "INBOX"}, {"folder": "Архив"}), JournalItem("e0000000002", {}, {}))


def test_an_operation_is_read_back_as_it_was_recorded(store: Store, time: FakeTime) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS, {"dry": False})
    assert is_handle(operation_id, Kind.OPERATION)
    assert store.journal.load(operation_id) == Operation(
        operation_id, WORK, "move", ITEMS, {"dry": False}, time.wall, None
    )


def test_the_trail_of_a_message_is_kept_and_one_of_an_older_journal_has_none(store: Store) -> None:
    item = JournalItem("e0000000001", {}, {}, {"ref": "INBOX|1|7", "folder_ref": "Trash"})
    operation_id = store.journal.record(WORK, "move", [item])
    assert store.journal.load(operation_id).items == (item,)
    with store._database.transaction() as connection:
        connection.execute("""UPDATE operations SET items = '[["e0000000001", {}, {}]]'""")
    assert store.journal.load(operation_id).items == (JournalItem("e0000000001", {}, {}),)


def test_an_operation_is_undone_once(store: Store, other: Store) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    store.journal.begin_undo(operation_id)
    store.journal.end_undo(operation_id, is_complete=True)
    with pytest.raises(Conflict, match="already been undone"):
        other.journal.begin_undo(operation_id)
    assert store.journal.load(operation_id).undone_at == store.clock.wall()
    assert store.journal.load(operation_id).is_undone


def test_an_operation_is_undone_by_one_at_a_time(store: Store, other: Store) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    store.journal.begin_undo(operation_id)
    assert not store.journal.load(operation_id).is_undone
    for busy in (store, other):
        with pytest.raises(Conflict, match="being undone by another call") as refused:
            busy.journal.begin_undo(operation_id)
        assert refused.value.retry_after


def test_what_a_process_died_undoing_can_be_undone_by_the_next(store: Store, other: Store) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    other.journal.begin_undo(operation_id)
    other.close()
    store.journal.begin_undo(operation_id)
    store.journal.end_undo(operation_id, is_complete=True)
    with pytest.raises(Conflict, match="already been undone"):
        store.journal.begin_undo(operation_id)


def test_an_undo_whose_end_could_not_be_noted_may_be_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    store.journal.begin_undo(operation_id)
    with monkeypatch.context() as full:
        full.setattr(Database, "transaction", _full_disk)
        with pytest.raises(InternalError):
            store.journal.end_undo(operation_id.upper(), is_complete=True)
    store.journal.begin_undo(operation_id)
    with pytest.raises(Conflict, match="being undone by another call"):
        store.journal.begin_undo(operation_id)


def _full_disk(*_: object, **__: object) -> NoReturn:
    raise InternalError("The disk is full.")


def test_an_operation_needs_no_detail_and_its_id_may_be_spelt_in_capitals(store: Store) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    assert store.journal.load(f" {operation_id.upper()} ").detail == {}
    assert store.journal.load(operation_id.upper()).operation_id == operation_id


def test_undoing_one_operation_leaves_the_others(store: Store) -> None:
    first, second = (store.journal.record(WORK, "move", ITEMS) for _ in range(2))
    store.journal.begin_undo(first)
    assert store.journal.load(second).undone_at is None
    store.journal.begin_undo(second)
    store.journal.end_undo(second, is_complete=True)
    store.journal.end_undo(first, is_complete=False)
    assert store.journal.load(first).undone_at is None
    with pytest.raises(Conflict, match=f"The operation {second} has already been undone; there is nothing left"):
        store.journal.begin_undo(second)


def test_an_undo_that_could_do_nothing_may_be_tried_again(store: Store) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    store.journal.begin_undo(operation_id)
    store.journal.end_undo(operation_id, is_complete=False)
    store.journal.begin_undo(operation_id)


def test_an_unknown_operation_says_where_ids_come_from(store: Store) -> None:
    with pytest.raises(NotFound, match="operation_id"):
        store.journal.begin_undo("o0123456789")
    with pytest.raises(InvalidRequest, match="a send id, but an operation id"):
        store.journal.load("s0123456789")


def test_operations_are_kept_for_thirty_days(store: Store, time: FakeTime) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    made = store.journal.record(WORK, "create_folder", [], {"folder_ref": "Plans"})
    time.passes(30 * A_DAY)
    forget(store, time)
    assert store.journal.load(operation_id)
    forget(store, time)
    for forgotten in (operation_id, made):
        with pytest.raises(NotFound):
            store.journal.load(forgotten)


def test_what_a_clock_is_wrong_about_for_hours_can_be_undone_all_the_time(store: Store, time: FakeTime) -> None:
    operation_id = store.journal.record(WORK, "move", ITEMS)
    store.prune()
    time.is_set(31 * A_DAY)
    store.prune()
    assert store.journal.load(operation_id)


def test_which_folders_were_made_here_is_never_forgotten(store: Store, time: FakeTime) -> None:
    made = store.journal.record(WORK, "create_folder", [], {"folder_ref": "Plans"})
    moved = store.journal.record(WORK, "move", ITEMS)
    time.passes(31 * 86_400.0)
    forget(store, time)

    assert store.journal.made_folder(WORK, "Plans")
    assert not store.journal.made_folder(WORK, "Sent")
    store.journal.record(WORK, "move", [], {"folder_ref": "Sent"})
    assert not store.journal.made_folder(WORK, "Sent")
    assert not store.journal.made_folder("home", "Plans")
    for operation in (made, moved):  # neither can be undone any more
        with pytest.raises(NotFound):
            store.journal.load(operation)
