from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.store.kit import FakeTime

from postroom.store import Store, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def store(path: Path, time: FakeTime) -> Iterator[Store]:
    opened = open_store(path, clock=time.clock())
    yield opened
    opened.close()


@pytest.fixture
def other(path: Path, time: FakeTime, store: Store) -> Iterator[Store]:
    """A second worker on the same file, with a name and a lock of its own."""
    opened = open_store(path, clock=time.clock())
    yield opened
    opened.close()
