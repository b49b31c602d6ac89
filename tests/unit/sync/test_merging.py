"""While the first fill runs: the mirror answers with what it has, the server with the rest, and together they say what
the server alone would say."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.peers.accounts import imap_account, letter
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import INBOX, Desk, desk
from tests.unit.sync.filling import fill_partly

from postroom.model.message import Envelope
from postroom.model.query.tree import After, And, In, Is, Larger, Not, Or, Query, Subject, Text
from postroom.sync import arriving, by_folder

pytestmark = pytest.mark.anyio

FIRST = datetime(2026, 6, 1, 10, tzinfo=UTC)
SIZES = {"INBOX": 40, "Archive": 26, "Projects": 17, "Trash": 12}
QUERIES = {
    "inbox": INBOX,
    "archive": Query(In("Archive")),
    "everything": Query(),
    "trash too": Query(anywhere=True),
    "word": Query(Text("elephant")),
    "word in trash too": Query(Text("elephant"), anywhere=True),
    "subject in a folder": Query(And((Subject("third"), In("INBOX")))),
    "unread": Query(Is("unread")),
    "dated": Query(After(FIRST + timedelta(hours=300))),
    "sized": Query(And((In("INBOX"), Larger(400)))),
    "all but one": Query(Not(In("Archive"))),
    "either": Query(Or((In("INBOX"), In("Trash")))),
    "nothing": Query(Text("unheardof")),
}


@pytest.fixture(autouse=True)
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_folder, "_FIRST_PAGE", 4)
    monkeypatch.setattr(by_folder, "_TURN", 5)
    monkeypatch.setattr(arriving, "_WAITING", 1)


def seeded(mirrored: Mirrored, *, at_once: int = 1) -> None:
    """So many messages of each date, in no order of arrival."""
    hours = [hour // at_once for hour in range(sum(SIZES.values()))]
    random.Random(5).shuffle(hours)
    with mirrored.client() as client:
        client.create("Projects")
        for folder, size in SIZES.items():
            for number in range(size):
                hour = hours.pop()
                client.append(folder, "(\\Seen)" if hour % 3 else "", None, _letter(f"{folder}{number}", hour))


def _letter(key: str, hour: int) -> bytes:
    moment = (FIRST + timedelta(hours=hour * 5)).strftime("%a, %d %b %Y %H:%M:%S +0000")
    subject = f"{key} {'third' if hour % 3 == 0 else 'other'}"
    text = "An elephant." if hour % 4 == 0 else "Nothing. " * (hour % 40)
    return letter(key, text=text, subject=subject).replace(b"Mon, 1 Jun 2026 10:00:00 +0000", moment.encode())


async def fill(mirrored: Mirrored, turns: int) -> None:
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    await fill_partly(mirrored.mirror, account, turns)


async def answers(mailbox: Any, query: Query, limit: int) -> tuple[list[Envelope], list[tuple[int | None, bool]], bool]:
    """All pages, one after another; what each said of the whole; whether a mirror took part in all of them."""
    rows: list[Envelope] = []
    said: list[tuple[int | None, bool]] = []
    dated = True
    while not said or said[-1][1]:
        page = await mailbox.search(query, limit=limit, offset=limit * len(said))
        rows += page.items
        said.append((page.total, page.has_more))
        dated = dated and page.as_of is not None
        assert page.complete
    return rows, said, dated


@pytest.mark.parametrize("turns", [1, 3, 6, 9, 14])
async def test_a_half_filled_mirror_and_its_server_say_what_the_server_says(mirrored: Mirrored, turns: int) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        await fill(mirrored, turns)
        filled = {folder.name: folder.messages for folder in mirrored.mirror.status().folders}
        assert 0 < filled["INBOX"] < 40 or turns > 12, filled
        for name, query in QUERIES.items():
            rows, said, _ = await answers(it.server, query, 7)
            assert await answers(it.mailbox, query, 7) == (rows, said, name != "archive" or "Archive" in _begun(it)), (
                name
            )


@pytest.mark.parametrize("at_once", [3, 30, 100])
@pytest.mark.parametrize("turns", [1, 6, 100])
async def test_messages_of_one_second_have_one_order_whoever_is_asked(
    mirrored: Mirrored, turns: int, at_once: int
) -> None:
    """So that whoever turns the pages while a fill goes on, or ends, sees each message once."""
    async with desk(mirrored) as it:
        seeded(mirrored, at_once=at_once)
        await fill(mirrored, turns)
        assert mirrored.mirror.status().complete == (turns == 100)
        for name, query in QUERIES.items():
            if name == "archive" and "Archive" not in _begun(it):
                continue
            rows, said, _ = await answers(it.server, query, 7)
            again, said_again, _ = await answers(it.mailbox, query, 7)
            assert [row.ref for row in again] == [row.ref for row in rows], name
            assert said_again == said


def _begun(it: Desk) -> set[str]:
    return {folder.name for folder in it.mirrored.mirror.status().folders if folder.as_of is not None}


async def test_the_server_is_asked_for_what_is_missing_alone(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        await fill(mirrored, 1)
        it.asked.clear()
        await it.list()
        assert (it.asked["search"], it.asked["search_rest"]) == (0, 1)
        searches = [line for line in it.proxy.heard.splitlines() if b"UID SORT" in line or b"UID SEARCH" in line]
        assert searches
        assert all(b"UID 1:36" in line for line in searches), searches


async def test_without_the_server_a_half_filled_mirror_answers_and_says_that_it_is_not_all(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        await fill(mirrored, 1)
        it.take_the_server_away()
        found = await it.list()
        assert (len(found.items), found.complete, found.as_of is not None) == (4, False, True)


async def test_a_folder_that_was_numbered_anew_meanwhile_is_asked_of_the_server_as_a_whole(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        await fill(mirrored, 3)
        mirrored.renumber()
        found = await it.list()
        assert (found.total, found.as_of, it.asked["search"]) == (40, None, 1)
        assert (await it.server.search(INBOX, limit=10, offset=0)).items == found.items


async def test_what_is_moved_and_marked_through_us_is_seen_at_once_though_the_mirror_does_not_have_it(
    mirrored: Mirrored,
) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        await fill(mirrored, 3)
        here = mirrored.rows()
        everything = (await it.mailbox.search(INBOX, limit=100, offset=0)).items
        absent = [row for row in everything if row.ref not in here][:2]
        archive = next(folder for folder in await it.mailbox.folders() if folder.name == "Archive")
        await it.mailbox.set_flags([absent[0].ref], add=["starred"])
        await it.mailbox.move([absent[1].ref], archive.ref)
        starred = await it.list(Query(Is("starred")))
        assert [row.ref for row in starred.items] == [absent[0].ref]
        moved = await it.list(Query(And((In("Archive"), Subject(absent[1].subject)))))
        assert len(moved.items) == 1


async def test_page_after_page_the_server_sorts_the_rest_once_while_the_border_sinks(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        whole = (await it.server.search(INBOX, limit=100, offset=0)).items
        await fill(mirrored, 1)
        await it.list()
        heard = len(it.proxy.heard)
        await fill(mirrored, 3)
        for offset in range(0, 40, 10):
            page = await it.mailbox.search(INBOX, limit=10, offset=offset)
            assert page.items == whole[offset : offset + 10]
        assert b"UID SORT" not in it.proxy.heard[heard:]
