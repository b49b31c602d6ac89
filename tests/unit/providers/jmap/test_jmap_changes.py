"""What changed since a cursor, told by servers that are not exact about it, and of accounts that become others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.peers.accounts import letter
from tests.peers.cyrus import PASSWORD, Cyrus
from tests.peers.jmap import FakeJmap
from tests.peers.jmap import server as fake
from tests.peers.raw_jmap import NewMail, RawJmap

from postroom.model.errors import CursorExpired
from postroom.providers.jmap.provider import JmapMailbox
from postroom.settings import JmapAccount

pytestmark = pytest.mark.anyio


def added(server: FakeJmap) -> str:
    state = server.state
    return str(state.add_email(state.add_blob(letter("one")), {"mb-inbox": True}, {})["id"])


async def test_an_email_that_is_told_as_created_and_destroyed_is_left_to_be_asked_for(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    """A server that names emails by their content has one again that was destroyed."""
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    server.state.repeats_itself = True
    ref = added(server)
    server.state.note("destroyed", ref)
    page = await mailbox.changed_since(cursor, limit=10)
    assert (page.changed, page.removed) == ((ref,), ())


async def test_a_state_of_another_account_is_not_taken_for_one_of_this(
    server: FakeJmap,
    mailbox: JmapMailbox,
    account: JmapAccount,
    open_box: Callable[[JmapAccount], JmapMailbox],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """States are small numbers at some servers."""
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    server.changes["accounts"] = {"u2": next(iter(server.session()["accounts"].values()))}
    server.changes["primaryAccounts"] = {"urn:ietf:params:jmap:mail": "u2"}
    monkeypatch.setattr(fake, "ACCOUNT", "u2")
    with pytest.raises(CursorExpired):
        await open_box(account).changed_since(cursor, limit=10)


async def test_a_cursor_from_before_it_named_its_account_is_still_good(server: FakeJmap, mailbox: JmapMailbox) -> None:
    ref = added(server)
    assert (await mailbox.changed_since("jmap:1", limit=10)).changed == (ref,)


async def test_a_server_whose_api_moved_is_asked_where_it_is_now(server: FakeJmap, mailbox: JmapMailbox) -> None:
    """Nothing is taken for gone, or for damaged, because of that."""
    ref = added(server)
    (before,) = await mailbox.envelopes([ref])
    server.changes["apiUrl"] = "/moved/"
    server.answer_next("POST", "/api/", b"", status=404, times=100)
    assert before is not None
    assert await mailbox.envelopes([ref]) == [before]


async def test_emails_that_changed_as_one_are_all_told_whatever_the_limit(
    cyrus: Cyrus, open_box: Callable[[JmapAccount], JmapMailbox]
) -> None:
    user = await asyncio.to_thread(cyrus.new_user, "changes")
    wire = RawJmap(cyrus.url, user, PASSWORD)
    folders = ("inbox", "archive", "sent", "trash", "junk")
    refs = wire.add([NewMail(letter(name), name, [], None) for name in folders])
    box = open_box(JmapAccount(name="mine", address=user, session_url=cyrus.url, password=PASSWORD))
    page = await box.changed_since("", limit=2)
    wire.call("Email/set", {"update": {ref: {"keywords/blue": True} for ref in refs}})
    told: set[str] = set()
    while page.has_more or not told:
        page = await box.changed_since(page.cursor, limit=2)
        told.update(page.changed)
    assert told == set(refs)
