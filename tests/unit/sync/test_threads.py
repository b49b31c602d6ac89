"""A conversation is the same from the mirror as from the server, whatever its programs left out of the headers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import desk

from postroom.model.query.tree import Query

pytestmark = pytest.mark.anyio


def reply(key: str, *, to: str = "", references: str = "") -> bytes:
    heads = [f"In-Reply-To: <{to}@seed.example>"] if to else []
    heads += ["References: " + " ".join(f"<{one}@seed.example>" for one in references)] if references else []
    head, _, text = letter(key, subject="Plan").partition(b"\r\n\r\n")
    return b"\r\n".join([head, *(one.encode() for one in heads)]) + b"\r\n\r\n" + text


def opening() -> bytes:
    return letter("a", subject="Plan").replace(b"1 Jun", b"1 May").replace(b"Mon,", b"Fri,")


async def test_a_thread_is_the_same_as_the_servers_however_its_messages_name_each_other(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("z", subject="Plan"))  # of the same subject, and not part of it
        it.append(letter("a"), reply("b", to="a", references="a"))
        it.append(reply("c", to="b"), folder="Archive")  # without References
        it.append(reply("d", to="b", references="xb"))  # the first it names is none that anybody has
        it.append(reply("e", to="d", references="d"), folder="Sent")  # cut short
        it.append(reply("f", to="a"), folder="Trash", flags="(\\Draft)")  # never sent
        await mirrored.sync()
        rows = (await it.list(Query(anywhere=True))).items
        it.asked.clear()
        for row in rows:
            from_mirror = await it.mailbox.thread(row.thread_ref)
            from_server = await it.server.thread(row.thread_ref)
            assert sorted(one.ref for one in from_mirror) == sorted(one.ref for one in from_server), row.message_id
            assert {one.thread_ref for one in from_mirror} == {row.thread_ref}
        assert it.asked == {"thread": len(rows)}  # by this test itself


async def test_a_server_that_is_asked_finds_as_much_of_a_conversation_as_the_mirror_knows(mirrored: Mirrored) -> None:
    """Each names only the one before it: from the first, the server alone gets no further than a few steps."""
    keys = "abcdefgh"
    async with desk(mirrored, max_age=0.0) as it:
        it.append(opening())
        it.append(*(reply(key, to=before) for before, key in pairwise(keys)))
        await mirrored.sync()
        rows = (await it.list()).items
        name = (await it.mailbox.conversation_names([rows[0].thread_ref]))[rows[0].thread_ref]
        assert len(await it.server.thread(name)) < len(keys)
        it.asked.clear()
        found = await it.mailbox.thread(name)
        assert it.asked["thread"] == 1
        assert {row.ref for row in found} == {row.ref for row in rows}
        assert {row.thread_ref for row in found} == {name}


async def test_a_conversation_is_named_as_its_first_message_once_that_is_there(mirrored: Mirrored) -> None:
    """What was given out before leads to the same, and what decides about a send stays what the message itself says."""
    async with desk(mirrored) as it:
        it.append(reply("c", to="b"), reply("d", to="c", references="c"))
        await mirrored.sync()
        first = {row.ref: row.thread_ref for row in (await it.list()).items}
        assert set((await it.mailbox.conversation_names([*first.values()])).values()) < set(first.values())
        it.append(opening(), reply("b", to="a"))
        await mirrored.sync()
        now = {row.ref: row.thread_ref for row in (await it.list()).items}
        assert now.items() >= first.items()
        names = await it.mailbox.conversation_names([*now.values()])
        assert set(names.values()) == {"<a@seed.example>"}
        assert (await it.list()).conversations == names  # a page comes with them
        for ref in (*first.values(), "<a@seed.example>"):
            assert {row.ref for row in await it.mailbox.thread(ref)} == now.keys()


async def test_a_conversation_has_what_is_in_folders_that_are_left_out(mirrored: Mirrored) -> None:
    mirrored.changes["mirror_leave_out"] = ("Archive",)
    async with desk(mirrored) as it:
        it.append(opening(), reply("c", to="b", references="ab"))
        it.append(reply("b", to="a", references="a"), folder="Archive")
        await mirrored.sync()
        row = (await it.list()).items[0]
        assert len(await it.mailbox.thread(row.thread_ref)) == 3
        assert await it.mailbox.fetch_thread(row.thread_ref, lambda rows: rows) is None
        it.take_the_server_away()
        assert len(await it.mailbox.thread(row.thread_ref)) == 2


async def test_a_message_in_a_folder_that_is_left_out_is_found_by_its_message_id(mirrored: Mirrored) -> None:
    mirrored.changes["mirror_leave_out"] = ("Sent",)
    async with desk(mirrored) as it:
        it.append(opening(), reply("c", to="b", references="ab"))
        it.append(reply("b", to="a", references="a"), folder="Sent")
        await mirrored.sync()
        newest, oldest = (await it.list()).items

        async def found(*keys: str) -> set[str]:
            ids = [f"<{key}@seed.example>" for key in keys]
            return {row.message_id[1] for row in await it.mailbox.mails_with_ids(ids, near=newest.ref)}

        assert await found("b", "a") == {"a", "b"}
        assert await it.mailbox.fetch_with_ids(["<b@seed.example>"], lambda rows: None) is None
        it.asked.clear()
        assert await found("a") == {"a"}
        assert await it.mailbox.fetch_with_ids([oldest.message_id, "<b@seed.example>"], lambda rows: None) == (None,)
        assert not it.asked
