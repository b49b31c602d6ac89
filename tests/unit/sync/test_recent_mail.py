"""A mirror of recent messages alone: what is older only the server has, but for what came to a folder since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import INBOX, desk

pytestmark = pytest.mark.anyio


def put(mirrored: Mirrored, days_ago: int, count: int, replies_to: int = 0) -> list[str]:
    """They arrived when they were sent. Their subjects, newest first."""
    sent = datetime.now(UTC) - timedelta(days=days_ago)
    moments = [sent - timedelta(minutes=number) for number in range(count)]
    with mirrored.client() as client:
        for number, moment in enumerate(moments):
            headers = [f"Subject: {days_ago} {number}", f"Date: {format_datetime(moment)}"]
            headers += [f"Message-ID: <{days_ago}.{number}@seed.example>"]
            headers += [f"In-Reply-To: <{replies_to}.{number}@seed.example>"] if replies_to else []
            raw = "\r\n".join([*headers, "", "Hello.", ""]).encode()
            arrived = moment.strftime('"%d-%b-%Y %H:%M:%S +0000"')
            client.append("INBOX", "", arrived, raw)
    return [f"{days_ago} {number}" for number in range(count)]


async def test_old_messages_that_came_to_a_folder_hide_none_that_belong_before_them(mirrored: Mirrored) -> None:
    mirrored.changes = {"mirror_days": 30}
    recent, older = put(mirrored, 1, 5), put(mirrored, 40, 5)
    await mirrored.sync()
    put(mirrored, 400, 20)
    await mirrored.sync()
    async with desk(mirrored) as it:
        assert [row.subject for row in (await it.list()).items] == recent + older


async def test_a_page_of_recent_messages_alone_comes_from_the_mirror(mirrored: Mirrored) -> None:
    mirrored.changes = {"mirror_days": 30}
    recent = put(mirrored, 1, 12)
    await mirrored.sync()
    async with desk(mirrored) as it:
        page = await it.list()
        assert [row.subject for row in page.items] == recent[:10]
        assert not it.asked["search"]
        assert page.complete
        assert page.total is None
        it.take_the_server_away()
        assert not (await it.mailbox.search(INBOX, limit=20, offset=0)).complete


async def test_a_thread_that_began_before_those_days_is_shown_from_its_beginning(mirrored: Mirrored) -> None:
    mirrored.changes = {"mirror_days": 30}
    put(mirrored, 40, 1)
    put(mirrored, 2, 1, replies_to=40)
    put(mirrored, 1, 1, replies_to=2)
    await mirrored.sync()
    async with desk(mirrored) as it:
        (latest, *_) = (await it.list()).items
        thread = await it.mailbox.thread(latest.thread_ref)
        assert [row.subject for row in thread] == ["40 0", "2 0", "1 0"]
        it.take_the_server_away()
        thread = await it.mailbox.thread(latest.thread_ref)
        assert [row.subject for row in thread] == ["2 0", "1 0"]
