from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.jmap import ADDRESS, TOKEN, FakeJmap

from postroom.providers.context import ProviderContext
from postroom.providers.jmap.provider import JmapMailbox
from postroom.providers.jmap.transport import JmapTransport
from postroom.settings import JmapAccount


@pytest.fixture
def server() -> Iterator[FakeJmap]:
    with FakeJmap().run() as peer:
        yield peer


@pytest.fixture
def account(server: FakeJmap) -> JmapAccount:
    return JmapAccount(name="mine", address=ADDRESS, session_url=server.url, token=TOKEN)


@pytest.fixture
async def open_box(tmp_path: Path) -> AsyncIterator[Callable[[JmapAccount], JmapMailbox]]:
    """Opens the bare provider, without layers: nothing retries for it but its own requests."""
    opened: list[JmapMailbox] = []

    def open_one(account: JmapAccount) -> JmapMailbox:
        opened.append(JmapMailbox(account, ProviderContext(tmp_path, (account,), proxies=False)))
        return opened[-1]

    yield open_one
    for box in opened:
        await box.close()


@pytest.fixture
async def mailbox(account: JmapAccount, open_box: Callable[[JmapAccount], JmapMailbox]) -> JmapMailbox:
    box = open_box(account)
    await box.connect()
    return box


@pytest.fixture
def transport(account: JmapAccount, mailbox: JmapMailbox, tmp_path: Path) -> Any:
    return JmapTransport(account, ProviderContext(tmp_path, (account,)), mailbox)
