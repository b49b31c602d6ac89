"""Mailboxes at the edge, and servers that say what is not so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import desk

from postroom.model.query.tree import Query, Subject, Text
from postroom.providers.layers.layered import Call, Layered
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("claimed", [0, 1, 1_000_000, None], ids=str)
async def test_a_server_that_lies_about_how_much_it_has_is_mirrored_as_it_is(
    mirrored: Mirrored, claimed: int | None
) -> None:
    def lying(verb: str, call: Call) -> Call:
        async def lie() -> Any:
            return [replace(one, folder=replace(one.folder, total=claimed, unread=claimed)) for one in await call()]

        return lie if verb == "folder_states" else call

    async with desk(mirrored) as it:
        it.append(*(letter(f"letter{number}") for number in range(3)))
        told: list[tuple[int, int]] = []
        liar: Any = Layered(it.server, "imap", [lying])
        tools = Tools(on_progress=lambda done, total: told.append((done, total)))
        async with Syncing(mirrored.mirror, liar, it.account, tools) as syncing:
            status = await syncing.once()
        assert (status.complete, status.messages) == (True, 3)
        assert all(done <= total for done, total in told)
        found = await it.list()
        assert (len(found.items), found.total, found.complete) == (3, 3, True)


async def test_a_message_of_50_mb_is_found_by_its_beginning_and_read_from_the_server(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("huge", text="An elephant.\r\n" + ("x" * 70 + "\r\n") * (50 * 2**20 // 72)), letter("small"))
        await mirrored.sync()
        assert mirrored.mirror.path.stat().st_size < 10 * 2**20, "no more of it than the settings ask for"
        for query in (Query(Subject("huge")), Query(Text("elephant"))):
            (row,) = (await it.list(query)).items
            assert (row.subject, row.size > 50 * 10**6) == ("huge", True)
        it.asked.clear()
        assert "An elephant." in (await it.mailbox.fetch(row.ref)).body.text
        assert it.asked["fetch"] == 1


async def test_labels_have_the_same_order_whoever_is_asked(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"), flags="(zebra Apple mango Blue)")
        async with Syncing(mirrored.mirror, it.server, it.account) as syncing:
            await syncing.once()
        (row,) = (await it.list()).items
        (told,) = (await it.server.search(Query(Subject("one"), anywhere=True), limit=10, offset=0)).items
        assert row.labels == told.labels == ("Apple", "Blue", "mango", "zebra")
