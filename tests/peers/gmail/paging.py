"""Pages: a token stands for the place after the last item of a page, so that new mail does not shift what follows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tests.peers.gmail.errors import bad

MOST = 500
DEFAULT = 100

T = TypeVar("T")


class Pages:
    """Tokens are bound to the list they were given out for; any other is refused."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[Any, Any]] = {}

    def cut(
        self, items: Sequence[T], place: Callable[[T], Any], of: Any, token: str, size: int | None
    ) -> tuple[Sequence[T], str]:
        """One page of `items`, which stand in falling order of `place`, and the token of the next (or "")."""
        if token:
            after = self._place(token, of)
            items = [item for item in items if place(item) < after]
        count = min(size or DEFAULT, MOST)
        page = items[:count]
        if len(items) <= count:
            return page, ""
        new = str(secrets.randbelow(10**20)).zfill(20)
        self._places[new] = (of, place(page[-1]))
        return page, new

    def _place(self, token: str, of: Any) -> Any:
        given_for, after = self._places.get(token, (None, None))
        if given_for != of:
            raise bad("Invalid pageToken")
        return after


def estimate(page: Sequence[Any], token: str, next_token: str) -> int:
    """Gmail's guess: right for a list of one page, 201 where there are more."""
    return 201 if token or next_token else len(page)
