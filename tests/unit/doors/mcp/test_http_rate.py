from __future__ import annotations

from postroom.doors.mcp.http import rate
from postroom.doors.mcp.http.rate import RequestRate


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_allowed_and_then_the_rate_applies() -> None:
    clock = Clock()
    limit = RequestRate(60, clock)

    waits = [limit.seconds_to_wait("a") for _ in range(11)]
    clock.now += waits[-1]

    assert waits[:10] == [0.0] * 10
    assert waits[10] == 1.0
    assert limit.seconds_to_wait("a") == 0.0
    assert limit.seconds_to_wait("a") > 0


def test_a_refused_request_does_not_lengthen_the_wait() -> None:
    limit = RequestRate(6, Clock())
    limit.seconds_to_wait("a")

    assert [limit.seconds_to_wait("a") for _ in range(5)] == [10.0] * 5


def test_clients_do_not_use_up_each_others_requests() -> None:
    limit = RequestRate(6, Clock())
    limit.seconds_to_wait("a")

    assert limit.seconds_to_wait("b") == 0.0


def test_a_pause_saves_up_no_more_than_a_burst() -> None:
    clock = Clock()
    limit = RequestRate(60, clock)
    limit.seconds_to_wait("a")
    clock.now += 86_400

    assert [limit.seconds_to_wait("a") for _ in range(11)].count(0.0) == 10


def test_no_limit_is_kept_for_nobody() -> None:
    limit = RequestRate(0, Clock())

    assert {limit.seconds_to_wait(str(number)) for number in range(1000)} == {0.0}


def test_a_flood_of_addresses_does_not_fill_the_memory() -> None:
    limit = RequestRate(6, Clock())
    for number in range(rate._REMEMBERED + 50):
        limit.seconds_to_wait(str(number))

    assert len(limit._buckets) == rate._REMEMBERED
