"""Every dialect on every provider: what the provider has works to the end, and what it lacks is refused by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.rigs import Rig, running_rig

from .adapter import Refused
from .adapters import ADAPTERS
from .desk import desk_for
from .table import LACKS, steps_of


@pytest.fixture(scope="session", params=LACKS)
def provider(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Rig]]:
    with running_rig(request.param, tmp_path_factory.mktemp(request.param)) as rig:
        yield rig


@pytest.fixture
async def rig(provider: type[Rig], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    rig = provider(tmp_path_factory.mktemp("account"))
    yield rig
    await rig.close()


@pytest.mark.parametrize("name", ADAPTERS)
async def test_an_everyday_story_ends_well_or_with_a_clear_refusal(name: str, rig: Rig, tmp_path: Path) -> None:
    async with desk_for(name, rig, tmp_path) as desk:
        dialect: Any = ADAPTERS[name](desk)
        capabilities = desk.account.capabilities
        for step in steps_of(name):
            if not step.needs or getattr(capabilities, step.needs):
                await step.run(dialect)
                continue
            assert step.needs in LACKS[capabilities.provider]
            before = len(await desk.arrived())
            with pytest.raises(Refused, match=dialect.unsupported):
                await step.run(dialect)
            assert len(await desk.arrived()) == before
