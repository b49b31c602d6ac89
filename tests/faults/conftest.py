"""The counts of the fault tests, told at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

_MEMORY = Path("/dev/shm")  # spares the disk thousands of syncs where only a process dies, not the machine

Record = Callable[..., None]
_COUNTS = pytest.StashKey[dict[str, str]]()


@pytest.fixture
def record_fault(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Record:
    """Say how often something was tried, and how it ended."""

    def record(what: str, times: int, endings: Mapping[str, int] | None = None) -> None:
        ended = ", ".join(f"{name} {count}" for name, count in sorted((endings or {}).items()))
        record_property("fault", f"{times:5} x {what}" + (f": {ended}" if ended else ""))

    return record


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else tmp_path_factory.getbasetemp()) as folder:
        yield Path(folder)


@pytest.fixture
def memory_home(memory: Path) -> Iterator[Callable[[], Path]]:
    """A new folder with each call, all of them gone after the test."""
    with TemporaryDirectory(dir=memory) as folder:
        yield lambda: Path(mkdtemp(dir=folder))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        str(value)
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "fault"
    ]
    if lines:
        terminalreporter.section("faults survived")
        terminalreporter.write_line("\n".join(lines))
