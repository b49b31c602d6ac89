"""The fake Gmail with two users, one of whom a client speaks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller
from tests.peers.gmail.mailbox import Mailbox


@pytest.fixture
def gmail() -> Iterator[FakeGmail]:
    with FakeGmail.started() as service:
        yield service


@pytest.fixture
def alice(gmail: FakeGmail) -> Mailbox:
    return gmail.user("alice@gmail.example", "Alice Ample")


@pytest.fixture
def bob(gmail: FakeGmail) -> Mailbox:
    return gmail.user("bob@gmail.example", "Bob Brisk")


@pytest.fixture
def caller(gmail: FakeGmail, alice: Mailbox) -> Iterator[Caller]:
    with Caller(gmail, alice) as client:
        yield client
