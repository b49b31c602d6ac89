"""Time that nobody can shorten by setting a clock."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from postroom.store.clock import Clock, Moment, believed, elapsed, system_clock


def test_an_interval_is_never_longer_than_what_the_boot_clock_proves() -> None:
    assert elapsed(Moment(100, 5, "a"), Moment(0, 65, "a")) == 60
    assert elapsed(Moment(100, 5, ""), Moment(7300, 65, "")) == 60
    assert elapsed(Moment(100, 500, "a"), Moment(7300, 30, "b")) == 30
    assert elapsed(Moment(100, 500, ""), Moment(7300, 30, "")) == 30
    assert elapsed(Moment(100, 5, "a"), Moment(160, 86_400, "b")) == 60
    assert elapsed(Moment(100, 5, "a"), Moment(40, 86_400, "b")) == 0
    assert elapsed(Moment(100, 5, "a"), Moment(7300, 5, "a")) == 0


def test_what_is_to_be_forgotten_some_day_trusts_the_wall_clock_an_hour_after_a_reboot() -> None:
    assert believed(Moment(0, 5, "a"), Moment(9e6, 3599, "b")) == 3599
    assert believed(Moment(0, 5, "a"), Moment(9e6, 3600, "b")) == 9e6
    assert believed(Moment(0, 5, ""), Moment(9e6, 3600, "")) == 9e6
    assert believed(Moment(0, 5, "a"), Moment(9e6, 3605, "a")) == 3600


@pytest.fixture
def system() -> Iterator[Callable[[], Clock]]:
    """Asked anew by each test."""
    system_clock.cache_clear()
    yield system_clock
    system_clock.cache_clear()


def test_the_system_clock_runs_and_knows_its_boot(
    system: Callable[[], Clock], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = system()
    assert isinstance(clock, Clock)
    assert elapsed(clock.now(), clock.now()) >= 0
    (tmp_path / "boot").write_text("2f1c\n")
    monkeypatch.setattr("postroom.store.clock._BOOT_ID", tmp_path / "boot")
    assert system() is clock
    system_clock.cache_clear()
    assert system().boot_id == "2f1c"


def test_without_a_boot_id_there_is_none(
    system: Callable[[], Clock], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("postroom.store.clock._BOOT_ID", tmp_path / "none")
    assert system().boot_id == ""


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels have neither")
def test_the_hours_that_a_machine_sleeps_count_and_the_kernel_names_the_boot(
    system: Callable[[], Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    clock = system()
    monkeypatch.setattr("postroom.store.clock.time.clock_gettime", lambda which: asked.append(which) or 7.5)
    assert (clock.boottime(), asked) == (7.5, [time.CLOCK_BOOTTIME])
    assert clock.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
