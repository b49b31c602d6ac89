"""One fake Gmail for all of these tests, and for each a mailbox of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.mailbox import Mailbox

from postroom.providers.context import ProviderContext
from postroom.providers.gmail.provider import GmailMailbox
from postroom.providers.gmail.transport import GmailTransport
from postroom.settings import GmailAccount

_NUMBERS = count()


@dataclass
class Box:
    """A connected mailbox, and what it is at the other end."""

    gmail: FakeGmail
    user: Mailbox
    account: GmailAccount
    mailbox: GmailMailbox
    transport: GmailTransport

    def deliver(self, key: str = "one", labels: tuple[str, ...] = ("INBOX", "UNREAD"), **fields: Any) -> str:
        return self.gmail.deliver(self.user, mail(key, **fields), labels, when=1_781_000_000).id

    def label(self, name: str) -> str:
        return self.user.labels.create(name).id

    def labels_of(self, ref: str) -> set[str]:
        return set(self.user.message(ref).labels)

    def asked(self) -> list[str]:
        """Every request since `forget`, those of a batch as one."""
        return [one.operation for one in self.gmail.requests if not one.in_batch]


@pytest.fixture(scope="session")
def service() -> Iterator[FakeGmail]:
    with FakeGmail.started() as gmail:
        gmail.quota.per_user_per_minute = gmail.quota.per_project_per_minute = None
        yield gmail


@pytest.fixture
def gmail(service: FakeGmail) -> Iterator[FakeGmail]:
    service.forget()
    yield service
    service.forget_faults()


def opened(gmail: FakeGmail, user: Mailbox, **more: Any) -> tuple[GmailAccount, GmailMailbox, GmailTransport]:
    values = {"token": gmail.token(user), "units_per_minute": 10**7, **more}
    account = GmailAccount(**{"name": "mine", "address": user.address, "base_url": gmail.url, **values})
    context = ProviderContext(Path(), (account,))
    mailbox = GmailMailbox(account, context)
    return account, mailbox, GmailTransport(account, context, mailbox)


@pytest.fixture
async def box(gmail: FakeGmail) -> AsyncIterator[Box]:
    user = gmail.user(f"user{next(_NUMBERS)}@gmail.example", "User")
    account, mailbox, transport = opened(gmail, user)
    await mailbox.connect()
    await mailbox.folders()
    gmail.forget()
    yield Box(gmail, user, account, mailbox, transport)
    await mailbox.close()


@pytest.fixture
def waits(box: Box) -> list[float]:
    """No waiting, but a record of it."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    client = box.mailbox.client
    for holder in (client, client._api):
        holder._retry = replace(holder._retry, sleep=sleep)  # type: ignore[attr-defined]
    client._api._quota._sleep = sleep
    return waited


@pytest.fixture
def quick(waits: list[float]) -> None:
    pass
