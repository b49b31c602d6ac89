"""Quota units: what each user has spent within the last minute and day, and what is refused beyond."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.peers.gmail.errors import Refused
from tests.peers.gmail.methods import METHODS, Method

_METRIC = (
    "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute{}' of service 'gmail.googleapis.com' "
    "for consumer 'project_number:1'."
)


@dataclass
class Quota:
    """Limits may be set at any time; None is no limit. Google's own numbers are the defaults.

    `user_refusal` is how the limit of a user is told: the API was seen to say 403 rateLimitExceeded, its documentation
    says userRateLimitExceeded, and 429 exists, too.
    """

    clock: Callable[[], float]
    per_user_per_minute: int | None = 15_000
    per_project_per_minute: int | None = 1_200_000
    per_user_per_day: int | None = None
    at_once: int | None = None  # requests of one user under way
    user_refusal: tuple[int, str] = (403, "rateLimitExceeded")
    costs: dict[str, int] = field(default_factory=lambda: {name: method.units for name, method in METHODS.items()})
    _spent: dict[str, deque[tuple[float, int]]] = field(default_factory=lambda: defaultdict(deque))

    def take(self, user: str, method: Method, under_way: int) -> int:
        """The price, once it is paid. A request that is refused costs nothing."""
        price, now = self.costs[method.name], self.clock()
        if self.at_once is not None and under_way > self.at_once:
            raise Refused(429, "Too many concurrent requests for user")
        if _beyond(self.per_user_per_day, self._sum(user, now, 86_400) + price):
            raise Refused(403, "Daily Limit Exceeded", "dailyLimitExceeded")
        if _beyond(self.per_user_per_minute, self._sum(user, now, 60) + price):
            status, reason = self.user_refusal
            raise Refused(status, _METRIC.format(" per user"), reason)
        everybody = sum(self._sum(each, now, 60) for each in list(self._spent))
        if _beyond(self.per_project_per_minute, everybody + price):
            raise Refused(429, _METRIC.format(""), "rateLimitExceeded")
        self._spent[user].append((now, price))
        return price

    def spent(self, user: str) -> int:
        """Units within the last minute."""
        return self._sum(user, self.clock(), 60)

    def _sum(self, user: str, now: float, seconds: float) -> int:
        spent = self._spent[user]
        while spent and spent[0][0] <= now - 86_400:
            spent.popleft()
        return sum(units for moment, units in spent if moment > now - seconds)


def _beyond(limit: int | None, units: int) -> bool:
    return limit is not None and units > limit
