"""A mirror of a user's mailbox on Dovecot, and a second client that changes it."""

from __future__ import annotations

import imaplib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.peers import cyrus
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.cyrus import Cyrus
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot
from tests.peers.lying_imap import MODERN, POOR, LyingImap, lying_imap

from postroom.model.message import Envelope
from postroom.providers.imap.provider import ImapMailbox
from postroom.sync.answering.lookup import Lookup
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing, Tools

BASIC = "IMAP4rev1 LITERAL+ ID NAMESPACE UIDPLUS IDLE UNSELECT MOVE"


@dataclass
class Mirrored:
    """An account and its mirror. `sync` is one run in this process."""

    dovecot: Dovecot | Cyrus
    user: str
    mirror: Mirror
    changes: dict[str, Any]

    def __post_init__(self) -> None:
        if isinstance(self.dovecot, Cyrus):
            self.changes = {"password": cyrus.PASSWORD, **self.changes}

    def renumber(self) -> bool:
        """The inbox gets another UIDVALIDITY. False where that cannot be brought about."""
        if not isinstance(self.dovecot, Dovecot):
            return False
        if not (self.dovecot.maildir(self.user) / "dovecot-uidlist").exists():  # nothing was ever in it
            return False
        self.dovecot.renumber(self.user)
        return True

    @asynccontextmanager
    async def mailbox(self) -> AsyncIterator[ImapMailbox]:
        async with opened(imap_account(self.dovecot, self.user, **({"mirror": "full"} | self.changes))) as mailbox:
            yield mailbox

    async def sync(self, tools: Tools | None = None) -> None:
        account = imap_account(self.dovecot, self.user, **({"mirror": "full"} | self.changes))
        async with opened(account) as mailbox, Syncing(self.mirror, mailbox, account, tools) as syncing:
            await syncing.once()

    async def find(self, tools: Tools | None = None) -> None:
        """A run that ends when everything is found, and nothing is packed."""
        async with self.mailbox() as mailbox:
            account = imap_account(self.dovecot, self.user, **({"mirror": "full"} | self.changes))
            async with Syncing(self.mirror, mailbox, account, tools) as syncing:
                await syncing._bring_up_to_date()

    @contextmanager
    def client(self) -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4(self.dovecot.host, self.dovecot.imap) as client:
            client.login(self.user, self.changes.get("password", PASSWORD))
            yield client

    def rows(self) -> dict[str, Envelope]:
        """Everything in the index, by ref."""
        with self.mirror.snapshot() as connection:
            refs = [ref for (ref,) in connection.execute("SELECT ref FROM mail")]
            return {row.ref: row for row in Lookup(threads_by_headers=True).envelopes(connection, refs) if row}


@pytest.fixture
def mirrored(dovecot: Dovecot, tmp_path: Path) -> Mirrored:
    return Mirrored(dovecot, dovecot.new_user("mirror"), Mirror(tmp_path / "mirrors" / "mine.db"), {})


@pytest.fixture(scope="module")
def poor() -> Iterator[Dovecot]:
    """It has neither CONDSTORE nor LIST-STATUS, and says so."""
    with running_dovecot(capability=BASIC) as server:
        yield server


@pytest.fixture(scope="module")
def middling() -> Iterator[Dovecot]:
    with running_dovecot(capability=f"{BASIC} CONDSTORE ENABLE ESEARCH LIST-EXTENDED LIST-STATUS") as server:
        yield server


@pytest.fixture(params=[MODERN, POOR], ids=["modern", "poor"])
def liar(request: pytest.FixtureRequest) -> Iterator[LyingImap]:
    with lying_imap(capability=request.param) as server:
        server.put(*(letter(f"letter{number}", text=f"word{number}") for number in (1, 2, 3)))
        yield server


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(tmp_path / "mirrors" / "mine.db")
