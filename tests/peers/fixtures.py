"""The peers as session fixtures: started when the first test asks, one set per worker process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.courier import Courier, running_courier
from tests.peers.cyrus import Cyrus, running_cyrus
from tests.peers.dovecot import Dovecot, running_dovecot
from tests.peers.postfix import Postfix, running_postfix


@pytest.fixture(scope="session")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        yield server


@pytest.fixture(scope="session")
def postfix(dovecot: Dovecot) -> Iterator[Postfix]:
    with running_postfix(dovecot) as server:
        yield server


@pytest.fixture(scope="session")
def courier() -> Iterator[Courier]:
    with running_courier() as server:
        yield server


@pytest.fixture(scope="session")
def cyrus() -> Iterator[Cyrus]:
    with running_cyrus() as server:
        yield server
