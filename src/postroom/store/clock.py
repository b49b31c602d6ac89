"""Time as the store needs it: the wall clock for people, the boot clock for intervals that no one may shorten."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SETTLED_SECONDS = 3600.0


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
    """Seconds that have passed for certain: never more than really did, however somebody set the wall clock.

    The boot clock is the witness. Where it was started again since, all it proves is how long this boot has run, and no
    more than the wall clock agrees to: a state folder may have moved to a machine that was up all along. Without boot
    ids the same holds, for a later boot that shows a larger time has run for longer than the difference.
    """
    if then.boot_id == now.boot_id and now.boottime >= then.boottime:
        return now.boottime - then.boottime
    return max(0.0, min(now.wall - then.wall, now.boottime))


def are_of_one_boot(then: Moment, now: Moment) -> bool:
    """For certain."""
    return then.boot_id != "" and then.boot_id == now.boot_id


def believed(then: Moment, now: Moment) -> float:
    """For what is to be forgotten some day: across a reboot the wall clock is believed once this boot is an hour old.

    By then whoever corrects a wrong clock has done so; and where a machine is shut down every evening, `elapsed` would
    never grow beyond a day.
    """
    proven = elapsed(then, now)
    is_proven_alone = are_of_one_boot(then, now) or now.boottime < _SETTLED_SECONDS
    return proven if is_proven_alone else max(proven, now.wall - then.wall)


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
