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
from postroom.sync.following import arriving, by_folder

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
            again, said_again, dated = await answers(it.mailbox, query, 7)
            assert (again, dated) == (rows, name != "archive" or "Archive" in _begun(it)), name
            assert _but_for_totals_of_words(name, said_again, said) == said, name


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
            assert _but_for_totals_of_words(name, said_again, said) == said


def _but_for_totals_of_words(
    name: str, said: list[tuple[int | None, bool]], wanted: list[tuple[int | None, bool]]
) -> list[tuple[int | None, bool]]:
    """A page that the mirror fills does not say how many there are in all, if the server would have to read them."""
    if not name.startswith("word"):
        return said
    return [(then[0] if now[0] is None and now[1] else now[0], now[1]) for now, then in zip(said, wanted, strict=True)]


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


@pytest.mark.parametrize("date", ["Thu, 3 Jan 2030 10:00:00 +0000", "when it rains", ""], ids=["late", "odd", "none"])
async def test_a_page_that_the_mirror_fills_needs_of_the_server_only_what_may_come_before_its_end(
    mirrored: Mirrored, date: str
) -> None:
    """The first one that arrived is shown first: by its date, or by its arrival today where it has none."""
    with mirrored.client() as client:
        for year in (0, *range(2010, 2022)):
            written = f"Date: Mon, 1 Jun {year or 2026}" if year or date else "X-Date: Mon, 1 Jun 2026"
            raw = letter(f"y{year}", text="An elephant.").replace(b"Date: Mon, 1 Jun 2026", written.encode())
            raw = raw if year or not date else raw.replace(b"Mon, 1 Jun 2026 10:00:00 +0000", date.encode())
            client.append("INBOX", "", f'"01-Jun-{year or 2026} 10:00:00 +0000"', raw)
    async with desk(mirrored) as it:
        await fill(mirrored, 1)
        said = len(it.proxy.heard)
        page = await it.mailbox.search(Query(Text("elephant")), limit=3, offset=0)
        (search,) = (line for line in it.proxy.heard[said:].splitlines() if b"elephant" in line)
        assert b"OR NOT SENTBEFORE 31-May-2018 (SINCE 31-May-2018 SENTBEFORE 1-Jan-1980)" in search
        assert (page.total, page.has_more, page.complete, page.as_of is not None) == (None, True, True, True)
        assert [row.subject for row in page.items] == ["y0", "y2021", "y2020"]
        alone = await it.server.search(Query(Text("elephant")), limit=3, offset=0)
        assert [row.ref for row in alone.items] == [row.ref for row in page.items]
        further = await it.mailbox.search(Query(Text("elephant")), limit=3, offset=3)
        assert (further.total, [row.subject for row in further.items]) == (13, ["y2019", "y2018", "y2017"])


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
