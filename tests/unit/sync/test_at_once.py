"""A look for little is done by the event loop itself, with no thread at all; a look for more waits for a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, TypeVar

import anyio
import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import Desk, desk

from postroom.model.errors import PostroomError
from postroom.model.query.tree import And, In, Query, Subject, Text
from postroom.sync.answering import lookup

pytestmark = pytest.mark.anyio
R = TypeVar("R")


@asynccontextmanager
async def without_threads(it: Desk) -> AsyncIterator[None]:
    """All that may look are taken."""
    readers = it.layer._consult._readers
    holders = [object() for _ in range(int(readers.total_tokens))]
    for holder in holders:
        await readers.acquire_on_behalf_of(holder)
    yield
    for holder in holders:
        readers.release_on_behalf_of(holder)


async def needs_a_thread(call: Awaitable[Any]) -> bool:
    with anyio.move_on_after(0) as limit:
        await call
    return limit.cancelled_caught


async def test_pages_messages_and_threads_need_no_thread(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one", text="An elephant."), letter("two"))
        await mirrored.sync()
        (one,) = (await it.list(Query(Text("elephant")))).items  # opens the file
        async with without_threads(it):
            assert {row.subject for row in (await it.list()).items} == {"one", "two"}
            assert (await it.list(Query(Text("elephant")))).items == (one,)
            assert (await it.list(Query(Subject("one")))).items == (one,)
            assert await it.mailbox.envelopes([one.ref]) == [one]
            assert (await it.mailbox.fetch(one.ref)).body.text.strip() == "An elephant."
            assert [message.envelope for message in await it.mailbox.fetch_many([one.ref])] == [one]
            assert await it.mailbox.thread(one.thread_ref) == [one]
            assert await it.mailbox.mails_with_ids([one.message_id], near=one.ref) == [one]
            found, messages = await it.mailbox.fetch_thread(one.thread_ref, lambda envelopes: envelopes)
            assert (found, [message.envelope for message in messages.values()]) == ([one], [one])
        assert not set(it.asked) - {"connect"}


@pytest.mark.parametrize(
    "query",
    [
        Query(Text("an elephant", phrase=True)),
        Query(Text("eleph", prefix=True)),
        Query(And((In("INBOX"), Text("elephant")))),
    ],
)
async def test_a_search_that_may_pass_over_any_number_of_messages_needs_one(mirrored: Mirrored, query: Query) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one", text="An elephant."))
        await mirrored.sync()
        assert [row.subject for row in (await it.list(query)).items] == ["one"]
        async with without_threads(it):
            assert await needs_a_thread(it.list(query))


async def test_much_at_once_needs_one(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"), letter("two"))
        await mirrored.sync()
        refs = [row.ref for row in (await it.list()).items]
        thread = (await it.list()).items[0].thread_ref
        monkeypatch.setattr(lookup, "_PARSED_AT_ONCE", 10)
        async with without_threads(it):
            assert await needs_a_thread(it.mailbox.fetch(refs[0]))
            assert await needs_a_thread(it.mailbox.fetch_part(refs[0], "1"))
            assert await needs_a_thread(it.mailbox.envelopes(refs * 40))
        monkeypatch.setattr(lookup, "AT_ONCE", 0)
        async with without_threads(it):
            assert await needs_a_thread(it.mailbox.thread(thread))


async def test_a_letter_with_a_file_needs_none_however_little_may_be_parsed(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(mirrored) as it:
        it.append(with_file("one", bytes(range(256)) * 200), letter("two", text="words and " * 2_000))
        await mirrored.sync()
        refs = {row.subject: row.ref for row in (await it.list()).items}
        monkeypatch.setattr(lookup, "_PARSED_AT_ONCE", 10_000)
        async with without_threads(it):
            (attached,) = (await it.mailbox.fetch(refs["one"])).attachments
            assert attached.size == 256 * 200
            assert await needs_a_thread(it.mailbox.fetch(refs["two"]))
        monkeypatch.setattr(lookup, "_UNPACKED_AT_ONCE", 20_000)
        async with without_threads(it):
            assert await needs_a_thread(it.mailbox.fetch(refs["one"]))


def with_file(subject: str, content: bytes) -> bytes:
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"], mail["Subject"] = "ann@example.com", "bob@example.com", subject
    mail["Message-ID"] = f"<{subject}@example.com>"
    mail["Date"] = "Mon, 16 Nov 2026 12:00:00 +0000"
    mail.set_content("See the file.")
    mail.add_attachment(content, maintype="application", subtype="pdf", filename="one.pdf")
    return mail.as_bytes()


async def test_what_a_message_answers_is_opened_in_the_look_that_finds_it(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one", text="An elephant."))
        await mirrored.sync()
        (one,) = (await it.list()).items
        async with without_threads(it):
            (found,) = await it.mailbox.fetch_with_ids([one.message_id], lambda envelopes: envelopes[0])
            assert (found.envelope, found.body.text.strip()) == (one, "An elephant.")
            assert await it.mailbox.fetch_with_ids(["<other@x>"], lambda envelopes: None) == (None,)


async def test_whoever_may_not_wait_does_not_open_the_file(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("one"))
        await mirrored.sync()
        it.layer.mirror.close()
        with pytest.raises(PostroomError), it.layer.mirror.snapshot(waits=False):
            pass
        async with without_threads(it):
            assert await needs_a_thread(it.list())
        assert [row.subject for row in (await it.list()).items] == ["one"]
        async with without_threads(it):
            assert not await needs_a_thread(it.list())
