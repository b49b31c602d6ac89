"""How long watching rests after a failure: whatever was, the next try comes, but never in a hurry."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from postroom.model.errors import AuthRequired, PostroomError, ProviderError
from postroom.service.accounts import watching


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []

    async def noted(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(watching, "sleep", noted)
    return pauses


async def heard(monkeypatch: pytest.MonkeyPatch, failure: PostroomError, times: int) -> None:
    """From a provider that begins to listen and then fails, each time."""

    async def briefly(*_arguments: object) -> AsyncGenerator[str, None]:
        yield "INBOX"
        raise failure

    monkeypatch.setattr(watching, "_changes", briefly)
    gateway: Any = None
    async with aclosing(watching.changes(gateway, "mine")) as news:
        for _ in range(times):
            await anext(news)


async def test_one_that_begins_well_and_fails_each_time_is_asked_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    await heard(monkeypatch, ProviderError("no"), 5)
    assert pauses == [2, 4, 8, 16]


async def test_a_refused_login_is_not_tried_again_for_minutes(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    await heard(monkeypatch, AuthRequired("no"), 3)
    assert pauses == [300, 300]


async def test_what_held_for_long_is_forgiven(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    monkeypatch.setattr(watching, "_HELD", 0)
    await heard(monkeypatch, ProviderError("no"), 4)
    assert pauses == [2, 2, 2]
