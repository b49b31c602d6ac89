"""What was read before is kept true by Gmail's history, whoever changes what, and in whatever order it is heard of."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.contract.mails import mail

from postroom.model.errors import ProviderUnavailable
from postroom.model.query.tree import In, Query

from .conftest import Box


async def inbox(box: Box) -> dict[str, tuple[bool, tuple[str, ...]]]:
    page = await box.mailbox.search(Query(In("inbox")), limit=50, offset=0)
    return {row.ref: (row.unread, row.labels) for row in page.items}


async def test_a_listing_that_is_repeated_reads_no_message_again(box: Box) -> None:
    refs = [box.deliver(f"m{number}") for number in range(10)]
    before = await inbox(box)
    box.gmail.forget()
    assert await inbox(box) == before
    assert box.asked() == ["messages.list", "history.list"]
    new = box.deliver("new")
    box.gmail.forget()
    assert set(await inbox(box)) == {*refs, new}
    assert box.gmail.count("messages.get") == 1


async def test_what_somebody_else_changes_is_seen_at_once(box: Box) -> None:
    first, second, third = (box.deliver(key) for key in ("first", "second", "third"))
    await inbox(box)
    work = box.label("Work")
    with box.gmail.lock:
        box.user.change_labels(box.user.message(first), {work}, {"UNREAD"})
        box.user.delete(box.user.message(second))
        box.user.change_labels(box.user.message(third), {"STARRED"})
        box.user.change_labels(box.user.message(third), (), {"STARRED"})
    rows = await box.mailbox.envelopes([first, second, third])
    assert rows[0] is not None
    assert (rows[0].unread, rows[0].labels, rows[0].folders) == (False, ("Work",), ("INBOX", "Work"))
    assert rows[1] is None
    assert rows[2] is not None
    assert not rows[2].starred


async def test_what_we_change_is_seen_even_if_the_history_is_late(box: Box) -> None:
    refs = [box.deliver("first"), box.deliver("second")]
    await inbox(box)
    cursor = box.mailbox.reader.known.cursor
    await box.mailbox.set_flags(refs, add=["read", "starred"])
    await box.mailbox.move(refs[:1], "TRASH")
    box.gmail.answer_next("GET", "history.list", json.dumps({"historyId": cursor}))
    rows = await box.mailbox.envelopes(refs)
    assert [row and (row.unread, row.starred, row.folder) for row in rows] == [
        (False, True, "Trash"),
        (False, True, "INBOX"),
    ]
    assert [row and row.folder for row in await box.mailbox.envelopes(refs)] == ["Trash", "INBOX"]


@pytest.mark.parametrize("fault", ["forgotten", "refused", "endless"])
async def test_without_a_history_everything_is_read_again(box: Box, fault: str) -> None:
    ref = box.deliver()
    await inbox(box)
    with box.gmail.lock:
        box.user.change_labels(box.user.message(ref), (), {"UNREAD"})
    if fault == "forgotten":
        box.gmail.forget_history(box.user)
    elif fault == "refused":
        box.gmail.fail_next("GET", "history.list", status=403, reason="insufficientPermissions")
    else:
        box.gmail.answer_next("GET", "history.list", json.dumps({"nextPageToken": "more"}), times=10)
    assert await inbox(box) == {ref: (False, ())}
    with box.gmail.lock:
        box.user.change_labels(box.user.message(ref), {"UNREAD"})
    assert await inbox(box) == {ref: (True, ())}


async def test_after_an_outage_what_was_read_before_is_still_known(box: Box, quick: None) -> None:
    ref = box.deliver()
    await inbox(box)
    for operation in ("history.list", "getProfile"):
        box.gmail.fail_next("GET", operation, times=3)
    with pytest.raises(ProviderUnavailable):
        await inbox(box)
    assert box.gmail.pending_faults == 0
    box.user.change_labels(box.user.message(ref), (), {"UNREAD"})
    box.gmail.forget()
    assert await inbox(box) == {ref: (False, ())}
    assert box.asked() == ["messages.list", "history.list"]


@pytest.mark.parametrize("verb", ["move", "put_into"])
async def test_a_message_whose_move_may_have_been_made_is_moved_back_from_where_it_is(box: Box, verb: str) -> None:
    ref, work = box.deliver(), box.label("Work")
    await inbox(box)
    box.gmail.cut_next("POST", "messages.batchModify", after_effect=True)
    (lost,) = await box.mailbox.move([ref], work)
    assert not lost.ok
    (back,) = await (box.mailbox.move([ref], "INBOX") if verb == "move" else box.mailbox.put_into([ref], ["INBOX"]))
    assert back.ok
    assert box.labels_of(ref) == {"INBOX", "UNREAD"}


async def test_a_message_read_while_the_history_went_on_is_not_kept(box: Box) -> None:
    """A change between the reading and the keeping would never be heard of again."""
    ref = box.deliver()
    known = box.mailbox.reader.known
    (row,) = await box.mailbox.reader.rows([ref])
    assert row is not None
    late = replace(row.envelope, ref="19a0ffffffffffff")
    known.keep([(late, row.labels)], read_at="an older cursor")
    assert set(await known.current([ref, late.ref])) == {ref}


async def test_only_so_many_are_kept(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.providers.gmail.mail.known._MOST", 3)
    refs = [box.deliver(f"m{number}") for number in range(5)]
    await box.mailbox.envelopes(refs)
    assert set(await box.mailbox.reader.known.current(refs)) == set(refs[2:])


async def test_a_thread_that_was_read_is_opened_without_another_request(box: Box) -> None:
    refs = [
        box.gmail.deliver(box.user, mail("t0", subject="Roof")).id,
        box.gmail.deliver(box.user, mail("t1", subject="Re: Roof", answers=["t0"])).id,
    ]
    await box.mailbox.thread(box.user.message(refs[0]).thread_id)
    box.gmail.forget()
    opened = await box.mailbox.fetch_many(refs)
    assert [message and message.envelope.ref for message in opened] == refs
    assert box.asked() == []
    await box.mailbox.set_flags(refs, add=["read"])
    again = await box.mailbox.fetch_many(refs)
    assert [message and message.envelope.unread for message in again] == [False, False]
