"""Counts for Prometheus, in its text format: tool calls by name and result, and how long they took.

Names come from our own tools and codes only, never from a caller, so neither text nor addresses can get in here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

# Upper ends of the buckets, in seconds: a local index answers in milliseconds, an IMAP server in seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Of one process, all clients together."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._slowest: Counter[tuple[str, int]] = Counter()  # by the first bucket that is long enough
        self.turned_away: Callable[[], int] = lambda: 0  # requests, because the server was busy

    def called(self, tool: str, status: str, code: str, seconds: float) -> None:
        self._calls[tool, status, code] += 1
        self._seconds[tool] += seconds
        self._slowest[tool, bisect_left(BUCKETS, seconds)] += 1

    def text(self, outbox: Iterable[tuple[str, int]] = ()) -> str:
        """`outbox`: how many sends are in each state that is not final."""
        lines = [*self._call_lines(), *self._duration_lines(), *self._busy_lines(), *_outbox_lines(outbox), ""]
        return "\n".join(lines)

    def _busy_lines(self) -> Iterator[str]:
        yield "# HELP postroom_requests_turned_away_total Requests answered with 503 because the server was busy."
        yield "# TYPE postroom_requests_turned_away_total counter"
        yield f"postroom_requests_turned_away_total {self.turned_away()}"

    def _call_lines(self) -> Iterator[str]:
        yield "# HELP postroom_tool_calls_total Tool calls by result; code is empty for calls that succeeded."
        yield "# TYPE postroom_tool_calls_total counter"
        for (tool, status, code), number in sorted(self._calls.items()):
            yield f'postroom_tool_calls_total{{tool="{tool}",status="{status}",code="{code}"}} {number}'

    def _duration_lines(self) -> Iterator[str]:
        yield "# HELP postroom_tool_call_seconds How long tool calls took."
        yield "# TYPE postroom_tool_call_seconds histogram"
        for tool in sorted(self._seconds):
            total = sum(number for (name, _, _), number in self._calls.items() if name == tool)
            for place, bucket in enumerate(BUCKETS):
                within = sum(self._slowest[tool, shorter] for shorter in range(place + 1))
                yield f'postroom_tool_call_seconds_bucket{{tool="{tool}",le="{bucket}"}} {within}'
            yield f'postroom_tool_call_seconds_bucket{{tool="{tool}",le="+Inf"}} {total}'
            yield f'postroom_tool_call_seconds_sum{{tool="{tool}"}} {self._seconds[tool]:.6f}'
            yield f'postroom_tool_call_seconds_count{{tool="{tool}"}} {total}'


def _outbox_lines(outbox: Iterable[tuple[str, int]]) -> Iterator[str]:
    yield "# HELP postroom_outbox Sends that are not finished, by state."
    yield "# TYPE postroom_outbox gauge"
    for state, number in sorted(outbox):
        yield f'postroom_outbox{{state="{state}"}} {number}'
