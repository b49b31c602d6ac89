"""Handles after a mirror was thrown away and filled again: each leads to the message it was issued for, and to no
other, whatever happened to the mailbox meanwhile."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.peers.accounts import letter
from tests.peers.dovecot import Dovecot
from tests.unit.sync.checking import handles_lead_there, same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import desk
from tests.unit.sync.second_client import SecondClient

from postroom.model.errors import PostroomError, ProviderUnavailable
from postroom.model.ids import Kind
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.limits import Limits, apply_limits
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import carrying
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def handles(tmp_path: Path) -> Handles:
    return Handles(Database(tmp_path / "state.db"))


async def reset(mirrored: Mirrored, handles: Handles) -> None:
    mirrored.mirror.ask_for_rebuild("reset")
    await mirrored.sync(Tools(handles))


async def reset_and_be_killed(mirrored: Mirrored, handles: Handles) -> None:
    """After the first messages were written."""

    def killed(messages: int, expected: int) -> None:
        if messages:
            raise ProviderUnavailable("killed")

    mirrored.mirror.ask_for_rebuild("reset")
    with pytest.raises(ProviderUnavailable, match="killed"):
        await mirrored.sync(Tools(handles, killed))
    assert not mirrored.mirror.status().complete


def subject_of(mirrored: Mirrored, handles: Handles, handle: str) -> str | None:
    row = mirrored.rows().get(handles.resolve(handle, Kind.EMAIL).ref)
    return row and row.subject


async def test_a_reset_waits_for_a_server_that_is_away(mirrored: Mirrored) -> None:
    """An old mirror is better than none."""
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("kept"))
    await mirrored.sync()
    mirrored.mirror.ask_for_rebuild("reset")
    async with desk(mirrored) as it:
        it.take_the_server_away()
        with pytest.raises(PostroomError):
            async with Syncing(mirrored.mirror, it.server, it.account) as syncing:
                await syncing.once()
        (row,) = (await it.list()).items
        assert row.subject == "kept"
    assert mirrored.mirror.is_rebuild_asked


@pytest.mark.parametrize("seed", range(3))
async def test_handles_survive_resets_whatever_others_did_before(
    mirrored: Mirrored, handles: Handles, seed: int
) -> None:
    second = SecondClient(mirrored, random.Random(f"reset {seed}"))
    shown: dict[str, str] = {}
    alone: set[str] = set()
    for _ in range(4):
        second.act(12)
        await reset(mirrored, handles)
        there = second.everything()
        same(mirrored, there)
        handles_lead_there(handles, shown, there, alone)


async def test_a_reset_after_the_inbox_was_numbered_anew_finds_every_message_again(
    mirrored: Mirrored, handles: Handles
) -> None:
    with mirrored.client() as client:
        for number in range(5):
            client.append("INBOX", "", None, letter(f"letter{number}"))
    await mirrored.sync(Tools(handles))
    issued = {
        handle: row.subject
        for row in mirrored.rows().values()
        for handle in handles.issue(Kind.EMAIL, "mine", [row.ref])
    }
    mirrored.renumber()
    await reset(mirrored, handles)
    assert {handle: subject_of(mirrored, handles, handle) for handle in issued} == issued
    assert not list(mirrored.mirror.path.parent.glob("*.before*"))


async def test_a_copy_that_was_there_all_the_time_is_not_where_a_message_went(
    mirrored: Mirrored, handles: Handles
) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("one"))
        client.select("INBOX")
        client.copy("1", "Archive")
    await mirrored.sync(Tools(handles))
    (inbox,) = [ref for ref, row in mirrored.rows().items() if row.folder == "INBOX"]
    (handle,) = handles.issue(Kind.EMAIL, "mine", [inbox])
    with mirrored.client() as client:
        client.select("INBOX")
        client.store("1", "+FLAGS", "(\\Deleted)")
        client.expunge()
    await reset(mirrored, handles)
    assert handles.resolve(handle, Kind.EMAIL).ref == inbox
    assert subject_of(mirrored, handles, handle) is None
    with mirrored.client() as client:  # it is put back by hand
        client.append("Sent", "", None, letter("one"))
    await mirrored.sync(Tools(handles))
    assert mirrored.rows()[handles.resolve(handle, Kind.EMAIL).ref].folder == "Sent"


@pytest.mark.parametrize("resets", [1, 2, 3])
async def test_a_message_that_moved_is_found_again_after_resets_that_were_cut_short(
    mirrored: Mirrored, handles: Handles, resets: int
) -> None:
    with mirrored.client() as client:
        for number in range(3):
            client.append("Archive", "", None, letter(f"letter{number}"))
    await mirrored.sync(Tools(handles))
    issued = {
        handle: row.subject
        for row in mirrored.rows().values()
        for handle in handles.issue(Kind.EMAIL, "mine", [row.ref])
    }
    with mirrored.client() as client:
        client.select("Archive")
        client.uid("MOVE", "1:2", "INBOX")
    for _ in range(resets):
        await reset_and_be_killed(mirrored, handles)
    await reset(mirrored, handles)
    assert {handle: subject_of(mirrored, handles, handle) for handle in issued} == issued


async def test_a_reset_that_was_killed_before_it_took_over_the_old_mirror_loses_no_ids(
    mirrored: Mirrored, handles: Handles
) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("one"))
    await mirrored.sync(Tools(handles))
    (handle,) = handles.issue(Kind.EMAIL, "mine", mirrored.rows())
    with mirrored.client() as client:
        client.select("INBOX")
        client.uid("MOVE", "1", "Archive")
    mirrored.mirror.rebuild()
    with mirrored.mirror.transaction():  # the new file is begun, and the process is killed
        pass
    await reset(mirrored, handles)
    assert subject_of(mirrored, handles, handle) == "one"


def test_an_old_mirror_that_others_read_is_whole_without_its_log(tmp_path: Path) -> None:
    """A process that is killed after it moved the file leaves the log behind, and the next one removes that."""
    mirror = Mirror(tmp_path / "mine.db")
    with mirror.transaction() as connection:
        apply_limits(connection, Limits(owner="me"))
        connection.execute("INSERT INTO former (ref, identity, gone_at) VALUES ('INBOX|1|1', 'bytes 1', 0)")
    with closing(sqlite3.connect(mirror.path)) as other:
        assert other.execute("SELECT count(*) FROM former").fetchone() == (1,)
        mirror.rebuild()
        for log in ("-wal", "-shm"):
            (tmp_path / f"mine.before{log}").unlink()
        carrying.take_over(mirror, "me")
    with mirror.snapshot() as connection:
        assert connection.execute("SELECT ref FROM carried").fetchall() == [("INBOX|1|1",)]


def test_an_old_mirror_stays_until_what_it_knew_could_be_written(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "mine.db", wait_for_lock=0)
    with mirror.transaction() as connection:
        apply_limits(connection, Limits(owner="me"))
        connection.execute("INSERT INTO former (ref, identity, gone_at) VALUES ('INBOX|1|1', 'bytes 1', 0)")
    mirror.rebuild()
    with mirror.snapshot():
        pass
    with sqlite3.connect(mirror.path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(PostroomError):
            carrying.take_over(mirror, "me")
        other.rollback()
    carrying.take_over(mirror, "me")
    with mirror.snapshot() as connection:
        assert connection.execute("SELECT ref FROM carried").fetchall() == [("INBOX|1|1",)]
    assert not mirror.has_before


async def test_a_message_that_moves_while_resets_are_cut_short_is_found_again_by_both_its_ids(
    mirrored: Mirrored, handles: Handles
) -> None:
    with mirrored.client() as client:
        client.append("Archive", "", None, letter("one"))
        client.append("Sent", "", None, letter("other"))
    await mirrored.sync(Tools(handles))
    (archived,) = [ref for ref, row in mirrored.rows().items() if row.folder == "Archive"]
    (first,) = handles.issue(Kind.EMAIL, "mine", [archived])
    with mirrored.client() as client:
        client.select("Archive")
        client.uid("MOVE", "1", "INBOX")
    await reset_and_be_killed(mirrored, handles)
    (inbox,) = mirrored.rows()
    (second,) = handles.issue(Kind.EMAIL, "mine", [inbox])
    with mirrored.client() as client:
        client.select("INBOX")
        client.uid("MOVE", "1", "Sent")
    await reset(mirrored, handles)
    assert [subject_of(mirrored, handles, handle) for handle in (first, second)] == ["one", "one"]


async def test_the_mirror_of_another_mailbox_hands_nothing_on(
    mirrored: Mirrored, handles: Handles, dovecot: Dovecot
) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("one"))
    await mirrored.sync(Tools(handles))
    (handle,) = handles.issue(Kind.EMAIL, "mine", mirrored.rows())
    mirrored.user = dovecot.new_user("other")
    with mirrored.client() as client:
        client.append("Archive", "", None, letter("one"))
    await reset(mirrored, handles)
    assert subject_of(mirrored, handles, handle) is None
    assert len(mirrored.rows()) == 1
