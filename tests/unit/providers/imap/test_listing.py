"""The order of a folder is asked for once and kept until something in the folder changes, whoever changed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from imapclient import IMAPClient
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot
from tests.peers.faultproxy import FaultProxy, faulty

from postroom.model.query.tree import In, Query
from postroom.providers.imap.provider import ImapMailbox

SERVERS = ["with SORT", "plain"]


@dataclass(frozen=True)
class Scene:
    """A mailbox behind a proxy that listens in, and another program logged in to the same account."""

    mailbox: ImapMailbox
    proxy: FaultProxy
    other: Any

    async def subjects(self) -> list[str]:
        page = await self.mailbox.search(Query(In("INBOX")), limit=50, offset=0)
        assert page.total == len(page.items)
        return sorted(row.subject for row in page.items)

    def orderings(self) -> int:
        return self.proxy.heard.count(b"UID SORT") + self.proxy.heard.count(b"UID SEARCH")

    def uid_of(self, subject: str) -> int:
        self.other.noop()
        (uid,) = self.other.search(["SUBJECT", subject])
        return int(uid)


@pytest.fixture(scope="module")
def servers(dovecot: Dovecot) -> Iterator[dict[str, Dovecot]]:
    with running_dovecot(capability="IMAP4rev1 NAMESPACE UIDPLUS") as plain:
        yield dict(zip(SERVERS, (dovecot, plain), strict=True))


@pytest.fixture(params=SERVERS)
async def scene(servers: dict[str, Dovecot], request: pytest.FixtureRequest) -> Any:
    server = servers[request.param]
    with faulty(server.imap) as proxy:
        account = imap_account(server, port=proxy.port)
        with IMAPClient(server.host, server.imap, ssl=False, timeout=20) as other:
            other.login(account.address, PASSWORD)
            for key in ("one", "two", "three"):
                other.append("INBOX", letter(key))
            other.select_folder("INBOX")
            async with opened(account) as mailbox:
                yield Scene(mailbox, proxy, other)


async def test_it_is_asked_for_once_and_pages_come_from_memory(scene: Scene) -> None:
    for _ in range(3):
        assert await scene.subjects() == ["one", "three", "two"]
    assert scene.orderings() == 1


def _arrive(scene: Scene) -> None:
    scene.other.append("INBOX", letter("four"))


def _mark_deleted(scene: Scene) -> None:
    scene.other.add_flags([scene.uid_of("two")], ["\\Deleted"])


def _expunge(scene: Scene) -> None:
    scene.other.delete_messages([scene.uid_of("two")])
    scene.other.expunge([scene.uid_of("two")])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_arrive, ["four", "one", "three", "two"]),
        (_mark_deleted, ["one", "three"]),
        (_expunge, ["one", "three"]),
    ],
)
async def test_what_another_program_does_is_seen_at_once(
    scene: Scene, change: Callable[[Scene], None], expected: list[str]
) -> None:
    assert len(await scene.subjects()) == 3
    change(scene)
    assert await scene.subjects() == expected


async def test_a_mail_that_is_marked_and_unmarked_goes_and_comes_back(scene: Scene) -> None:
    _mark_deleted(scene)
    assert await scene.subjects() == ["one", "three"]
    scene.other.remove_flags([scene.uid_of("two")], ["\\Deleted"])
    assert await scene.subjects() == ["one", "three", "two"]


async def test_a_mark_that_is_first_seen_while_reading_is_not_lost(scene: Scene) -> None:
    page = await scene.mailbox.search(Query(In("INBOX")), limit=50, offset=0)
    _mark_deleted(scene)
    await scene.mailbox.envelopes([row.ref for row in page.items])
    assert await scene.subjects() == ["one", "three"]


async def test_what_the_mailbox_does_itself_is_seen_at_once(scene: Scene) -> None:
    page = await scene.mailbox.search(Query(In("INBOX")), limit=50, offset=0)
    await scene.mailbox.move([page.items[0].ref], "Archive")
    assert len(await scene.subjects()) == 2
    draft = await scene.mailbox.create_draft(letter("own"))
    await scene.mailbox.move([draft.ref], "INBOX")
    assert "own" in await scene.subjects()


async def test_flags_are_those_of_the_moment_though_the_order_is_kept(scene: Scene) -> None:
    await scene.subjects()
    scene.other.add_flags([scene.uid_of("two")], ["\\Flagged"])
    page = await scene.mailbox.search(Query(In("INBOX")), limit=50, offset=0)
    assert [row.subject for row in page.items if row.starred] == ["two"]
