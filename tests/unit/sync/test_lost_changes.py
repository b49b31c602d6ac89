"""Changes whose answers are lost: what was confirmed is reported and shown, and no mirror is trusted about the rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
import pytest
from tests.peers.accounts import letter
from tests.peers.dovecot import Dovecot, running_dovecot
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import Desk, desk

from postroom.model.outcome import ItemResult
from postroom.model.query.tree import In, Query
from postroom.providers.imap.mail import organising
from postroom.providers.imap.session import uid_sets
from postroom.sync.file.mirror import Mirror

pytestmark = pytest.mark.anyio

ARCHIVE = Query(In("Archive"))
SUBJECTS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def bare() -> Iterator[Dovecot]:
    """It says that it does not tell where a moved message is."""
    with running_dovecot(capability="IMAP4rev1 LITERAL+ ID NAMESPACE IDLE UNSELECT MOVE") as server:
        yield server


async def filled(it: Desk) -> list[str]:
    """The refs of four messages in the inbox, in a mirror that is fresh."""
    it.append(*map(letter, SUBJECTS))
    await it.mirrored.sync()
    refs = {row.subject: row.ref for row in (await it.list()).items}
    it.asked.clear()
    return [refs[subject] for subject in SUBJECTS]


async def shown(it: Desk, query: Query) -> list[str]:
    return sorted(row.subject for row in (await it.list(query)).items)


def reasons(results: list[ItemResult]) -> list[str]:
    return ["" if one.error is None else one.error.reason for one in results]


def seen_on_server(it: Desk) -> int:
    with it.mirrored.client() as client:
        client.select("INBOX", readonly=True)
        _, (found,) = client.uid("SEARCH", "SEEN")
        return len(found.split())


@pytest.mark.parametrize("command", [b"STORE 1:2", b"STORE 3:4"], ids=["first", "second"])
async def test_flags_are_set_over_a_new_connection_when_one_breaks_in_the_middle(
    mirrored: Mirrored, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uid_sets, "_CHUNK", 2)
    async with desk(mirrored) as it:
        refs = await filled(it)
        it.proxy.reset(cut_on_client=command, times=1)
        assert reasons(await it.mailbox.set_flags(refs, add=["read"])) == [""] * 4
        assert seen_on_server(it) == 4
        assert [row.unread for row in (await it.list()).items] == [False] * 4
        assert it.asked["search"] == 0


async def test_flags_that_may_have_been_set_are_asked_of_the_server(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uid_sets, "_CHUNK", 2)
    async with desk(mirrored, catches_up=True) as it:
        refs = await filled(it)
        it.proxy.reset(swallow_after=b"STORE 3:4")
        results = await it.mailbox.set_flags(refs, add=["read"])
        assert reasons(results) == ["connection_lost"] * 4
        it.proxy.reset()
        assert [row.unread for row in (await it.list()).items] == [False] * 4
        assert seen_on_server(it) == 4


@pytest.mark.parametrize("catches_up", [True, False])
async def test_a_move_whose_answer_was_lost_is_seen_where_the_server_made_it(
    mirrored: Mirrored, catches_up: bool
) -> None:
    async with desk(mirrored, catches_up=catches_up) as it:
        refs = await filled(it)
        it.proxy.reset(swallow_after=b"MOVE")
        assert reasons(await it.mailbox.move(refs[:2], "Archive")) == ["connection_lost"] * 2
        it.proxy.reset()
        assert (await shown(it, ARCHIVE), await shown(it, Query(In("INBOX")))) == (["a", "b"], ["c", "d"])


async def test_a_move_that_never_reached_the_server_is_seen_as_none(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        refs = await filled(it)
        it.proxy.reset(cut_before_client=b"MOVE")
        assert reasons(await it.mailbox.move(refs[:2], "Archive")) == ["connection_lost"] * 2
        it.proxy.reset()
        assert (await shown(it, ARCHIVE), await shown(it, Query(In("INBOX")))) == ([], SUBJECTS)


async def test_what_was_moved_before_the_connection_broke_is_reported_and_shown(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organising, "_MOVED_AT_ONCE", 1)
    async with desk(mirrored) as it:
        refs = await filled(it)
        it.proxy.reset(swallow_after=b"MOVE 2")
        results = await it.mailbox.move(refs[:3], "Archive")
        assert reasons(results) == ["", "connection_lost", "provider_unavailable"]
        assert results[0].new_ref.startswith("Archive|")
        it.proxy.reset()
        assert (await shown(it, ARCHIVE), await shown(it, Query(In("INBOX")))) == (["a", "b"], ["c", "d"])


@pytest.mark.parametrize("fault", ["cut_before_client", "swallow_after"])
async def test_a_confirmed_move_stays_one_when_the_connection_breaks_while_the_messages_are_looked_for(
    bare: Dovecot, tmp_path: Any, fault: str
) -> None:
    mirrored = Mirrored(bare, bare.new_user("bare"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    async with desk(mirrored) as it:
        refs = await filled(it)
        it.proxy.reset(**{fault: b"HEADER MESSAGE-ID", "times": 1}, instead=(b"[COPYUID", b"[X-ARCANE"))
        results = await it.mailbox.move(refs[:2], "Archive")
        assert [(result.ok, result.new_ref) for result in results] == [(True, ""), (True, "")]
        it.proxy.reset()
        assert (await shown(it, ARCHIVE), await shown(it, Query(In("INBOX")))) == (["a", "b"], ["c", "d"])
        assert reasons(await it.mailbox.set_flags(refs[2:], add=["starred"])) == ["", ""]


async def test_a_change_that_was_made_for_a_call_that_was_cancelled_is_seen(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        refs = await filled(it)
        is_made = anyio.Event()

        async def lingering(*args: Any, **kwargs: Any) -> Any:
            await it.server.set_flags(*args, **kwargs)
            is_made.set()
            await anyio.sleep_forever()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(it.layer("set_flags", lingering), refs, add=["read"]))
            await is_made.wait()
            tasks.cancel_scope.cancel()
        assert [row.unread for row in (await it.list()).items] == [False] * 4
