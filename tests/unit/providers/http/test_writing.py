"""Writing over HTTP: once, and honest about what may have happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from postroom.model.errors import Conflict, PostroomError, ProviderError, ProviderUnavailable, RateLimited
from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.http.unclear import UnclearWrite, submit_outcome

from .scripted_http import GONE, Reply, Server

Make = Callable[..., Api]


@pytest.mark.parametrize(
    "reply",
    [Reply(500), Reply(502), Reply(503, headers={"Retry-After": "1"}), Reply(504), Reply(303), GONE, Reply(cut=20)],
)
async def test_a_write_without_a_settling_answer_is_unclear_and_sent_once(
    server: Server, api: Api, reply: Reply
) -> None:
    server.replies = [reply]
    with pytest.raises(UnclearWrite, match="may or may not have happened") as caught:
        await api.write("POST", "/send", content={"a": 1})
    assert len(server.asked) == 1
    assert submit_outcome(caught.value).state == "unknown"


async def test_a_web_page_is_no_success_whether_or_not_the_response_is_looked_at(server: Server, api: Api) -> None:
    server.replies = [Reply(200, body="<html>Welcome to the hotel")]
    with pytest.raises(UnclearWrite, match="web page"):
        await api.write("POST", "/send", content={})


async def test_a_success_that_cannot_be_read_is_unclear(server: Server, api: Api) -> None:
    server.replies = [Reply(200, body='{"half":')]
    answer = await api.write("POST", "/send", content={})
    with pytest.raises(UnclearWrite, match="no valid JSON"):
        answer.object()


async def test_a_success_that_is_too_large_is_unclear(server: Server, api: Api) -> None:
    server.replies = [Reply(body=b"x" * 2000)]
    with pytest.raises(UnclearWrite):
        await api.write("POST", "/send", content={}, largest=1024)


async def test_silence_after_the_request_left_is_unclear(server: Server) -> None:
    server.gate = asyncio.Event()
    patient_until_sent: Any = httpx2.Timeout(30, read=0.01)
    async with new_client(timeout=patient_until_sent, proxies=False) as client:
        with pytest.raises(UnclearWrite):
            await Api(server.url, client, account="work").write("POST", "/send", content={})
    server.gate.set()


@pytest.mark.parametrize(
    ("reply", "state", "kind"),
    [
        (Reply(400), "rejected", PostroomError),
        (Reply(403), "rejected", PostroomError),
        (Reply(409), "rejected", Conflict),
        (Reply(413), "rejected", PostroomError),
        (Reply(429, headers={"Retry-After": "20"}), "retryable", RateLimited),
        (Reply(501), "rejected", PostroomError),
    ],
)
async def test_a_refused_write_is_certainly_not_done(
    server: Server, api: Api, reply: Reply, state: str, kind: type[PostroomError]
) -> None:
    server.replies = [reply]
    with pytest.raises(kind) as caught:
        await api.write("POST", "/send", content={})
    outcome = submit_outcome(caught.value)
    assert outcome.state == state
    assert outcome.retry_after == caught.value.retry_after
    assert len(server.asked) == 1


async def test_a_refused_connection_is_certainly_not_done(make_api: Make) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        await make_api("http://127.0.0.1:1").write("POST", "/send", content={})
    assert submit_outcome(caught.value).state == "retryable"


async def test_a_refused_login_pauses_the_account(server: Server, api: Api) -> None:
    server.replies = [Reply(401)]
    with pytest.raises(PostroomError, match="postroom accounts login work") as caught:
        await api.write("POST", "/send", content={})
    outcome = submit_outcome(caught.value)
    assert (outcome.state, outcome.login_refused) == ("retryable", True)


async def test_an_upload_never_goes_unencrypted_where_the_service_itself_does_not(
    server: Server, make_api: Make
) -> None:
    with pytest.raises(ProviderError, match="unencrypted"):
        await make_api("https://api.example").upload(f"{server.url}/session", b"bytes", headers={})
    assert server.asked == []


async def test_an_upload_goes_to_another_host_without_the_token(server: Server, make_api: Make) -> None:
    class Fixed:
        async def token(self) -> str:
            return "secret"

        async def refreshed(self, old: str) -> str:
            return old

    api = make_api("http://127.0.0.1:1", tokens=Fixed())
    await api.upload(f"{server.url}/session?sig=1", b"bytes", headers={"Content-Range": "bytes 0-4/5"})
    assert server.asked[0].body == b"bytes"
    assert "authorization" not in server.asked[0].headers
