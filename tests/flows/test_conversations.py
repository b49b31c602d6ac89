"""Over IMAP with a mirror, all messages of a conversation have one thread id, whatever their programs left out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.test_threads import opening, reply

from postroom.doors.mcp.server import build_server
from postroom.settings import Settings, build
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.wiring import open_gateway

pytestmark = pytest.mark.anyio


@pytest.fixture
def mirrored(dovecot: Dovecot, tmp_path: Path) -> Mirrored:
    made = Mirrored(dovecot, dovecot.new_user("talking"), Mirror(mirror_path(tmp_path, "work")), {})
    with made.client() as client:
        client.append("INBOX", "", None, letter("z", subject="Plan"))  # of the same subject, and not part of it
        client.append("INBOX", "", None, opening())
        client.append("INBOX", "", None, reply("b", to="a", references="a"))
        client.append("Archive", "", None, reply("c", to="b"))  # without References
        client.append("INBOX", "", None, reply("d", to="b", references="xb"))  # begins with one that nobody has
        client.append("Sent", "", None, reply("e", to="d", references="d"))  # cut short
        client.append("Drafts", "(\\Draft)", None, reply("f", to="e", references="de"))
    return made


def settings_of(mirrored: Mirrored, home: Path, mirror: str) -> Settings:
    dovecot = mirrored.dovecot
    account = {
        "name": "work", "provider": "imap", "address": mirrored.user, "host": dovecot.host, "port": dovecot.imap,
        "security": "none", "password": PASSWORD, "mirror": mirror,
    }  # fmt: skip
    return build({"accounts": [account]}, home=home)


async def clients(mirrored: Mirrored, home: Path, mirror: str) -> AsyncIterator[Client]:
    settings = settings_of(mirrored, home, mirror)
    async with Client(build_server(lambda: open_gateway(settings), settings)) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer
    found: dict[str, Any] = answer.structured_content
    return found


async def thread_ids(client: Client) -> dict[str, str]:
    """By email id, of all messages."""
    found = [await called(client, "search_emails", query="subject:Plan", limit=50)]
    found += [await called(client, "list_emails", mailbox=name) for name in ("INBOX", "Archive", "Sent")]
    return {row["email_id"]: row["thread_id"] for page in found for row in page["results"]}


async def test_messages_of_a_conversation_have_one_thread_id_and_older_ids_still_open_it(
    mirrored: Mirrored, tmp_path: Path
) -> None:
    async for client in clients(mirrored, tmp_path, "off"):
        before = await thread_ids(client)
    assert len(set(before.values())) > 2

    await mirrored.sync()
    async for client in clients(mirrored, tmp_path, "full"):
        now = await thread_ids(client)
        assert now.keys() == before.keys()
        (alone,) = [one for one, thread in now.items() if list(now.values()).count(thread) == 1]
        (conversation,) = {thread for one, thread in now.items() if one != alone}

        whole = await called(client, "get_thread", thread_id=conversation)
        assert whole["total_count"] == 6
        assert whole["thread_id"] == conversation
        for one, thread in before.items():
            again = await called(client, "get_thread", thread_id=thread)
            assert (again["thread_id"], again["total_count"]) == (now[one], 1 if one == alone else 6)
        for one in now:
            assert (await called(client, "read_email", email_id=one))["thread_id"] == now[one]
        (draft,) = (await called(client, "list_drafts"))["results"]
        assert draft["thread_id"] == conversation, "drafts are the server's"

    async for client in clients(mirrored, tmp_path, "off"):
        assert (await called(client, "get_thread", thread_id=conversation))["total_count"] == 6
