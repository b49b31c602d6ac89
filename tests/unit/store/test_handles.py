from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store.kit import WORK

from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.ids import Kind, is_handle
from postroom.store import Handle, Store, handles
from postroom.store.database import Database
from postroom.store.handles import Handles


def test_each_ref_gets_its_own_short_handle_in_order(store: Store) -> None:
    issued = store.handles.issue(Kind.EMAIL, WORK, ["INBOX/1", "INBOX/2", "INBOX/1"])
    assert issued[0] == issued[2] != issued[1]
    assert all(is_handle(handle, Kind.EMAIL) for handle in issued)


def test_the_same_ref_always_gets_the_same_handle(store: Store, other: Store) -> None:
    first = store.handles.issue(Kind.EMAIL, WORK, ["1", "2"])
    assert other.handles.issue(Kind.EMAIL, WORK, ["2", "3", "1"])[::2] == first[::-1]


def test_kinds_and_accounts_do_not_share_handles(store: Store) -> None:
    issue = store.handles.issue
    issued = {*issue(Kind.EMAIL, WORK, ["1"]), *issue(Kind.THREAD, WORK, ["1"]), *issue(Kind.EMAIL, "home", ["1"])}
    assert len(issued) == 3


def test_a_handle_leads_to_its_account_and_ref(store: Store) -> None:
    [handle] = store.handles.issue(Kind.EMAIL, WORK, ["ref with 'quotes' and \u2603"])
    assert store.handles.resolve(f" {handle.upper()} ", Kind.EMAIL) == Handle(WORK, "ref with 'quotes' and \u2603")


def test_many_handles_resolve_in_the_order_they_were_asked_for(store: Store) -> None:
    issued = store.handles.issue(Kind.EMAIL, WORK, [str(number) for number in range(1000)])
    resolved = store.handles.resolve_many([*issued[::-1], issued[0]], Kind.EMAIL)
    assert [handle.ref for handle in resolved] == [*(str(number) for number in range(999, -1, -1)), "0"]


@pytest.mark.parametrize(
    "wrong",
    [
        "e0123456789",
        "",
        "12",
        "thread",
        "t012345678",
        "s0123456789x",
        "e\x00123456789",
        "\ud800",
        "x" * 5000,
        "' OR 1=1 --",
    ],
)
def test_an_unknown_handle_says_to_list_again(store: Store, wrong: str) -> None:
    with pytest.raises(NotFound, match="List or search") as caught:
        store.handles.resolve(wrong, Kind.EMAIL)
    assert len(caught.value.message) < 400
    assert caught.value.details == {"id": wrong.strip().lower()[:40]}


def test_a_handle_of_another_kind_is_told_apart(store: Store) -> None:
    [thread] = store.handles.issue(Kind.THREAD, WORK, ["1"])
    with pytest.raises(InvalidRequest, match=f"{thread} is a thread id, but an email id is needed") as refused:
        store.handles.resolve(thread.upper(), Kind.EMAIL)
    assert (refused.value.reason, refused.value.details) == ("unknown_id", {"id": thread})
    assert refused.value.message.endswith("List or search emails again to get a current email_id.")


def test_who_wants_to_read_a_draft_is_told_where_its_email_id_is(store: Store) -> None:
    [draft] = store.handles.issue(Kind.DRAFT, WORK, ["1"])
    with pytest.raises(InvalidRequest, match="list the emails of mailbox drafts"):
        store.handles.resolve(draft, Kind.EMAIL)


@pytest.mark.parametrize(
    ("kind", "name", "advice"),
    [
        (Kind.EMAIL, "an email id", "List or search emails again to get a current email_id."),
        (Kind.THREAD, "a thread id", "List or search emails again to get a current thread_id."),
        (Kind.DRAFT, "a draft id", "Call list_drafts to get a current draft_id."),
        (Kind.OPERATION, "an operation id", "Use the operation_id that the change you want to undo returned."),
        (Kind.SEND, "a send id", "Call list_outbox to see the sends."),
        (Kind.APPROVAL, "an approval id", "List the approvals to see their ids."),
        (Kind.RULE, "a rule id", "Call list_rules to see the rules."),
        (Kind.PLAN, "a plan id", "Call run_rule_plan to make a new plan."),
    ],
)
def test_an_unknown_id_of_any_kind_is_told_with_what_to_do(store: Store, kind: Kind, name: str, advice: str) -> None:
    wrong = f"{kind.value}0123456789"
    with pytest.raises(NotFound) as caught:
        store.handles.resolve(wrong, kind)
    assert caught.value.message == f"{wrong!r} is not {name} that Postroom knows. {advice}"


def test_a_handle_follows_its_mail_and_its_old_ref_is_free_for_another(store: Store) -> None:
    [moved] = store.handles.issue(Kind.EMAIL, WORK, ["INBOX/1"])
    store.handles.rename(Kind.EMAIL, WORK, {"INBOX/1": "Archive/7"})
    assert store.handles.resolve(moved, Kind.EMAIL).ref == "Archive/7"
    assert store.handles.issue(Kind.EMAIL, WORK, ["Archive/7"]) == [moved]
    assert store.handles.issue(Kind.EMAIL, WORK, ["INBOX/1"]) != [moved]


def test_a_mail_listed_at_its_new_place_before_the_move_was_known_keeps_both_handles(store: Store) -> None:
    [before] = store.handles.issue(Kind.EMAIL, WORK, ["INBOX/1"])
    [after] = store.handles.issue(Kind.EMAIL, WORK, ["Archive/7"])
    store.handles.rename(Kind.EMAIL, WORK, {"INBOX/1": "Archive/7"})
    assert {store.handles.resolve(handle, Kind.EMAIL).ref for handle in (before, after)} == {"Archive/7"}
    assert store.handles.issue(Kind.EMAIL, WORK, ["Archive/7"]) == [after]
    store.handles.rename(Kind.EMAIL, WORK, {"Archive/7": "Trash/3"})
    assert {store.handles.resolve(handle, Kind.EMAIL).ref for handle in (before, after)} == {"Trash/3"}


def test_refs_that_trade_places_take_their_handles_along(store: Store) -> None:
    first, second, third = store.handles.issue(Kind.EMAIL, WORK, ["a", "b", "c"])
    store.handles.rename(Kind.EMAIL, WORK, {"a": "b", "b": "a", "c": "d"})
    assert [handle.ref for handle in store.handles.resolve_many([first, second, third], Kind.EMAIL)] == ["b", "a", "d"]


def test_renaming_touches_no_other_kind_or_account(store: Store) -> None:
    [thread] = store.handles.issue(Kind.THREAD, WORK, ["1"])
    [home] = store.handles.issue(Kind.EMAIL, "home", ["1"])
    store.handles.rename(Kind.EMAIL, WORK, {"1": "2"})
    assert store.handles.resolve(thread, Kind.THREAD).ref == "1"
    assert store.handles.resolve(home, Kind.EMAIL).ref == "1"


def test_a_ref_is_known_by_the_accounts_it_was_shown_for(store: Store) -> None:
    for account in (WORK, "home", "all"):
        store.handles.issue(Kind.EMAIL, account, ["1", "2"] if account == WORK else ["1"])
    store.handles.issue(Kind.THREAD, "other", ["1"])
    store.handles.issue(Kind.EMAIL, "other", ["3", "4"])
    store.handles.rename(Kind.EMAIL, WORK, {"2": "1"})  # two handles of one message
    assert store.handles.owners(Kind.EMAIL, ["1", "3", "9"]) == {"1": ["all", "home", WORK], "3": ["other"]}


def test_a_rename_to_nowhere_changes_nothing(store: Store) -> None:
    [handle] = store.handles.issue(Kind.EMAIL, WORK, ["1"])
    store.handles.rename(Kind.EMAIL, WORK, {"1": "", "2": "2"})
    assert store.handles.resolve(handle, Kind.EMAIL).ref == "1"


def test_a_new_handle_that_is_taken_is_drawn_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    [taken] = store.handles.issue(Kind.EMAIL, WORK, ["1"])
    drawn = iter([taken, taken, "e000000000a", "e000000000b"])
    monkeypatch.setattr(handles, "new_handle", lambda kind: next(drawn))
    assert set(store.handles.issue(Kind.EMAIL, WORK, ["2", "3"])) == {"e000000000a", "e000000000b"}
    assert store.handles.resolve(taken, Kind.EMAIL).ref == "1"


def test_several_kinds_are_issued_at_once_each_in_order(store: Store, other: Store) -> None:
    emails, threads = store.handles.issue_each(WORK, {Kind.EMAIL: ["1", "2", "1"], Kind.THREAD: ["2", "1"]})
    assert other.handles.issue(Kind.EMAIL, WORK, ["1", "2", "1"]) == emails
    assert other.handles.issue(Kind.THREAD, WORK, ["2", "1"]) == threads


def test_handles_of_several_kinds_are_written_in_one_transaction(store: Store) -> None:
    statements: list[str] = []
    with store._database.transaction() as connection:
        connection.set_trace_callback(statements.append)
    statements.clear()
    store.handles.issue_each(WORK, {Kind.EMAIL: ["1", "2"], Kind.THREAD: ["1"]})
    assert statements.count("COMMIT") == 1


def test_what_is_not_wholly_known_is_not_known_and_nothing_is_written(store: Store) -> None:
    emails = store.handles.issue(Kind.EMAIL, WORK, ["1", "2"])
    assert store.handles.known(WORK, {Kind.EMAIL: ["2", "1"]}) == [emails[::-1]]
    assert store.handles.known(WORK, {Kind.EMAIL: ["1", "3"]}) is None
    assert store.handles.known(WORK, {Kind.EMAIL: ["1"], Kind.THREAD: ["1"]}) is None


def test_refs_that_have_handles_cost_one_select(store: Store) -> None:
    refs = [str(number) for number in range(20)]
    store.handles.issue(Kind.EMAIL, WORK, refs)
    statements: list[str] = []
    with store._database.read() as connection:
        connection.set_trace_callback(statements.append)
    store.handles.issue(Kind.EMAIL, WORK, refs)
    assert sum(statement.startswith("SELECT") for statement in statements) == 1


def test_refs_that_were_seen_cost_none_until_somebody_writes(store: Store, other: Store) -> None:
    [first, second] = store.handles.issue(Kind.EMAIL, WORK, ["1", "2"])
    statements: list[str] = []
    with store._database.read() as connection:
        connection.set_trace_callback(statements.append)
    for _ in range(2):
        assert store.handles.known(WORK, {Kind.EMAIL: ["1", "2"]}) == [[first, second]]
    assert sum(statement.startswith("SELECT") for statement in statements) == 1
    other.handles.rename(Kind.EMAIL, WORK, {"1": "3"})
    assert store.handles.known(WORK, {Kind.EMAIL: ["1"]}) is None
    assert store.handles.known(WORK, {Kind.EMAIL: ["3", "2"]}) == [[first, second]]
    assert store.handles.issue(Kind.EMAIL, WORK, ["1"]) != [first]


def test_only_so_many_are_kept_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "_MOST", 3)
    refs = [str(number) for number in range(20)]
    issued = store.handles.issue(Kind.EMAIL, WORK, refs)
    for _ in range(2):
        assert [store.handles.known(WORK, {Kind.EMAIL: [ref]}) for ref in refs] == [[[one]] for one in issued]


_REFS = st.sampled_from("abcdef")


@given(steps=st.lists(st.one_of(_REFS, st.dictionaries(_REFS, _REFS, max_size=3)), max_size=12))
def test_no_handle_ever_comes_to_mean_another_mail(
    tmp_path_factory: pytest.TempPathFactory, steps: list[object]
) -> None:
    """A model of a mailbox: mails lie at refs, are moved about, and are listed; every handle must keep its mail."""
    database = Database(tmp_path_factory.mktemp("handles") / "state.db")
    book = Handles(database)
    lies_at = {ref: number for number, ref in enumerate("abc")}
    given_out: dict[str, int] = {}
    for step in steps:
        if isinstance(step, dict):
            moves = {old: new for old, new in step.items() if old in lies_at}
            arriving = list(moves.values())
            if len(set(arriving)) < len(arriving) or any(new in lies_at and new not in moves for new in arriving):
                continue  # no mailbox puts two mails at one ref
            departed = {new: lies_at.pop(old) for old, new in moves.items()}
            lies_at |= departed
            book.rename(Kind.EMAIL, WORK, moves)
        elif step in lies_at:
            [handle] = book.issue(Kind.EMAIL, WORK, [str(step)])
            assert given_out.setdefault(handle, lies_at[str(step)]) == lies_at[str(step)]
    for handle, mail in given_out.items():
        assert lies_at[book.resolve(handle, Kind.EMAIL).ref] == mail
    database.close()


def test_a_mail_known_by_two_handles_keeps_the_one_it_is_given_out_by_wherever_it_goes(store: Store) -> None:
    places = [[f"{place}{number}" for number in range(9)] for place in "abcd"]
    old, given_out = (store.handles.issue(Kind.EMAIL, WORK, refs) for refs in places[:2])
    for here, there in pairwise(places):
        store.handles.rename(Kind.EMAIL, WORK, dict(zip(here, there, strict=True)))
    assert store.handles.issue(Kind.EMAIL, WORK, places[3]) == given_out
    for handles_of_one in zip(old, given_out, places[3], strict=True):
        assert {store.handles.resolve(handle, Kind.EMAIL).ref for handle in handles_of_one[:2]} == {handles_of_one[2]}


def test_mails_that_change_places_are_given_out_by_the_handles_they_had(store: Store) -> None:
    one, two, three = store.handles.issue(Kind.EMAIL, WORK, ["1", "2", "3"])
    store.handles.rename(Kind.EMAIL, WORK, {"1": "2", "2": "1"})
    assert store.handles.issue(Kind.EMAIL, WORK, ["1", "2"]) == [two, one]
    store.handles.rename(Kind.EMAIL, WORK, {"2": "3", "3": "4", "1": "2"})
    assert store.handles.issue(Kind.EMAIL, WORK, ["2", "3", "4"]) == [two, one, three]


def test_what_is_known_is_not_waited_for_as_the_event_loop_asks(store: Store, path: Path) -> None:
    store.handles.issue(Kind.EMAIL, WORK, ["1"])
    hasty = Handles(Database(path, wait_for_lock=3600))
    store.close()
    hasty._database._idle.pop().close()
    locking = sqlite3.connect(path, isolation_level=None)
    locking.execute("PRAGMA locking_mode = EXCLUSIVE")
    locking.execute("UPDATE handles SET ref = '2'")
    assert hasty.known(WORK, {Kind.EMAIL: ["1"]}) is None
    locking.close()
    assert hasty.known(WORK, {Kind.EMAIL: ["2"]}) is not None
    hasty._database.close()
