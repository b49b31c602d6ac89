"""Labels and folders as sets: where a message is, where it goes, and how that is undone."""

from __future__ import annotations

import pytest

from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.model.folder import Role
from postroom.model.query.tree import In, Is, Not, Or, Query
from postroom.providers.gmail.mail.labels import ANSWERED

from .conftest import Box


async def folders_of(box: Box, ref: str) -> tuple[str, ...]:
    (row,) = await box.mailbox.envelopes([ref])
    assert row is not None
    return row.folders


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (("INBOX", "UNREAD"), ("INBOX",)),
        (("SENT", "INBOX"), ("INBOX", "Sent")),
        (("SENT",), ("Sent",)),
        (("INBOX", "Work", "Art"), ("INBOX", "Art", "Work")),
        (("Work",), ("Work",)),
        ((), ("Archive",)),
        (("TRASH", "Work"), ("Trash",)),
        (("SPAM",), ("Spam",)),
        (("IMPORTANT", "CATEGORY_UPDATES"), ("Archive",)),
    ],
)
async def test_a_message_is_in_these_folders(box: Box, labels: tuple[str, ...], shown: tuple[str, ...]) -> None:
    made = {name: box.label(name) for name in ("Work", "Art")}
    ref = box.deliver(labels=tuple(made.get(label, label) for label in labels))
    assert await folders_of(box, ref) == shown
    (row,) = (await box.mailbox.search(Query(In(shown[0])), limit=5, offset=0)).items
    assert row.ref == ref


async def test_moving_leaves_one_folder_and_keeps_the_others(box: Box) -> None:
    work, art = box.label("Work"), box.label("Art")
    ref = box.deliver(labels=("INBOX", "UNREAD", work))
    await box.mailbox.move([ref], art)
    assert box.labels_of(ref) == {"UNREAD", work, art}
    await box.mailbox.move([ref], "INBOX")
    assert box.labels_of(ref) == {"INBOX", "UNREAD", work}


@pytest.mark.parametrize("bin_label", ["TRASH", "SPAM"])
async def test_what_is_discarded_comes_back_as_it_was(box: Box, bin_label: str) -> None:
    work = box.label("Work")
    refs = [box.deliver("a", labels=("INBOX", "STARRED", work)), box.deliver("b", labels=(work,))]
    before = [box.labels_of(ref) for ref in refs]
    rows = [row for row in await box.mailbox.envelopes(refs) if row]
    await box.mailbox.move(refs, bin_label)
    assert all(bin_label in box.labels_of(ref) and "INBOX" not in box.labels_of(ref) for ref in refs)
    found = (await box.mailbox.search(Query(In("Work")), limit=5, offset=0)).items
    assert found == ()
    names = {folder.name: folder.ref for folder in await box.mailbox.folders()}
    for ref, row in zip(refs, rows, strict=True):
        (result,) = await box.mailbox.put_into([ref], [names[name] for name in row.folders])
        assert result.ok
    assert [box.labels_of(ref) for ref in refs] == before


async def test_a_sent_message_comes_back_from_the_trash_to_sent(box: Box) -> None:
    ref = box.deliver(labels=("SENT",))
    await box.mailbox.move([ref], "TRASH")
    assert await folders_of(box, ref) == ("Trash",)
    (result,) = await box.mailbox.move([ref], "SENT")
    assert (result.ok, await folders_of(box, ref)) == (True, ("Sent",))


@pytest.mark.parametrize("folder", ["SENT", "DRAFT"])
async def test_nothing_is_moved_to_where_gmail_alone_files(box: Box, folder: str) -> None:
    ref = box.deliver()
    (result,) = await box.mailbox.move([ref], folder)
    assert isinstance(result.error, InvalidRequest)
    assert box.labels_of(ref) == {"INBOX", "UNREAD"}


async def test_archiving_takes_the_inbox_away_and_nothing_else(box: Box) -> None:
    work = box.label("Work")
    ref = box.deliver(labels=("INBOX", "UNREAD", work))
    await box.mailbox.move([ref], "ARCHIVE")
    assert box.labels_of(ref) == {"UNREAD", work}
    assert [row.ref for row in (await box.mailbox.search(Query(In("archive")), limit=5, offset=0)).items] == [ref]


async def test_many_moves_take_one_list_and_one_change(box: Box) -> None:
    refs = [box.deliver(f"m{number}") for number in range(60)]
    box.gmail.forget()
    assert all(result.ok for result in await box.mailbox.move(refs, "TRASH"))
    assert box.asked() == ["labels.list", "messages.list", "messages.batchModify"]


async def test_two_flags_at_once_reach_messages_that_a_list_answered_for(box: Box) -> None:
    refs = [box.deliver(f"m{number}", labels=("INBOX", "UNREAD", "STARRED")) for number in range(30)]
    assert all(result.ok for result in await box.mailbox.set_flags(refs, add=["read", "unstarred"]))
    assert all(box.labels_of(ref) == {"INBOX"} for ref in refs)


async def test_marks_are_hidden_labels_that_are_nobodys_folder(box: Box) -> None:
    first, second = box.deliver("first"), box.deliver("second")
    await box.mailbox.set_flags([first], add=["answered"])
    (label,) = [label for label in box.user.labels if label.name == ANSWERED]
    assert (label.label_list, label.message_list) == ("labelHide", "hide")
    assert ANSWERED not in await box.mailbox.labels()
    assert ANSWERED not in {folder.name for folder in await box.mailbox.folders()}
    with pytest.raises(NotFound):
        await box.mailbox.move([second], label.id)
    await box.mailbox.remove_label([first], ANSWERED)
    assert label.id in box.labels_of(first)
    for node, found in ((Is("answered"), first), (Not(Is("answered")), second)):
        page = await box.mailbox.search(Query(node), limit=5, offset=0)
        assert [row.ref for row in page.items] == [found]


async def test_folders_and_their_counts_are_one_request(box: Box) -> None:
    box.label("Work")
    box.deliver()
    await box.mailbox.folders()
    box.gmail.forget()
    folders = {folder.name: folder for folder in await box.mailbox.folders()}
    assert box.asked() == ["batch"]
    assert (folders["INBOX"].total, folders["INBOX"].unread, folders["Work"].total) == (1, 1, 0)
    assert {folder.role for folder in folders.values() if folder.role} == set(Role) - {Role.ALL, Role.FLAGGED}


async def test_a_label_that_somebody_renamed_or_made_meanwhile_is_known_at_once(box: Box) -> None:
    await box.mailbox.folders()
    ref = box.deliver(labels=("INBOX", box.label("Fresh")))
    assert (await box.mailbox.envelopes([ref]))[0].labels == ("Fresh",)  # type: ignore[union-attr]
    box.label("Newest")
    page = await box.mailbox.search(Query(In("Newest")), limit=5, offset=0)
    assert page.items == ()


async def test_a_label_that_another_program_makes_in_the_same_moment_is_used(box: Box) -> None:
    ref = box.deliver()
    await box.mailbox.labels()
    made = box.label("Race")
    box.mailbox._labels.named = lambda name: _none()  # type: ignore[method-assign, assignment]
    assert (await box.mailbox.apply_label([ref], "Race"))[0].ok
    assert made in box.labels_of(ref)


async def _none() -> None:
    return None


async def test_gmails_own_folders_are_not_deleted(box: Box) -> None:
    for ref in ("INBOX", "ARCHIVE"):
        with pytest.raises(InvalidRequest):
            await box.mailbox.delete_folder(ref)
    with pytest.raises(Conflict):
        await box.mailbox.create_folder("Archive")


async def test_a_query_that_names_folders_by_or_looks_into_the_trash_too(box: Box) -> None:
    kept, binned = box.deliver("kept"), box.deliver("binned", labels=("TRASH",))
    page = await box.mailbox.search(Query(Or((In("inbox"), In("trash")))), limit=5, offset=0)
    assert {row.ref for row in page.items} == {kept, binned}
    page = await box.mailbox.search(Query(Not(In("inbox"))), limit=5, offset=0)
    assert {row.ref for row in page.items} == {binned}
