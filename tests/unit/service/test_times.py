"""Moments in a listing: short, in one zone, and never without their offset."""

from __future__ import annotations

from postroom.service.times import side_by_side


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
