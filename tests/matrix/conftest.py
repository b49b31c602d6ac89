from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.contract.rigs import Rig, running_rig

from .table import LACKS


@pytest.fixture(scope="session", params=LACKS)
def provider(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Rig]]:
    with running_rig(request.param, tmp_path_factory.mktemp(request.param)) as rig:
        yield rig


@pytest.fixture
async def rig(provider: type[Rig], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    rig = provider(tmp_path_factory.mktemp("account"))
    yield rig
    await rig.close()
