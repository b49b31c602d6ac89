"""A conversation is the same from the mirror as from the server, whatever its programs left out of the headers."""

from __future__ import annotations

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
