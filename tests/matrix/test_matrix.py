"""Every dialect on every provider: what the provider has works to the end, and what it lacks is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contract.rigs import Rig

from .adapter import Refused
from .adapters import ADAPTERS
from .desk import desk_for
from .table import LACKS, steps_of


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
