"""A file that is fetched is the one that was listed, whatever the server takes for the parts of its message."""

from __future__ import annotations

import asyncio
from base64 import encodebytes
from collections.abc import Callable

import pytest
from tests.peers.cyrus import PASSWORD, Cyrus

from postroom.model.errors import NotFound
from postroom.providers.jmap.provider import JmapMailbox
from postroom.settings import JmapAccount

MIXED = b"Content-Type: multipart/mixed; boundary=ab\r\n\r\n--ab\r\n"
INNER = b"From: sam@example.test\r\nSubject: Inner\r\n\r\nwords\r\n"
LARGE = 400_000


@pytest.fixture
async def box(cyrus: Cyrus, open_box: Callable[[JmapAccount], JmapMailbox]) -> JmapMailbox:
    user = await asyncio.to_thread(cyrus.new_user, "parts")
    return open_box(JmapAccount(name="mine", address=user, session_url=cyrus.url, password=PASSWORD))


def pdf(content: bytes) -> bytes:
    return b"Content-Type: application/pdf; name=plan.pdf\r\n\r\n%b\r\n--ab" % content


async def files_of(box: JmapMailbox, raw: bytes) -> list[bytes]:
    ref = (await box.create_draft(b"From: sam@example.test\r\nMIME-Version: 1.0\r\n" + raw)).message_ref
    return [await box.fetch_part(ref, file.part) for file in (await box.fetch(ref)).attachments]


async def test_a_file_is_the_listed_one_where_the_server_splits_the_mail_differently(box: JmapMailbox) -> None:
    assert await files_of(box, MIXED + MIXED + b"\r\nwords\r\n--ab\r\n" + pdf(b"one") + b"--\r\n") == [b"one"]


@pytest.mark.parametrize("more", [b"", b" " * LARGE], ids=["small", "large"])
async def test_a_mail_within_a_mail_is_decoded(box: JmapMailbox, more: bytes) -> None:
    encoded = encodebytes(INNER + more).replace(b"\n", b"\r\n")
    head = b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    assert await files_of(box, MIXED + b"\r\nSee:\r\n--ab\r\n" + head + encoded + b"--ab--\r\n") == [INNER + more]


async def test_one_file_of_a_large_mail_is_fetched(box: JmapMailbox) -> None:
    raw = MIXED + b"\r\nSee:\r\n--ab\r\n" + pdf(b"one") + b"\r\n" + pdf(b"two\r\n" * LARGE) + b"--\r\n"
    assert await files_of(box, raw) == [b"one", b"two\r\n" * LARGE]


async def test_a_file_that_a_mail_does_not_have_is_not_found(box: JmapMailbox) -> None:
    ref = (await box.create_draft(MIXED + b"\r\nSee:\r\n--ab--\r\n")).message_ref
    with pytest.raises(NotFound, match="no such attachment"):
        await box.fetch_part(ref, "7")
