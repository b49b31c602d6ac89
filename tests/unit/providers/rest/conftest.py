"""An account at a running REST mail API; nothing here really waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.contract.mails import mail
from tests.peers.rest import RestPeer, User

from postroom.providers.context import ProviderContext
from postroom.providers.layers.retry import Retry
from postroom.providers.rest.provider import RestMailbox
from postroom.providers.rest.transport import RestTransport
from postroom.settings import RestAccount

ME, YOU = "me@demo.example", "you@demo.example"


async def no_wait(seconds: float) -> None:
    pass


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestPeer]:
    with RestPeer(tmp_path_factory.mktemp("rest")).run() as peer:
        yield peer


@pytest.fixture
def api(running: RestPeer) -> Iterator[RestPeer]:
    for address in (ME, YOU):
        running.add_user(address)
    yield running
    running.forget_faults()
    running.forget()
    running.largest, running.expires_in = 20 * 2**20, 3600
    for address in (ME, YOU):
        running.remove_user(address)


@pytest.fixture
def me(api: RestPeer) -> User:
    return api.users[ME]


@pytest.fixture
def account(api: RestPeer, me: User) -> RestAccount:
    return RestAccount(name="mine", address=ME, base_url=api.url, auth_token=me.new_token())


@pytest.fixture
async def box(account: RestAccount, tmp_path: object, api: RestPeer) -> AsyncIterator[RestMailbox]:
    mailbox = RestMailbox(account, ProviderContext(tmp_path, (account,)))  # type: ignore[arg-type]
    mailbox.client._api._retry = Retry(attempts=3, sleep=no_wait)
    await mailbox.connect()
    api.forget()
    yield mailbox
    await mailbox.close()


@pytest.fixture
def transport(account: RestAccount, box: RestMailbox) -> RestTransport:
    return RestTransport(account, ProviderContext(None, (account,)), box)  # type: ignore[arg-type]


@pytest.fixture
def one(me: User) -> str:
    return me.store.add(mail("one", text="CANARYBODY", subject="CANARYSUBJECT"))
