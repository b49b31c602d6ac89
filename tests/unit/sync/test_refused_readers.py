"""Who answers while a server refuses one folder: that one's readers ask the server first, everybody else the mirror."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.peers.accounts import letter
from tests.peers.dovecot import Dovecot
from tests.peers.faultproxy import FaultProxy
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import INBOX, Desk, desk
from tests.unit.sync.filling import fill_partly

from postroom.model.errors import ProviderUnavailable
from postroom.model.ids import Kind
from postroom.model.query.tree import In, Query, Text
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import by_folder
from postroom.sync.following.syncing import Syncing, Tools
from postroom.sync.tables import identity
from postroom.sync.tables.identity import Former

pytestmark = pytest.mark.anyio

ARCHIVE, EVERYTHING = Query(In("Archive")), Query(anywhere=True)


def in_use(proxy: FaultProxy, folder: str = "Archive") -> None:
    """As long as this lasts, for whoever comes through the proxy."""
    named = tuple(f"{verb} {quote}{folder}".encode() for verb in ("SELECT", "EXAMINE", "STATUS") for quote in ("", '"'))
    proxy.reset(refuse=lambda command: b"NO [INUSE] locked" if command.startswith(named) else None)


@contextmanager
def unreadable(mirrored: Mirrored, folder: str = ".Archive") -> Iterator[None]:
    """Dovecot itself may not look into it."""
    assert isinstance(mirrored.dovecot, Dovecot)
    place = mirrored.dovecot.maildir(mirrored.user) / folder / "cur"
    mirrored.dovecot.doveadm("kick", mirrored.user)
    os.chmod(place, 0)
    try:
        yield
    finally:
        os.chmod(place, 0o700)


def subjects(found: object) -> set[str]:
    return {row.subject for row in found.items}  # type: ignore[attr-defined]


async def looked(it: Desk) -> None:
    async with Syncing(it.mirrored.mirror, it.server, it.account) as syncing:
        await syncing.once()


async def filled(it: Desk) -> None:
    it.append(letter("new"), letter("newer", text="An elephant."))
    it.append(letter("old"), letter("older", text="An elephant."), folder="Archive")
    await looked(it)


async def test_all_other_folders_are_answered_by_the_mirror(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        await filled(it)
        with mirrored.mirror.transaction() as connection:
            connection.execute("UPDATE mirrored_folder SET as_of = as_of - 7200")
        (before,) = {folder.as_of for folder in mirrored.mirror.status().folders if folder.name == "Archive"}
        in_use(it.proxy)
        it.append(letter("newest"))
        it.append(letter("oldest"), folder="Archive")
        await looked(it)
        it.asked.clear()
        inbox = await it.list(INBOX)
        assert subjects(inbox) == {"new", "newer", "newest"}
        assert inbox.as_of is not None
        assert before is not None
        assert inbox.as_of > before
        everything = await it.list(EVERYTHING)
        assert (everything.as_of, subjects(everything)) == (before, {"new", "newer", "newest", "old", "older"})
        assert subjects(await it.list(Query(Text("elephant")))) == {"newer", "older"}
        assert (it.asked["search"], it.layer.outage.is_on) == (0, False)


async def test_readers_of_a_folder_in_use_ask_the_server_and_get_what_the_mirror_has(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0) as it:
        await filled(it)
        before = (await it.list(ARCHIVE)).items
        in_use(it.proxy)
        it.proxy.cut_all()  # some connection still had it open
        it.append(letter("oldest"), folder="Archive")
        it.asked.clear()
        found = await it.list(ARCHIVE)
        assert (it.asked["search"], subjects(found), found.as_of is None) == (1, {"old", "older"}, False)
        assert (await it.mailbox.fetch(before[0].ref)).envelope.subject == before[0].subject
        assert it.asked["fetch"] == 1
        assert [row.ref for row in await it.mailbox.envelopes([row.ref for row in before])] == [r.ref for r in before]
        assert not it.layer.outage.is_on, "the server answers for other folders"
        it.proxy.reset()
        assert subjects(await it.list(ARCHIVE)) == {"old", "older", "oldest"}, "before any other round"


async def test_a_folder_that_a_round_was_refused_is_not_asked_for_again_at_once(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        await filled(it)
        with mirrored.mirror.transaction() as connection:
            connection.execute("UPDATE mirrored_folder SET as_of = as_of - 7200")
        in_use(it.proxy)
        it.proxy.cut_all()
        it.append(letter("oldest"), folder="Archive")
        await looked(it)
        it.asked.clear()
        assert (subjects(await it.list(ARCHIVE)), it.asked["search"]) == ({"old", "older"}, 0)
        with mirrored.mirror.transaction() as connection:
            connection.execute("UPDATE mirrored_folder SET refused_at = refused_at - 31")
        assert (subjects(await it.list(ARCHIVE)), it.asked["search"]) == ({"old", "older"}, 1)


async def test_a_real_server_that_cannot_read_a_folder_is_answered_for_by_the_mirror(mirrored: Mirrored) -> None:
    async with desk(mirrored, max_age=0.0, catches_up=True) as it:
        await filled(it)
        it.append(letter("oldest"), folder="Archive")
        it.append(letter("newest"))
        with unreadable(mirrored):
            await looked(it)
            status = mirrored.mirror.status()
            assert "Archive: The mail server reports an internal error." in status.refusals
            assert subjects(await it.list(INBOX)) == {"new", "newer", "newest"}
            found = await it.list(ARCHIVE)
            assert (subjects(found), found.as_of is None) == ({"old", "older"}, False)
            assert not it.layer.outage.is_on
        await looked(it)
        assert (mirrored.mirror.status().refusals, mirrored.mirror.status().complete) == ("", True)
        assert subjects(await it.list(ARCHIVE)) == {"old", "older", "oldest"}


async def test_a_real_server_that_cannot_read_the_inbox_is_an_account_like_any_other(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        await filled(it)
    mirrored.changes |= {"timeout": 5}
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("newest"))
        client.append("Archive", "", None, letter("oldest"))
    with unreadable(mirrored, ""):
        await mirrored.sync()
        assert "INBOX: " in mirrored.mirror.status().refusals
        assert {row.subject for row in mirrored.rows().values()} == {"new", "newer", "old", "older", "oldest"}
    await mirrored.sync()
    assert mirrored.mirror.status().refusals == ""
    assert "newest" in {row.subject for row in mirrored.rows().values()}


async def test_a_folder_that_was_never_read_is_missing_from_a_search_that_says_so(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        in_use(it.proxy)
        await filled(it)
        it.asked.clear()
        found = await it.list(EVERYTHING)
        assert (subjects(found), found.complete, found.as_of is None) == ({"new", "newer"}, False, False)
        assert it.asked["search"] == 0
        with pytest.raises(ProviderUnavailable, match="another program is using it"):
            await it.list(ARCHIVE)
        it.proxy.reset()
        assert subjects(await it.list(ARCHIVE)) == {"old", "older"}


async def test_while_others_are_filled_the_server_is_not_asked_for_what_it_refuses(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_folder, "_FIRST_PAGE", 4)
    monkeypatch.setattr(by_folder, "_TURN", 5)
    async with desk(mirrored) as it:
        it.append(*(letter(f"new{number}") for number in range(20)))
        it.append(letter("old"), folder="Archive")
        in_use(it.proxy)
        await fill_partly(mirrored.mirror, it.account, turns=3)
        (inbox,) = [folder for folder in mirrored.mirror.status().folders if folder.name == "INBOX"]
        assert 0 < inbox.messages < 20
        found = await it.mailbox.search(EVERYTHING, limit=50, offset=0)
        assert subjects(found) == {f"new{number}" for number in range(20)}
        assert (found.complete, it.asked["search_rest"], it.asked["search"]) == (False, 1, 0)


async def test_handles_follow_messages_that_move_into_and_out_of_a_refused_folder(mirrored: Mirrored) -> None:
    handles = Handles(Database(mirrored.mirror.path.parent.parent / "state.db"))
    async with desk(mirrored) as it:
        await filled(it)
        refs = {row.subject: row.ref for row in (await it.list(EVERYTHING)).items}
        wanted = [refs["new"], refs["old"], refs["older"]]
        given = dict(zip(("new", "old", "older"), handles.issue(Kind.EMAIL, "mine", wanted), strict=True))
        in_use(it.proxy)
        with mirrored.client() as client:
            for folder, subject, target in (("INBOX", "new", "Archive"), ("Archive", "old", "INBOX")):
                client.select(folder)
                _, (found,) = client.uid("SEARCH", "SUBJECT", f'"{subject}"')
                client.uid("MOVE", found.decode().split()[0], target)
        for _ in range(2):
            async with Syncing(mirrored.mirror, it.server, it.account, Tools(handles)) as syncing:
                await syncing.once()
            it.proxy.reset()
        rows = mirrored.rows()
        assert sorted(row.subject for row in rows.values()) == ["new", "newer", "old", "older"]
        for subject, handle in given.items():
            row = rows[handles.resolve(handle, Kind.EMAIL).ref]
            assert row.subject == subject
        assert rows[handles.resolve(given["new"], Kind.EMAIL).ref].folder == "Archive"
        assert rows[handles.resolve(given["old"], Kind.EMAIL).ref].folder == "INBOX"


async def test_handles_survive_a_reset_during_which_a_folder_is_refused(mirrored: Mirrored) -> None:
    handles = Handles(Database(mirrored.mirror.path.parent.parent / "state.db"))
    async with desk(mirrored) as it:
        await filled(it)
        refs = {row.subject: row.ref for row in (await it.list(EVERYTHING)).items}
        given = dict(zip(refs, handles.issue(Kind.EMAIL, "mine", list(refs.values())), strict=True))
        with mirrored.client() as client:
            client.select("INBOX")
            client.uid("MOVE", refs["new"].rpartition("|")[2], "Archive")
        mirrored.mirror.ask_for_reset()
        in_use(it.proxy)
        it.proxy.cut_all()
        for _ in range(2):
            async with Syncing(mirrored.mirror, it.server, it.account, Tools(handles)) as syncing:
                await syncing.once()
            it.proxy.reset()
        rows = mirrored.rows()
        found = {subject: rows[handles.resolve(handle, Kind.EMAIL).ref].subject for subject, handle in given.items()}
        assert found == {subject: subject for subject in ("new", "newer", "old", "older")}


async def test_a_deleted_folder_that_is_listed_for_those_below_it_is_gone_and_not_refused(
    poor: Dovecot, tmp_path: Path
) -> None:
    """Dovecot 2.3 says in words alone that there is no such folder, and lists it as one that can be opened."""
    mirrored = Mirrored(poor, poor.new_user("parent"), Mirror(tmp_path / "mine.db"), {})
    with mirrored.client() as client:
        client.create("Projects/Aurora")
        client.create("Projects")
        client.append("Projects", "", None, letter("plan"))
    await mirrored.sync()
    assert [row.subject for row in mirrored.rows().values()] == ["plan"]
    with mirrored.client() as client:
        client.delete("Projects")
        assert any(line.endswith(b" Projects") and b"Noselect" not in line for line in client.list()[1])
    await mirrored.sync()
    status = mirrored.mirror.status()
    assert (mirrored.rows(), status.refusals, status.complete) == ({}, "", True)
    assert "Projects" not in {folder.name for folder in status.folders}


def test_of_copies_that_disappeared_the_last_one_is_found_again(mirrored: Mirrored) -> None:
    with mirrored.mirror.transaction() as connection:
        for moment, ref in enumerate(("b", "c", "a")):
            identity.remember(connection, [Former(ref, "bytes x")], float(moment))
        found: list[tuple[str, str]] = []
        for ref in ("new", "newer"):
            identity.find_again(connection, [("bytes x", ref)], lambda _, old, new: found.append((old, new)))
    assert found == [("a", "new"), ("c", "newer")]
