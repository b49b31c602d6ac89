"""What is labelled and moved through Postroom at Gmail is at once in the mirror as the server has it; or the mirror
knows that it has to look."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.cloud_checking import unordered

from postroom.model.query.tree import In, Node, Not, Or, Query
from postroom.sync.answering.coverage import coverage_of_all
from postroom.sync.answering.mirrored import MirrorLayer, mirrored

pytestmark = pytest.mark.anyio


@pytest.fixture
async def gmail(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("gmail", tmp_path) as cloud:
        yield cloud


def layered(gmail: Cloud, mailbox: Any) -> Any:
    return mirrored(mailbox, MirrorLayer(mailbox, gmail.mirror, gmail.side.settings), "gmail")


def is_stale(gmail: Cloud) -> bool:
    with gmail.mirror.snapshot() as connection:
        return coverage_of_all(connection).is_stale


async def test_a_message_that_was_just_labelled_is_in_the_folder_of_that_name(gmail: Cloud) -> None:
    label = gmail.side.user.labels.create("Work")
    ref = gmail.side.peer.deliver(gmail.side.user, mail("one"), set()).id
    await gmail.sync()
    async with gmail.mailbox() as mailbox:
        box = layered(gmail, mailbox)
        await box.apply_label([ref], "Work")
        assert gmail.side.user.message(ref).labels == {label.id}
        gmail.side.peer.forget()
        (row,) = (await box.search(Query(In("Work")), limit=5, offset=0)).items
        assert (row.folders, row.labels) == (("Work",), ("Work",))
        assert (await box.search(Query(In("Archive")), limit=5, offset=0)).items == (row,)  # as at Gmail
        assert gmail.side.peer.count("messages.list") == 0


@pytest.mark.parametrize("verb", ["move", "apply_label"])
async def test_a_label_with_a_longer_name_than_ours_may_have_is_looked_for_at_the_server(
    gmail: Cloud, verb: str
) -> None:
    label = gmail.side.user.labels.create("Long " * 30 + "name")
    ref = gmail.side.peer.deliver(gmail.side.user, mail("one"), {"INBOX"}).id
    await gmail.sync()
    async with gmail.mailbox() as mailbox:
        box = layered(gmail, mailbox)
        await (box.move([ref], label.id) if verb == "move" else box.apply_label([ref], label.name))
    assert is_stale(gmail)
    await gmail.sync()
    assert gmail.rows() == await gmail.there()


@pytest.mark.parametrize("verb", ["move", "put_into"])
async def test_what_gmail_leaves_in_sent_stays_there_in_the_mirror(gmail: Cloud, verb: str) -> None:
    """It succeeds, and nothing changes: so nothing is reported that would put a guess right."""
    ref = gmail.side.peer.deliver(gmail.side.user, mail("one"), {"SENT"}).id
    await gmail.sync()
    async with gmail.mailbox() as mailbox:
        box = layered(gmail, mailbox)
        (result,) = await (box.move([ref], "ARCHIVE") if verb == "move" else box.put_into([ref], ["ARCHIVE"]))
        assert result.ok
    await gmail.sync()
    assert gmail.rows()[ref].folders == ("Sent",)
    assert gmail.rows() == await gmail.there()


@pytest.mark.parametrize("seed", range(3))
async def test_the_mirror_shows_what_was_changed_as_the_server_does(gmail: Cloud, seed: int) -> None:
    chance = random.Random(seed)
    side, trusted = gmail.side, 0
    labels = [side.user.labels.create(name).id for name in ("beta", "Alpha", "gamma")]
    places = [{"INBOX"}, {"SENT"}, {"SENT", "INBOX"}, set[str](), {"TRASH"}, {"SPAM"}]
    for number in range(12):
        own = chance.sample(labels, chance.randint(0, 2))
        side.peer.deliver(side.user, mail(f"m{number}"), {*own, *places[number % 6]})
    await gmail.sync()
    async with gmail.mailbox() as mailbox:
        box = layered(gmail, mailbox)
        for _ in range(40):
            done = await _change(box, chance, sorted(side.refs()), labels)
            if is_stale(gmail):
                await gmail.sync()
            else:
                trusted += 1
                there, here = await gmail.there(), gmail.rows()
                assert {ref: unordered(row) for ref, row in here.items()} == {
                    ref: unordered(row) for ref, row in there.items()
                }, done
    assert trusted > 20


async def _change(box: Any, chance: random.Random, refs: list[str], labels: list[str]) -> tuple[object, ...]:
    some, name = chance.sample(refs, chance.randint(1, 3)), chance.choice(["beta", "ALPHA", "gamma"])
    folder = chance.choice(["INBOX", "TRASH", "SPAM", "ARCHIVE", *labels])
    call: tuple[Any, ...] = chance.choice(
        [
            (box.apply_label, some, name),
            (box.remove_label, some, name),
            (box.move, some, folder),
            (box.move, some, folder),
            (box.put_into, some, [folder]),
        ]
    )
    before = await box.envelopes(some)
    await call[0](*call[1:])
    return call[0], call[1:], before


@pytest.mark.parametrize(
    "node", [In("Archive"), Not(In("archive")), Not(In("Sent")), Or((In("Archive"), In("Work")))], ids=repr
)
async def test_the_mirror_finds_in_a_place_of_gmails_what_gmail_finds_there(gmail: Cloud, node: Node) -> None:
    work = gmail.side.user.labels.create("Work").id
    for number, labels in enumerate([set(), {work}, {work, "INBOX"}, {"SENT"}, {"SENT", "TRASH"}, {work, "SPAM"}]):
        gmail.side.peer.deliver(gmail.side.user, mail(f"m{number}"), labels)
    await gmail.sync()
    async with gmail.mailbox() as mailbox:
        there = await mailbox.search(Query(node), limit=10, offset=0)
        gmail.side.peer.forget()
        here = await layered(gmail, mailbox).search(Query(node), limit=10, offset=0)
    assert gmail.side.peer.requests == []
    assert {row.ref for row in here.items} == {row.ref for row in there.items}
    assert here.total == there.total


async def test_a_message_in_trash_is_no_longer_in_sent(gmail: Cloud) -> None:
    ref = gmail.side.peer.deliver(gmail.side.user, mail("one"), {"SENT", "TRASH"}).id
    async with gmail.mailbox() as mailbox:
        found = await mailbox.search(Query(Not(In("Sent"))), limit=10, offset=0)
    assert [row.ref for row in found.items] == [ref]
