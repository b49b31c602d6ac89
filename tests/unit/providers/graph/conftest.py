"""A mailbox on the fake Graph, without the layers that the registry puts around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.official import USED

from postroom.providers.context import ProviderContext
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.transport import GraphTransport
from postroom.settings import GraphAccount

_NUMBERS = count()


@pytest.fixture(scope="session")
def service() -> Iterator[FakeGraph]:
    with FakeGraph.started() as graph:
        yield graph


@pytest.fixture
def graph(service: FakeGraph) -> Iterator[FakeGraph]:
    """As it was started, whatever the last test told it."""
    service.forget()
    yield service
    assert service.pending_faults == 0, "a fault that was asked for never came"
    assert {one.operation for one in service.requests} <= USED, "Microsoft's own client was not tried with that"
    service.at_once, service.largest = 4, 4 * 1024 * 1024
    service.rewrites_mime = service.replaces_message_ids = False


@pytest.fixture
def alice(graph: FakeGraph) -> Mailbox:
    return graph.user(f"alice{next(_NUMBERS)}@contoso.example", "Alice Ample")


@pytest.fixture
def bob(graph: FakeGraph) -> Mailbox:
    return graph.user(f"bob{next(_NUMBERS)}@contoso.example", "Bob Brisk")


def settings(graph: FakeGraph, user: Mailbox, **more: Any) -> GraphAccount:
    plain = {"name": "work", "address": user.address, "base_url": graph.base_url, "token": graph.token(user)}
    return GraphAccount(**{key: value for key, value in {**plain, **more}.items() if value})


@pytest.fixture
async def mailbox(graph: FakeGraph, alice: Mailbox) -> AsyncIterator[GraphMailbox]:
    mailbox = GraphMailbox(settings(graph, alice), ProviderContext(Path("unused")))
    await mailbox.connect()
    graph.forget()
    yield mailbox
    await mailbox.close()


@pytest.fixture
def transport(graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox) -> GraphTransport:
    return GraphTransport(settings(graph, alice), ProviderContext(Path("unused")), mailbox)
