"""Who answers: the mirror where it is whole and fresh, the server where it is not, and the mirror again without one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.peers.faultproxy import faulty
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import Desk, desk

from postroom.model.capabilities import Capabilities
from postroom.model.errors import NotFound, ProviderUnavailable
from postroom.model.query.tree import In, Query, Subject, Text
from postroom.providers.layers.layered import Layered
from postroom.service.accounts.folders import folders_now, folders_of
from postroom.service.open_accounts import Account
from postroom.sync.file.status import note_fact
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio


async def test_a_whole_and_fresh_mirror_answers_without_the_server(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one", text="An elephant."), letter("two"))
        await mirrored.sync()
        it.asked.clear()
        found = await it.list(Query(Text("elephant")))
        (one,) = found.items
        message = await it.mailbox.fetch(one.ref)
        assert (message.body.text.strip(), [row.ref for row in await it.mailbox.thread(one.thread_ref)]) == (
            "An elephant.",
            [one.ref],
        )
        assert found.as_of is not None
        assert found.complete
        assert not it.asked


async def test_what_the_mirror_does_not_have_yet_is_asked_of_the_server(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        found = await it.list()
        assert ([row.subject for row in found.items], found.as_of) == (["one"], None)
        assert it.asked["search"] == 1


async def test_a_mirror_that_is_not_fresh_catches_up_before_it_answers(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0, catches_up=True) as it:
        it.append(letter("one"))
        await mirrored.sync()
        it.append(letter("two"))
        found = await it.list()
        assert {row.subject for row in found.items} == {"one", "two"}
        assert found.as_of is not None
        assert it.asked["search"] == 0


async def test_while_another_process_synchronizes_a_stale_mirror_leaves_the_answer_to_the_server(
    mirrored: Mirrored,
) -> None:
    async with desk(mirrored, max_age=0.0, catches_up=True) as it:
        it.append(letter("one"))
        await mirrored.sync()
        with mirrored.mirror.lock() as held:  # type: ignore[union-attr]
            assert held is not None
            found = await it.list()
        assert ([row.subject for row in found.items], found.as_of) == (["one"], None)


async def test_a_reader_who_cannot_take_the_lock_of_a_stale_mirror_asks_the_server(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0, catches_up=True) as it:
        it.append(letter("one"))
        await mirrored.sync()
        lock = mirrored.mirror.path.with_suffix(".lock")
        lock.unlink()
        lock.mkdir()
        found = await it.list()
        assert ([row.subject for row in found.items], found.as_of) == (["one"], None)


async def test_without_the_server_reading_goes_on_and_says_so_and_writing_fails(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0, catches_up=True) as it:
        it.append(letter("one", text="An elephant."))
        await mirrored.sync()
        (row,) = (await it.list()).items
        it.take_the_server_away()
        found = await it.list(Query(Text("elephant")))
        assert [one.ref for one in found.items] == [row.ref]
        assert found.as_of is not None
        assert it.layer.outage.since is not None
        assert (await it.mailbox.fetch(row.ref)).body.text.strip() == "An elephant."
        assert "INBOX" in {folder.name for folder in await it.mailbox.folders()}
        (refused,) = await it.mailbox.set_flags([row.ref], add=["starred"])
        assert isinstance(refused.error, ProviderUnavailable)
        it.bring_it_back()
        (row,) = (await it.list()).items
        assert not row.starred
        assert it.layer.outage.since is None


async def test_a_server_that_is_away_is_not_tried_again_by_every_reader(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0) as it:
        it.append(letter("one"))
        await mirrored.sync()
        it.take_the_server_away()
        await it.list()
        tried = it.asked["search"], it.asked["folders"]
        for _ in range(5):
            assert len((await it.list()).items) == 1
            assert "INBOX" in [folder.name for folder in await it.mailbox.folders()]
        assert (it.asked["search"], it.asked["folders"]) == tried


async def opened_without_the_server(mirrored: Mirrored) -> tuple[Capabilities, int]:
    """By a process that starts then: what the account can do, and how many messages it lists."""
    with faulty(mirrored.dovecot.imap) as proxy:
        later = Desk(mirrored, proxy, max_age=0.0, catches_up=True)
        later.take_the_server_away()
        found = await later.mailbox.connect()
        listed = await later.list()
        await later.mailbox.close()
    return found, len(listed.items)


async def test_an_account_opens_without_its_server_once_it_was_open_before(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()
        known = await it.mailbox.connect()
    assert await opened_without_the_server(mirrored) == (known, 1)


async def test_an_account_opens_without_its_server_once_its_mirror_was_filled(mirrored: Mirrored) -> None:
    """Whoever opened it before did so when there was no file yet, or did not open it at all."""
    async with desk(mirrored) as it:
        it.append(letter("one"))
        known = await it.mailbox.connect()
        await mirrored.sync()
    assert await opened_without_the_server(mirrored) == (known, 1)


async def test_what_another_version_noted_of_the_server_opens_the_account_too(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        await mirrored.sync()
        known = await it.mailbox.connect()
    others = {**asdict(known), "can_fly": True}
    del others["search_not_applied"]
    with mirrored.mirror.transaction() as connection:
        note_fact(connection, "capabilities", json.dumps(others))
    with faulty(mirrored.dovecot.imap) as proxy:
        later = Desk(mirrored, proxy, max_age=0.0, catches_up=True)
        later.take_the_server_away()
        assert await later.mailbox.connect() == known
        await later.mailbox.close()


async def test_an_account_whose_mirror_is_empty_does_not_open_without_its_server(mirrored: Mirrored) -> None:
    with faulty(mirrored.dovecot.imap) as proxy:
        it = Desk(mirrored, proxy, max_age=0.0, catches_up=True)
        it.take_the_server_away()
        with pytest.raises(ProviderUnavailable):
            await it.mailbox.connect()
        await it.mailbox.close()


async def test_a_draft_is_read_from_the_server_alone(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("idea"), folder="Drafts", flags="(\\Draft)")
        await mirrored.sync()
        (row,) = (await it.list(Query(In("Drafts")))).items
        it.asked.clear()
        await it.mailbox.fetch(row.ref)
        await it.mailbox.fetch_raw(row.ref)
        assert it.asked == {"fetch": 1, "fetch_raw": 1}


async def test_what_the_server_says_is_gone_is_not_shown_any_longer(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"), letter("two"))
        await mirrored.sync()
        one = next(row for row in (await it.list()).items if row.subject == "one")
        with mirrored.client() as client:
            client.select("INBOX")
            client.uid("STORE", one.ref.rpartition("|")[2], "+FLAGS", "(\\Deleted)")
            client.expunge()

        (result,) = await it.mailbox.set_flags([one.ref], add=["starred"])
        assert isinstance(result.error, NotFound)
        assert [row.subject for row in (await it.list()).items] == ["two"]


async def test_what_is_known_to_be_gone_is_not_looked_for_again(mirrored: Mirrored) -> None:
    async with desk(mirrored, catches_up=True) as it:
        it.append(letter("one"))
        await mirrored.sync()
        ghost = (await it.list()).items[0].ref.rpartition("|")[0] + "|99"
        before = mirrored.mirror.status().as_of
        (result,) = await it.mailbox.set_flags([ghost], add=["starred"])
        assert isinstance(result.error, NotFound)
        it.asked.clear()
        assert (await it.list()).as_of == before
        assert not it.asked


async def test_what_was_changed_through_us_is_seen_at_once(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"), letter("two"))
        await mirrored.sync()
        two, one = sorted((row for row in (await it.list()).items), key=lambda row: row.subject, reverse=True)
        archive = next(folder for folder in await it.mailbox.folders() if folder.name == "Archive")
        await it.mailbox.set_flags([one.ref], add=["read", "starred"])
        await it.mailbox.apply_label([one.ref], "Blue")
        (moved,) = await it.mailbox.move([two.ref], archive.ref)
        it.asked.clear()
        (left,) = (await it.list()).items
        assert (left.ref, left.unread, left.starred, left.labels) == (one.ref, False, True, ("Blue",))
        (there,) = (await it.list(Query(In("Archive")))).items
        assert there.ref == moved.new_ref
        assert await it.mailbox.envelopes([two.ref]) == [None]
        assert it.asked == {"envelopes": 1}, "only for the ref that is no more"
        await mirrored.sync()
        assert sorted(mirrored.rows()) == sorted([one.ref, moved.new_ref])


async def test_after_a_draft_was_saved_through_us_the_next_reader_looks_anew(mirrored: Mirrored) -> None:
    async with desk(mirrored, catches_up=True) as it:
        it.append(letter("one"))
        await mirrored.sync()
        await it.mailbox.create_draft(letter("idea"))
        found = await it.list(Query(In("Drafts")))
        assert [row.subject for row in found.items] == ["idea"]


async def test_a_mirror_of_headers_leaves_words_of_the_body_to_the_server(mirrored: Mirrored) -> None:
    mirrored.changes["mirror"] = "headers"
    async with desk(mirrored) as it:
        it.append(letter("one", text="An elephant."))
        await mirrored.sync()
        it.asked.clear()
        assert len((await it.list(Query(Subject("one")))).items) == 1
        assert not it.asked
        found = await it.list(Query(Text("elephant")))
        assert (len(found.items), found.as_of, it.asked["search"]) == (1, None, 1)


async def test_a_folder_that_is_left_out_is_the_servers_and_a_search_of_all_says_that_it_is_not_everything(
    mirrored: Mirrored,
) -> None:
    mirrored.changes["mirror_leave_out"] = ("Archive",)
    async with desk(mirrored) as it:
        it.append(letter("one"))
        it.append(letter("old"), folder="Archive")
        await mirrored.sync()
        found = await it.list(Query(In("Archive")))
        assert ([row.subject for row in found.items], found.as_of) == (["old"], None)
        found = await it.list(Query())
        assert ([row.subject for row in found.items], found.complete) == (["one"], False)


async def test_a_damaged_mirror_is_no_error_for_a_reader(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()
    mirrored.mirror.close()
    mirrored.mirror.path.write_bytes(b"not a database at all" * 400)
    async with desk(mirrored) as it:
        found = await it.list()
        assert ([row.subject for row in found.items], found.as_of) == (["one"], None)
        assert mirrored.mirror.is_rebuild_asked
    await mirrored.sync()
    assert len(mirrored.rows()) == 1


async def test_an_outage_is_over_once_the_server_confirmed_the_mirror_again(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()
        it.take_the_server_away()
        await it.mailbox.folders()
        assert it.layer.outage.since is not None
        it.proxy.reset()
        await mirrored.sync()  # by whoever follows the server
        assert len((await it.list()).items) == 1
        assert it.layer.outage.since is None


async def test_a_look_that_began_before_a_change_through_us_does_not_make_the_mirror_fresh(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()

        async def saving_meanwhile(*args: Any) -> Any:
            states = await bare.folder_states(*args)
            await it.mailbox.create_draft(letter("idea"))
            return states

        bare = it._bare
        account = it.account
        looking: Any = Layered(bare, "imap", [lambda verb, call: saving_meanwhile if verb == "folder_states" else call])
        async with Syncing(mirrored.mirror, looking, account) as syncing:
            await syncing.catch_up()
        found = await it.list(Query(In("Drafts")))
        assert ([row.subject for row in found.items], found.as_of) == (["idea"], None)
        it.take_the_server_away()
        assert (await it.list()).as_of is not None, "what the mirror says is never passed off as the server's word"


async def test_the_mirror_of_another_mailbox_under_the_same_name_answers_for_nothing(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()
        assert (await it.list()).as_of is not None
    mirrored.user = mirrored.dovecot.new_user("other")
    async with desk(mirrored) as it:
        found = await it.list()
        assert (found.items, found.as_of) == ((), None)
        it.take_the_server_away()
        with pytest.raises(ProviderUnavailable):
            await it.list()
    await mirrored.sync()
    assert mirrored.rows() == {}


async def test_a_folder_made_on_a_server_that_is_back_is_listed_at_once(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0) as it:
        it.append(letter("one"))
        await mirrored.sync()
        it.take_the_server_away()
        await it.list()
        it.proxy.reset()
        made = await it.mailbox.create_folder("Plans")
        assert made.ref in [folder.ref for folder in await it.mailbox.folders()]


async def test_before_a_change_the_folders_are_those_of_a_server_that_is_back(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0) as it:
        it.append(letter("one"))
        await mirrored.sync()
        account = Account(it.account, it.mailbox, await it.mailbox.connect(), it.mailbox.close)
        it.take_the_server_away()
        await it.list()
        assert it.layer.outage.is_on
        it.proxy.reset()
        with mirrored.client() as client:
            client.create("Plans")
        assert "Plans" in [folder.name for folder in await folders_now(account)]
        assert "Plans" in [folder.name for folder in await folders_of(account)]


async def test_nothing_is_changed_by_what_the_mirror_knows_of_folders(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0) as it:
        it.append(letter("one"))
        await mirrored.sync()
        account = Account(it.account, it.mailbox, await it.mailbox.connect(), it.mailbox.close)
        it.take_the_server_away()
        assert "INBOX" in [folder.name for folder in await folders_of(account)]
        with pytest.raises(ProviderUnavailable):
            await folders_now(account)


async def test_a_mirror_confirmed_in_the_future_is_not_fresh(mirrored: Mirrored) -> None:
    """The clock was three days ahead when the server was looked at, and is right again."""
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()
        with mirrored.mirror.transaction() as connection:
            connection.execute("UPDATE mirrored_folder SET as_of = as_of + 3 * 86400")
        it.append(letter("two"))
        it.asked.clear()
        assert len((await it.list()).items) == 2
        assert it.asked["search"] == 1
