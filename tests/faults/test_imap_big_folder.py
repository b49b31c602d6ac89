"""A folder of 50,000 mails: few commands, little traffic and little memory, whatever is asked of it."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.big_inbox import ALIKE, VALIDITY, fill_inbox
from tests.peers.dovecot import Dovecot, running_dovecot
from tests.peers.faultproxy import FaultProxy, faulty

from postroom.model.message import Envelope, Page
from postroom.model.query.tree import Filename, In, Query, Subject, Text
from postroom.providers.imap.provider import ImapMailbox

COUNT = 50_000
BLOCKS = COUNT // ALIKE
PAGE_BYTES = 40_000  # a page of 20 lines with the first words of each
MEMORY = 20_000_000  # Python's, at its peak: the numbers of all mails, never their envelopes
USER = "big@example.test"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def big() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        fill_inbox(server, USER, COUNT)
        yield server


@pytest.fixture(scope="module")
def proxy(big: Dovecot) -> Iterator[FaultProxy]:
    with faulty(big.imap) as proxy:
        yield proxy


@pytest.fixture
async def mailbox(big: Dovecot, proxy: FaultProxy) -> AsyncIterator[ImapMailbox]:
    async with opened(imap_account(big, USER, port=proxy.port, timeout=120, max_connections=2)) as mailbox:
        await listed(mailbox)  # what a first look costs (login, folders, order) is not what is counted
        proxy.heard, proxy.answered = b"", 0
        yield mailbox


async def listed(mailbox: ImapMailbox, offset: int = 0) -> Page[Envelope]:
    return await mailbox.search(Query(In("INBOX")), limit=20, offset=offset)


def commands(proxy: FaultProxy) -> list[str]:
    """The commands that were sent, without their arguments."""
    found = re.findall(rb"^\S+ ((?:UID )?[A-Z]+)(?: |\r)", proxy.heard, re.MULTILINE)
    return [command.decode() for command in found]


def uids(page: Page[Envelope]) -> list[int]:
    return [int(row.ref.rpartition("|")[2]) for row in page.items]


async def test_the_first_look_orders_the_folder_once_and_fetches_one_page(big: Dovecot, proxy: FaultProxy) -> None:
    proxy.heard, proxy.answered = b"", 0
    async with opened(imap_account(big, USER, port=proxy.port, timeout=120)) as mailbox:
        page = await listed(mailbox)
    assert (len(page.items), page.total, page.has_more) == (20, COUNT, True)
    sent = commands(proxy)
    assert sent.count("UID SORT") == 1
    assert sent.count("UID FETCH") == 1
    assert proxy.answered < 8 * COUNT  # the UIDs in order, and one page


async def test_a_listing_takes_two_commands(mailbox: ImapMailbox, proxy: FaultProxy) -> None:
    page = await listed(mailbox)
    assert commands(proxy) == ["NOOP", "UID FETCH"]
    assert proxy.answered < PAGE_BYTES
    assert {row.subject for row in page.items} == {f"Report {BLOCKS - 1}"}


async def test_deep_pages_cost_no_more_and_miss_nothing(mailbox: ImapMailbox, proxy: FaultProxy) -> None:
    seen: list[int] = []
    for offset in range(40_000, 40_200, 20):
        seen += uids(await listed(mailbox, offset))
    assert commands(proxy) == ["NOOP", "UID FETCH"] * 10
    assert proxy.answered < 10 * PAGE_BYTES
    assert sorted(seen) == list(range(COUNT - 40_199, COUNT - 40_000 + 1))
    last = await listed(mailbox, COUNT - 5)
    assert (len(last.items), last.total, last.has_more) == (5, COUNT, False)


@pytest.mark.parametrize("leaf", [Subject("Report 777"), Text("figure777x")], ids=["subject", "body"])
async def test_a_search_is_left_to_the_server_and_only_its_page_is_fetched(
    mailbox: ImapMailbox, proxy: FaultProxy, leaf: Subject | Text
) -> None:
    page = await mailbox.search(Query(In("INBOX")).narrowed(leaf), limit=20, offset=40)
    assert (page.total, page.has_more) == (ALIKE, False)
    assert uids(page) == list(range(778 * ALIKE - 40, 777 * ALIKE, -1)), "of one second, the last to come first"
    assert commands(proxy) == ["NOOP", "UID SORT", "UID FETCH"]
    assert proxy.answered < PAGE_BYTES


async def test_a_mail_is_read_with_two_commands(mailbox: ImapMailbox, proxy: FaultProxy) -> None:
    message = await mailbox.fetch(f"INBOX|{VALIDITY}|{COUNT}")
    assert f"figure{BLOCKS - 1}x" in message.body.text
    assert commands(proxy) == ["NOOP", "UID FETCH"]
    assert proxy.answered < 2_000


async def test_looking_into_every_mail_goes_batch_by_batch(mailbox: ImapMailbox, proxy: FaultProxy) -> None:
    page = await mailbox.search(Query(In("INBOX")).narrowed(Filename("nowhere.pdf")), limit=20, offset=0)
    assert (page.items, page.total) == ((), 0)
    assert commands(proxy).count("UID FETCH") == COUNT // 500
    assert len(commands(proxy)) <= COUNT // 500 + 2
    assert b"FLAGS" not in proxy.heard  # only what decides it is fetched, not whole lines


async def test_no_page_takes_much_memory(big: Dovecot, proxy: FaultProxy) -> None:
    async with opened(imap_account(big, USER, port=proxy.port, timeout=120)) as mailbox:
        tracemalloc.start()
        try:
            await listed(mailbox)
            await listed(mailbox, 40_000)
            await mailbox.search(Query(In("INBOX")).narrowed(Text("figure")), limit=20, offset=40_000)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < MEMORY


async def test_a_thousand_mails_are_moved_by_one_command_and_come_back(mailbox: ImapMailbox, proxy: FaultProxy) -> None:
    refs = [f"INBOX|{VALIDITY}|{uid}" for uid in range(1001, 2001)]
    results = await mailbox.move(refs, "Archive")
    assert [result.ref for result in results] == refs
    assert all(result.ok for result in results)
    assert len({result.new_ref for result in results}) == 1000
    assert commands(proxy).count("UID MOVE") == 1
    assert len(commands(proxy)) <= 6
    assert (await listed(mailbox)).total == COUNT - 1000

    back = await mailbox.move([result.new_ref for result in results], "INBOX")
    assert all(result.ok for result in back)
    assert (await listed(mailbox)).total == COUNT
