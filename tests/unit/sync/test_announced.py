"""New messages of the inbox come with the news of them: found before the server is looked at, and never against it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.peers.accounts import imap_account, letter
from tests.unit.sync.conftest import Mirrored

from postroom.model.changes import Announced, BulkMail, FolderChanges
from postroom.model.errors import ProviderUnavailable
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio

PLENTY = 1_000_000


class Watched(ImapMailbox):
    """Notes which messages are fetched by their numbers."""

    fetched: tuple[int, ...] = ()
    is_away = False

    async def folder_changes(self, *given: Any) -> FolderChanges:
        if self.is_away:
            raise ProviderUnavailable("The connection was lost.")
        return await super().folder_changes(*given)

    async def bulk(
        self, folder_ref: str, epoch: str, numbers: Sequence[int], *, max_bytes: int
    ) -> AsyncGenerator[list[BulkMail], None]:
        self.fetched += tuple(numbers)
        async with aclosing(super().bulk(folder_ref, epoch, numbers, max_bytes=max_bytes)) as batches:
            async for batch in batches:
                yield batch


@asynccontextmanager
async def followed(mirrored: Mirrored) -> AsyncIterator[tuple[Watched, Syncing]]:
    account = imap_account(mirrored.dovecot, mirrored.user, **({"mirror": "full"} | mirrored.changes))
    mailbox = Watched(account, ProviderContext(mirrored.mirror.path.parent))
    try:
        async with Syncing(mirrored.mirror, mailbox, account) as syncing:
            yield mailbox, syncing
    finally:
        await mailbox.close()


def deliver(mirrored: Mirrored, *keys: str, flags: str = "", folder: str = "INBOX") -> None:
    with mirrored.client() as client:
        for key in keys:
            client.append(folder, flags, None, letter(key, text="A latecomer."))


def remove_all(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        client.select("INBOX")
        client.store("1:*", "+FLAGS", "(\\Deleted)")
        client.expunge()


async def announced(
    mirrored: Mirrored, mailbox: ImapMailbox, *keys: str, flags: str = "", max_bytes: int = PLENTY
) -> Announced:
    """The news that these were delivered. A server may tell of several one by one, so `keys` are there before."""
    async with aclosing(mailbox.announced(max_bytes=max_bytes)) as news:
        assert await anext(news) == Announced("INBOX")
        await anyio.to_thread.run_sync(lambda: deliver(mirrored, *keys, flags=flags))
        return await anext(news)


def subjects(mirrored: Mirrored) -> set[str]:
    return {row.subject for row in mirrored.rows().values()}


async def test_a_message_that_was_announced_is_not_fetched_again(mirrored: Mirrored) -> None:
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        syncing._announced.append(await announced(mirrored, mailbox, "news"))
        await syncing.once()
        assert (subjects(mirrored), mailbox.fetched) == ({"news"}, ())


async def test_whoever_follows_listens_for_the_messages_themselves(mirrored: Mirrored) -> None:
    send, receive = anyio.create_memory_object_stream[None](1)
    async with followed(mirrored) as (mailbox, syncing), send, receive, anyio.create_task_group() as tasks:
        tasks.start_soon(syncing._listen, mailbox, send)
        with anyio.fail_after(30):
            await receive.receive()
            await anyio.to_thread.run_sync(deliver, mirrored, "news")
            await receive.receive()
        assert [mail.number for news in syncing._announced for mail in news.mails] == [1]
        tasks.cancel_scope.cancel()


async def test_what_was_announced_is_found_and_what_happens_to_it_later_is_taken_over(mirrored: Mirrored) -> None:
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        news = await announced(mirrored, mailbox, "news", flags="(\\Seen Blue)")
        (mail,) = news.mails
        assert (mail.marks.unread, mail.marks.labels, mail.size) == (False, ("Blue",), len(mail.raw))
        syncing._announced.append(news)
        await syncing._take_announced()
        assert subjects(mirrored) == {"news"}
        await syncing.once()
        assert subjects(mirrored) == {"news"}
        remove_all(mirrored)
        await syncing.once()
        assert subjects(mirrored) == set()


async def test_what_was_removed_before_the_last_look_does_not_come_back_by_an_older_announcement(
    mirrored: Mirrored,
) -> None:
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        news = await announced(mirrored, mailbox, "news")
        remove_all(mirrored)
        await syncing.once()
        syncing._announced.append(news)
        await syncing.once()
        assert subjects(mirrored) == set()


async def test_a_look_that_failed_half_way_may_have_noted_that_the_message_was_removed(mirrored: Mirrored) -> None:
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        news = await announced(mirrored, mailbox, "news")
        mailbox.is_away = True
        with pytest.raises(ProviderUnavailable):
            await syncing.once()
        syncing._announced.append(news)
        await syncing._take_announced()
        assert subjects(mirrored) == set()


async def test_a_mirror_of_headers_leaves_what_was_announced_to_the_look_that_follows(mirrored: Mirrored) -> None:
    mirrored.changes = {"mirror": "headers"}
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        syncing._announced.append(await announced(mirrored, mailbox, "news"))
        await syncing._take_announced()
        assert subjects(mirrored) == set()
        await syncing.once()
        assert subjects(mirrored) == {"news"}


async def test_an_announcement_of_another_epoch_or_of_a_folder_that_is_left_out_is_not_written(
    mirrored: Mirrored,
) -> None:
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        news = await announced(mirrored, mailbox, "news")
        syncing._announced.append(Announced(news.folder_ref, "1", news.mails, news.asked_at))
        await syncing._take_announced()
        assert subjects(mirrored) == set()
    mirrored.changes = {"mirror_leave_out": ("INBOX",)}
    async with followed(mirrored) as (_, leaving_out):
        await leaving_out.once()
        leaving_out._announced.append(news)
        leaving_out._stated_at = 0.0
        await leaving_out._take_announced()
        assert subjects(mirrored) == set()


async def test_a_large_message_is_announced_and_left_to_the_next_look(mirrored: Mirrored) -> None:
    """Its bytes would hold up all that comes after it, and are not wanted."""
    async with followed(mirrored) as (mailbox, syncing):
        await syncing.once()
        news = await announced(mirrored, mailbox, "news", max_bytes=20)
        assert not news.mails
        await syncing.once()
    assert "news" in subjects(mirrored)


@pytest.mark.parametrize(("flags", "max_bytes"), [("(\\Deleted)", PLENTY), ("", 0)], ids=["deleted", "not wanted"])
async def test_news_come_without_a_message_that_is_not_shown_or_not_wanted(
    mirrored: Mirrored, flags: str, max_bytes: int
) -> None:
    async with followed(mirrored) as (mailbox, _):
        news = await announced(mirrored, mailbox, "news", flags=flags, max_bytes=max_bytes)
        assert (news.folder_ref, list(news.mails)) == ("INBOX", [])


async def test_many_messages_at_once_are_left_to_the_look_that_follows(mirrored: Mirrored) -> None:
    """They are copied in one step, so that no server tells of the first before the last is there."""
    deliver(mirrored, *(f"news{number}" for number in range(21)), folder="Archive")
    async with followed(mirrored) as (mailbox, syncing), aclosing(mailbox.announced(max_bytes=PLENTY)) as news:
        await syncing.once()
        await anext(news)
        with mirrored.client() as client:
            client.select("Archive")
            client.copy("1:21", "INBOX")
            assert list((await anext(news)).mails) == []
            await syncing.once()
            assert len(mirrored.rows()) == 42
            client.copy("1", "INBOX")
            assert [mail.number for mail in (await anext(news)).mails] == [22]
