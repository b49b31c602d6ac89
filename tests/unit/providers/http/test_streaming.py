"""Responses without an end: lines as they come, and a clear end when they stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroom.model.errors import AuthRequired, PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.http.api import Api
from postroom.providers.http.exchange import LONGEST_LINE

from .scripted_http import Reply, Server

EVENTS = {"content-type": "text/event-stream"}


async def lines_of(api: Api, url: str) -> list[str]:
    async with api.stream(url, silence=5) as lines:
        return [line async for line in lines]


async def test_lines_come_one_by_one_whatever_ends_them(server: Server, api: Api) -> None:
    server.replies = [Reply(body="event: state\r\ndata: {}\n\ndata: ü\n", headers=EVENTS)]
    assert await lines_of(api, f"{server.url}/events") == ["event: state", "data: {}", "", "data: ü"]
    assert server.asked[0].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(204), ProviderError),
        (Reply(401), AuthRequired),
        (Reply(503), ProviderUnavailable),
        (Reply(body="data: one\n" * 9, headers=EVENTS, cut=100), ProviderUnavailable),
        (Reply(cut=0), ProviderUnavailable),
        (Reply(body="x" * (LONGEST_LINE + 9), headers=EVENTS), ProviderUnavailable),
        (Reply(400, body="x" * (10 * LONGEST_LINE)), ProviderError),
    ],
    ids=["nothing", "login", "unavailable", "cut", "gone", "endless line", "long error"],
)
async def test_what_is_no_stream_is_an_error(server: Server, api: Api, reply: Reply, kind: type[PostroomError]) -> None:
    server.replies = [reply]
    with pytest.raises(kind):
        await lines_of(api, f"{server.url}/events")
    assert len(server.asked) == 1


async def test_a_stream_on_another_host_is_not_opened(server: Server, make_api: Callable[..., Api]) -> None:
    api = make_api("https://mail.example.com")
    with pytest.raises(ProviderError, match="another host"):
        await lines_of(api, f"{server.url}/events")
    assert server.asked == []
