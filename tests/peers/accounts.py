"""Settings of an account on the test servers, and mailboxes opened with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.peers.courier import Courier
from tests.peers.dovecot import PASSWORD, Dovecot

from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.settings import ImapAccount


def imap_account(dovecot: Dovecot | Courier, user: str = "", **changes: Any) -> ImapAccount:
    """A new user unless one is named; a plain connection unless told otherwise."""
    values: dict[str, Any] = {
        "name": "mine",
        "address": user or dovecot.new_user(),
        "host": dovecot.host,
        "port": dovecot.imap,
        "security": "none",
        "password": PASSWORD,
        "timeout": 10,
    }
    return ImapAccount(**(values | changes))


@asynccontextmanager
async def opened(account: ImapAccount) -> AsyncIterator[ImapMailbox]:
    """The bare provider, without layers: nothing retries for it."""
    mailbox = ImapMailbox(account, ProviderContext(Path()))
    try:
        await mailbox.connect()
        yield mailbox
    finally:
        await mailbox.close()


def letter(key: str, *, text: str = "Hello.", subject: str = "") -> bytes:
    return (
        f"From: Ada <ada@friends.example>\r\nTo: me@example.test\r\nSubject: {subject or key}\r\n"
        f"Date: Mon, 1 Jun 2026 10:00:00 +0000\r\nMessage-ID: <{key}@seed.example>\r\n\r\n{text}\r\n"
    ).encode()
