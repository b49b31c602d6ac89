"""Time as the store needs it: the wall clock for people, the boot clock for intervals that no one may shorten."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on both clocks. `boot_id` is empty where the system has none."""

    wall: float
    boottime: float
    boot_id: str


@dataclass(frozen=True, slots=True)
class Clock:
    """Everything the store knows about time; tests put their own in its place."""

    wall: Callable[[], float]
    boottime: Callable[[], float]
    boot_id: str

    def now(self) -> Moment:
        return Moment(self.wall(), self.boottime(), self.boot_id)


def elapsed(then: Moment, now: Moment) -> float:
    """Seconds between two moments. Within one boot no step of the wall clock can change the answer."""
    if then.boot_id and then.boot_id == now.boot_id:
        return now.boottime - then.boottime
    return now.wall - then.wall


def iso(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds")


@cache
def system_clock() -> Clock:
    # CLOCK_BOOTTIME runs on while the machine sleeps; without it (and without a boot id) the wall clock must do.
    source = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return Clock(time.time, lambda: time.clock_gettime(source), _read_boot_id())


def _read_boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""
