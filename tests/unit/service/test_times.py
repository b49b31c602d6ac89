"""Moments in a listing: short, in one zone, and never without their offset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from postroom.service.times import shown_moment, side_by_side

NEW_YEAR_1, LAST_OF_9999 = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Africa/Monrovia"])
@pytest.mark.parametrize("hours", [0, 2, -3.5])
def test_a_moment_is_shown_as_the_calendar_has_it_also_where_clocks_change(name: str, hours: float) -> None:
    zone, own = ZoneInfo(name), timezone(timedelta(hours=hours))
    changes = [datetime(2026, 3, 29, tzinfo=own), datetime(2026, 10, 25, tzinfo=own), datetime(1972, 1, 7, tzinfo=own)]
    for start in (*changes, datetime(1969, 12, 31, tzinfo=own), datetime(1850, 7, 1, 12, tzinfo=own)):
        for second in range(0, 2 * 86_400, 1_799):
            moment = start + timedelta(seconds=second)
            assert shown_moment(moment, zone) == moment.astimezone(zone).isoformat()


def test_a_moment_that_no_zone_can_move_keeps_its_own_offset() -> None:
    west, east = ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
    assert shown_moment(NEW_YEAR_1, west) == "0001-01-01T00:00:00+00:00"
    assert shown_moment(LAST_OF_9999, east) == "9999-12-31T23:59:59+00:00"
    assert shown_moment(NEW_YEAR_1 + timedelta(days=2), west) == "0001-01-02T19:03:58-04:56:02"


def test_fractions_of_a_second_are_left_out_or_shown_as_asked() -> None:
    moment = datetime(2026, 11, 16, 12, 24, 5, 999_999, tzinfo=UTC)
    assert shown_moment(moment, ZoneInfo("Europe/Berlin")) == "2026-11-16T13:24:05+01:00"
    assert shown_moment(moment, UTC, "milliseconds") == "2026-11-16T12:24:05.999+00:00"


def test_an_offset_that_all_have_is_told_once() -> None:
    assert side_by_side(["2026-11-16T12:24:45+05:30", "", "2026-11-15T08:00:00.123456+05:30"]) == (
        "+05:30",
        ["2026-11-16 12:24", "", "2026-11-15 08:00"],
    )


def test_offsets_that_differ_stand_behind_each() -> None:
    assert side_by_side(["2026-10-26T09:00:00+01:00", "2026-10-24T09:00:00+02:00"]) == (
        "",
        ["2026-10-26 09:00+01:00", "2026-10-24 09:00+02:00"],
    )


def test_where_nothing_is_dated_nothing_is_told() -> None:
    assert side_by_side(["", ""]) == ("", ["", ""])
    assert side_by_side([]) == ("", [])
