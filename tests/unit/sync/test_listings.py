"""Mailboxes without numbers: whatever happens while they are read, nothing is missing afterwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.listed import LATEST, Listed, Listing, Reporting, listed

from postroom.model.changes import ChangePage
from postroom.model.errors import CursorExpired, NotFound, PostroomError, ProviderError, ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.model.ids import Kind
from postroom.model.query.tree import In, Query
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.status import note_fact
from postroom.sync.following import by_listing
from postroom.sync.following.handles import pass_on
from postroom.sync.tables import walking

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[Reporting, Listing], ids=["reporting", "listing"])
def it(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listed:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 5)
    monkeypatch.setattr(by_listing, "_PAGE", 20)
    return listed(request.param, tmp_path)


async def test_new_mail_that_comes_while_the_pages_are_read_is_there(it: Listed) -> None:
    it.add(60)
    it.add(30, "Work")
    it.meanwhile("search", 5, lambda: it.add(3, begin=100))
    await it.sync()
    it.same()


async def test_messages_that_go_while_the_pages_are_read_hide_no_others(it: Listed) -> None:
    refs = it.add(60)
    it.meanwhile("search", 4, lambda: [it.contents.remove(ref) for ref in refs[-20:]])
    await it.sync()
    it.same()


async def test_messages_that_are_moved_while_the_pages_are_read_hide_no_others(it: Listed) -> None:
    refs = it.add(60)
    it.meanwhile("search", 4, lambda: [it.put(ref, "Archive") for ref in refs[-50:]])
    await it.sync()
    it.same()


async def test_a_message_that_comes_to_a_folder_that_was_read_already_is_there(it: Listed) -> None:
    it.add(10)
    it.add(60, "Work")
    it.meanwhile("search", 8, lambda: it.add(1, begin=50))
    await it.sync()
    it.same()


async def test_a_folder_that_was_left_out_is_filled_when_it_is_wanted(it: Listed) -> None:
    it.add(3)
    it.add(4, "Work")
    await it.sync(mirror_leave_out=("Work",))
    await it.sync(mirror_leave_out=())
    it.same()


async def test_what_is_in_a_folder_that_is_left_out_from_now_on_is_not_kept(it: Listed) -> None:
    it.add(3)
    it.add(4, "Work")
    await it.sync()
    await it.sync(mirror_leave_out=("Work",))
    assert len(it.rows()) == 3


async def test_a_message_that_was_moved_into_a_folder_that_is_left_out_is_not_kept(it: Listed) -> None:
    refs = it.add(3)
    await it.sync(mirror_leave_out=("Work",))
    it.put(refs[0], "Work")
    await it.sync()
    assert set(it.rows()) == set(refs[1:])


async def test_a_message_that_is_only_in_a_collection_is_not_kept(it: Listed) -> None:
    it.contents.folders.append(Folder("f8", "All", Role.ALL))
    refs = it.add(3)
    await it.sync()
    it.put(refs[0], "All")
    await it.sync()
    assert set(it.rows()) == set(refs[1:])


@pytest.mark.parametrize("verb", ["changed_since", "envelopes", "search"])
async def test_what_is_in_a_folder_that_is_made_between_two_requests_is_there(it: Listed, verb: str) -> None:
    refs = it.add(3)
    await it.sync()

    def make() -> None:
        it.contents.folders.append(Folder("f9", "New"))
        it.put(refs[0], "New")
        it.contents.add(b"Subject: x\r\n\r\nhello", "New")

    it.add(1, begin=20)
    it.meanwhile(verb, 1, make)
    await it.sync()
    it.now += 3600
    await it.sync()
    it.same()


@pytest.mark.parametrize("is_first", [True, False], ids=["first fill", "comparison"])
async def test_what_is_in_a_folder_that_is_made_as_the_pages_are_begun_is_there(it: Listed, is_first: bool) -> None:
    it.add(3)
    if not is_first:
        await it.sync()
        with it.mirror.transaction() as connection:
            note_fact(connection, walking.CURSOR, "")

    def make() -> None:
        it.contents.folders.append(Folder("f9", "New"))
        it.add(2, "New")

    it.meanwhile("search" if isinstance(it.server, Listing) else "changed_since", 1, make)
    await it.sync()
    it.now += 3600
    await it.sync()
    it.same()


@pytest.mark.parametrize("verb", ["changed_since", "envelopes", "search"])
async def test_what_is_in_a_folder_that_is_renamed_between_two_requests_is_there(it: Listed, verb: str) -> None:
    refs = it.add(3)
    it.add(20, "Work")
    it.meanwhile(verb, 3, lambda: (it.rename("Work", "Works"), it.put(refs[0], "Works")))
    await it.sync()
    await it.sync()
    it.same()


async def test_a_message_in_a_folder_that_is_not_listed_does_not_hide_that_another_folder_is_renamed(
    it: Listed,
) -> None:
    hidden, shown = it.add(1) + it.add(1, "Work")
    await it.sync()
    it.put(hidden, "Secret")
    it.put(shown, "Work")
    it.meanwhile("folders", 4, lambda: it.rename("Work", "Works"))
    await it.sync()
    it.now += 3600
    await it.sync()
    assert {ref: row.folder for ref, row in it.rows().items()} == {shown: it.contents.mails[shown][0].folder}


@pytest.mark.parametrize("verb", ["changed_since", "envelopes", "search"])
async def test_messages_stay_in_their_folders_when_two_exchange_names_between_two_requests(
    it: Listed, verb: str
) -> None:
    it.add(3)
    works, plans = it.add(4, "Work"), it.add(4, "Plans")
    await it.sync()

    def exchange() -> None:
        for old, new in (("Work", "On its way"), ("Plans", "Work"), ("On its way", "Plans")):
            it.rename(old, new)
        it.contents.log += [works[0], plans[0]]

    it.add(1, begin=20)
    it.now += 3600
    it.meanwhile(verb, 1, exchange)
    await it.sync()
    it.now += 3600
    await it.sync()
    it.same()


async def test_a_folder_that_goes_leaves_nothing_behind(it: Listed) -> None:
    it.add(3)
    refs = it.add(4, "Work")
    await it.sync()
    for ref in refs[1:]:
        it.contents.remove(ref)
    it.put(refs[0], "INBOX")
    it.contents.folders = [one for one in it.contents.folders if one.name != "Work"]
    await it.sync()
    it.same()


async def test_a_mirror_of_some_days_is_not_complete_once_messages_of_any_age_are_wanted(it: Listed) -> None:
    it.now = (LATEST + timedelta(days=60)).timestamp()
    it.add(60)
    await it.sync(mirror_days=40)
    assert len(it.rows()) < 60
    it.account = it.account.model_copy(update={"mirror_days": 0})
    it.meanwhile("search", 2, _go_away)
    with pytest.raises(ProviderUnavailable):
        await it.sync()
    assert not it.mirror.status().complete
    await it.sync()
    it.same()


def _go_away() -> None:
    raise ProviderUnavailable("The server is away.")


async def test_a_service_that_gives_the_same_page_for_ever_is_not_taken_for_complete(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.add(60)
    search = it.server.search

    async def first_page(query: Query, *, limit: int, offset: int) -> Any:
        return await search(query, limit=limit, offset=0)

    monkeypatch.setattr(it.server, "search", first_page)
    with pytest.raises(ProviderError, match="same page"):
        await it.sync()
    assert not it.mirror.status().complete


async def test_a_page_whose_messages_all_went_since_they_were_listed_does_not_end_the_listing(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server lists ids, and the messages are read after that."""
    it.add(30)
    search = it.server.search
    pages = 0

    async def found_too_late(query: Query, *, limit: int, offset: int) -> Any:
        nonlocal pages
        page = await search(query, limit=limit, offset=offset)
        if In("f1") != query.node or (pages := pages + 1) > 1:
            return page
        for row in page.items:
            it.contents.remove(row.ref)
        return replace(page, items=())

    monkeypatch.setattr(it.server, "search", found_too_late)
    await it.sync()
    assert len(it.rows()) == 25
    it.same()


async def test_a_server_that_lists_messages_and_never_gives_one_is_not_taken_for_complete(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.add(30)
    search = it.server.search

    async def nothing(query: Query, *, limit: int, offset: int) -> Any:
        return replace(await search(query, limit=limit, offset=offset), items=())

    monkeypatch.setattr(it.server, "search", nothing)
    with pytest.raises(ProviderError):
        await it.sync()
    assert not it.mirror.status().complete


async def test_a_server_that_always_has_more_changes_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = listed(Reporting, tmp_path)
    it.add(3)
    await it.sync()
    changed_since = it.server.changed_since

    async def the_same_again(cursor: str, *, limit: int) -> ChangePage:
        if cursor:
            it.server.changed_since = changed_since  # type: ignore[method-assign]
        return ChangePage((), (), cursor, has_more=True) if cursor else await changed_since(cursor, limit=limit)

    monkeypatch.setattr(it.server, "changed_since", the_same_again)
    it.add(1, begin=9)
    await it.sync()
    it.same()


async def test_a_folder_that_could_not_be_read_is_not_taken_for_gone(it: Listed) -> None:
    it.add(3)
    it.add(3, "Work")

    def refuse() -> None:
        raise NotFound("The proxy has no such page.")

    it.meanwhile("search", 4, refuse)
    with pytest.raises(NotFound):
        await it.sync()
    assert not it.mirror.status().complete
    await it.sync()
    it.same()


async def test_what_came_before_a_cursor_expired_while_the_pages_were_read_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 5)
    monkeypatch.setattr(by_listing, "_PAGE", 20)
    it = listed(Reporting, tmp_path)
    it.add(3)
    it.add(60, "Work")

    def lose() -> None:
        it.add(1, begin=50)
        raise CursorExpired("x")

    it.meanwhile("changed_since", 6, lose)
    await it.sync()
    it.same()


@pytest.mark.parametrize("error", [NotFound("It is not there."), ProviderError("It cannot be read.")], ids=repr)
async def test_of_a_message_that_the_server_does_not_give_out_there_is_what_it_lists(
    it: Listed, monkeypatch: pytest.MonkeyPatch, error: PostroomError
) -> None:
    refs = it.add(3)
    fetch = it.server.fetch

    async def refusing(ref: str) -> Any:
        if ref == refs[1]:
            raise error
        return await fetch(ref)

    monkeypatch.setattr(it.server, "fetch", refusing)
    await it.sync()
    it.same()


async def test_an_id_that_another_message_has_now_shows_that_one_and_no_handle_leads_from_one_to_the_other(
    tmp_path: Path,
) -> None:
    it = listed(Listing, tmp_path)
    handles = Handles(Database(tmp_path / "state.db"))
    (ref,) = it.add(1)
    await it.sync()
    (handle,) = handles.issue(Kind.EMAIL, "mine", [ref])
    other = it.contents.add(letter("another", text="An elephant."), date=LATEST)
    it.contents.mails[ref] = (replace(it.contents.mails.pop(other)[0], ref=ref), letter("another", text="An elephant."))
    it.now += 3600
    await it.sync()
    pass_on(it.mirror, handles, "mine")
    it.same()
    assert "An elephant." in (await it.mailbox(max_age=1e9).fetch(ref)).body.text
    assert handles.resolve(handle, Kind.EMAIL).ref != ref
    assert handles.issue(Kind.EMAIL, "mine", [ref]) != [handle]
