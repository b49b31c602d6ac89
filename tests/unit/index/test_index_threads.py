from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import permutations

import pytest

from postroom.index import threads, writing
from postroom.index.rows import are_small, envelopes
from postroom.model.errors import NotFound

Add = Callable[..., str]


def thread(index: sqlite3.Connection, ref: str) -> str:
    (envelope,) = envelopes(index, [ref])
    assert envelope is not None
    return envelope.thread_ref


def members(index: sqlite3.Connection, thread_ref: str) -> list[str]:
    return [envelope.ref for envelope in threads.thread_envelopes(index, thread_ref)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_answers_join_their_thread_in_whatever_order_they_arrive(
    index: sqlite3.Connection, add: Add, order: tuple[int, ...]
) -> None:
    chain = [
        {"message_id": "<a@x>"},
        {"message_id": "<b@x>", "in_reply_to": "<a@x>"},
        {"message_id": "<c@x>", "references": ("<a@x>", "<b@x>")},
    ]
    refs = [add(**chain[number]) for number in order]
    assert len({thread(index, ref) for ref in refs}) == 1
    assert members(index, thread(index, refs[0])) == refs


def test_a_missing_parent_still_ties_its_answers_together(index: sqlite3.Connection, add: Add) -> None:
    one = add(message_id="<1@x>", in_reply_to="<lost@x>")
    two = add(message_id="<2@x>", references=("<lost@x>",))
    assert thread(index, one) == thread(index, two)


def test_a_mail_that_ties_two_threads_makes_them_one_and_both_refs_lead_there(
    index: sqlite3.Connection, add: Add
) -> None:
    one, two = add(message_id="<1@x>"), add(message_id="<2@x>")
    older, younger = thread(index, one), thread(index, two)
    bridge = add(message_id="<3@x>", references=("<1@x>", "<2@x>"))
    assert thread(index, two) == thread(index, bridge) == older
    assert members(index, younger) == members(index, older) == [one, two, bridge]


def test_threads_merged_again_and_again_are_found_by_every_old_ref(index: sqlite3.Connection, add: Add) -> None:
    refs = [add(message_id=f"<{number}@x>") for number in range(5)]
    old = [thread(index, ref) for ref in refs]
    for number in (3, 1, 2, 0):
        add(references=(f"<{number}@x>", f"<{number + 1}@x>"))
    assert {tuple(members(index, ref)) for ref in old} == {tuple(members(index, old[0]))}


def test_the_subject_is_no_criterion(index: sqlite3.Connection, add: Add) -> None:
    one, two = add(subject="Lunch", message_id="<1@x>"), add(subject="Re: Lunch", message_id="<2@x>")
    assert thread(index, one) != thread(index, two)


def test_mails_without_any_id_stand_alone(index: sqlite3.Connection, add: Add) -> None:
    assert thread(index, add()) != thread(index, add())


def test_two_copies_of_one_mail_are_two_mails_of_one_thread(index: sqlite3.Connection, add: Add) -> None:
    one, two = add(message_id="<1@x>"), add(message_id="<1@x>")
    assert members(index, thread(index, one)) == [one, two]


def test_ten_thousand_references_are_bounded_and_first_and_last_still_count(
    index: sqlite3.Connection, add: Add
) -> None:
    first, last = add(message_id="<0@x>"), add(message_id="<9999@x>")
    flood = add(references=tuple(f"<{number}@x>" for number in range(10_000)))
    assert thread(index, first) == thread(index, last) == thread(index, flood)
    (links,) = index.execute("SELECT count(*) FROM thread_link").fetchone()
    assert links <= threads.MAX_LINKS + 2


def test_an_answer_to_a_removed_mail_finds_the_old_thread(index: sqlite3.Connection, add: Add) -> None:
    parent = add(message_id="<1@x>")
    ref = thread(index, parent)
    writing.remove(index, [parent])
    with pytest.raises(NotFound):
        members(index, ref)
    answer = add(in_reply_to="<1@x>")
    assert members(index, ref) == [answer]


@pytest.mark.parametrize("ref", ["", "99", "nope", "\udc80"])
def test_a_thread_that_never_was_is_not_found(index: sqlite3.Connection, ref: str) -> None:
    with pytest.raises(NotFound):
        members(index, ref)


def test_a_thread_ref_that_is_given_decides(index: sqlite3.Connection, add: Add) -> None:
    one = add(message_id="<1@x>", thread_ref="provider-7")
    two = add(message_id="<2@x>", in_reply_to="<1@x>")
    assert thread(index, one) == thread(index, two) == "provider-7"


def test_how_much_threads_and_messages_are_is_told_before_they_are_read(index: sqlite3.Connection, add: Add) -> None:
    refs = [add(message_id="<a@x>", size=10), add(message_id="<b@x>", in_reply_to="<a@x>", size=20)]
    found = threads.linked(index, ["<a@x>", "<none@x>"])
    assert found == [thread(index, refs[0])]
    assert threads.are_short(index, found, 2)
    assert not threads.are_short(index, found, 1)
    assert threads.are_short(index, [], 0)
    assert are_small(index, [*refs, "none"], 30)
    assert not are_small(index, refs, 29)
