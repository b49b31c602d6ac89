"""Reading over HTTP: retried, bounded, kept within the service."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable

import pytest

from postroom.model.errors import NoAnswer, PostroomError, ProviderError, ProviderUnavailable, RateLimited
from postroom.providers.http.api import Api
from postroom.providers.layers.retry import Retry

from .conftest import Waits
from .scripted_http import GONE, Reply, Server, serving

Make = Callable[..., Api]


async def test_an_object_is_read_with_its_parameters(server: Server, api: Api) -> None:
    server.replies = [Reply(body={"a": "ä"})]
    answer = await api.read("/mails", params={"q": "a b&c", "n": 3})
    assert answer.object() == {"a": "ä"}
    assert server.asked[0].path == "/mails?q=a+b%26c&n=3"
    assert answer.object() is answer.parsed()  # read from its bytes once


async def test_what_is_asked_by_post_is_sent_as_json_and_retried_all_the_same(server: Server, api: Api) -> None:
    server.replies = [Reply(503), Reply(body={})]
    await api.read("/jmap", method="POST", content={"using": []})
    assert [asked.body for asked in server.asked] == [b'{"using": []}'] * 2
    assert server.asked[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("failure", [Reply(500), Reply(502), Reply(503), Reply(504), Reply(429), GONE, Reply(408)])
async def test_a_passing_failure_is_asked_again_with_growing_pauses(
    server: Server, api: Api, waits: Waits, failure: Reply
) -> None:
    server.replies = [failure, failure, Reply(body={"ok": 1})]
    assert (await api.read("/x")).object() == {"ok": 1}
    assert waits.slept == [0.25, 0.5]


@pytest.mark.parametrize(
    ("written", "pause"),
    [("3", 3), ("Fri, 15 Jan 2027 08:00:07 GMT", 7), ("Fri, 15 Jan 2027 07:00:00 GMT", 0.25), ("soon", 0.25)],
)
async def test_retry_after_is_kept_to_in_seconds_and_as_a_date(
    server: Server, api: Api, waits: Waits, written: str, pause: float
) -> None:
    server.replies = [Reply(429, headers={"Retry-After": written}), Reply(body={})]
    await api.read("/x")
    assert waits.slept == [pause]


async def test_after_three_tries_the_last_error_goes_up_and_no_layer_above_tries_again(
    server: Server, api: Api, waits: Waits
) -> None:
    server.replies = [Reply(503)]
    outer = Retry(sleep=waits.sleep, clock=waits.clock)("fetch", api.read)
    with pytest.raises(ProviderUnavailable) as caught:
        await outer("/x")
    assert len(server.asked) == 3
    assert caught.value.details == {"status": 503}


async def test_a_pause_beyond_patience_is_told_and_not_waited_for(server: Server, api: Api, waits: Waits) -> None:
    server.replies = [Reply(429, headers={"Retry-After": "3600"})]
    with pytest.raises(RateLimited, match="3600 seconds") as caught:
        await api.read("/x")
    assert caught.value.retry_after == 3600
    assert (len(server.asked), waits.slept) == (1, [])


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413])
async def test_what_is_refused_for_good_is_not_asked_again(server: Server, api: Api, status: int) -> None:
    server.replies = [Reply(status)]
    with pytest.raises(PostroomError):
        await api.read("/x")
    assert len(server.asked) == 1


async def test_an_answer_cut_in_the_middle_is_asked_for_again(server: Server, api: Api) -> None:
    whole = Reply(body={"list": list(range(100))})
    server.replies = [Reply(body=whole.body, cut=len(whole.wire()) - 10), whole]
    assert (await api.read("/x")).object() == whole.body
    assert len(server.asked) == 2


async def test_an_answer_that_is_always_cut_is_an_error_and_never_half_an_answer(server: Server, api: Api) -> None:
    server.replies = [Reply(body={"a": 1}, headers={"content-length": "4000"}, cut=200)]
    with pytest.raises(ProviderUnavailable, match="closed the connection"):
        await api.read("/x")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(body=b'{"a": ', headers={"content-type": "application/json"}), "no valid JSON object"),
        (Reply(body=b"[1]", headers={"content-type": "application/json"}), "no valid JSON object"),
        (Reply(body=b"[" * 200_000, headers={"content-type": "application/json"}), "no valid JSON object"),
        (Reply(body=b"\xff\xfe", headers={"content-type": "application/json"}), "no valid JSON object"),
        (Reply(body="<!DOCTYPE html><p>Log in", headers={"content-type": "text/html"}), "web page"),
        (Reply(204), "no valid JSON object"),
    ],
)
async def test_a_success_that_holds_no_object_is_named_as_such(
    server: Server, api: Api, reply: Reply, words: str
) -> None:
    server.replies = [reply]
    answer = await api.read("/x")
    with pytest.raises(ProviderError, match=words):
        answer.object()


async def test_an_answer_beyond_its_bound_is_not_taken_also_when_compressed(server: Server, api: Api) -> None:
    bomb = gzip.compress(b"0" * 5_000_000)
    server.replies = [Reply(body=bomb, headers={"content-encoding": "gzip"})]
    with pytest.raises(ProviderError, match="more than 1000 KB"):
        await api.read("/x", largest=1000 * 1024)
    assert len((await api.read("/x", largest=5_000_000)).body) == 5_000_000


@pytest.mark.parametrize(
    "spoil", [lambda packed: packed[:-1], lambda packed: packed[: len(packed) // 2], bytes.swapcase]
)
async def test_a_compressed_body_without_its_end_is_not_taken_for_the_whole(
    server: Server, api: Api, spoil: Callable[[bytes], bytes]
) -> None:
    packed = gzip.compress(b"Subject: Plan\r\n\r\nThe first half. The second half.")
    headers = {"content-encoding": "gzip"}
    server.replies = [Reply(body=spoil(packed), headers=headers)]
    with pytest.raises(ProviderUnavailable, match="in the middle"):
        await api.read("/x")
    server.replies = [Reply(body=spoil(packed), headers=headers), Reply(body=packed, headers=headers)]
    assert (await api.read("/x")).body.endswith(b"The second half.")
    assert {asked.headers["accept-encoding"] for asked in server.asked} == {"gzip"}


async def test_a_body_with_nothing_in_it_needs_no_end(server: Server, api: Api) -> None:
    server.replies = [Reply(204, headers={"content-encoding": "gzip"})]
    assert (await api.read("/x")).body == b""


async def test_a_redirect_within_the_service_is_followed_with_the_token(server: Server, make_api: Make) -> None:
    server.by = lambda asked: Reply(302, headers={"Location": "/b"}) if asked.path == "/a" else Reply(body={})
    await make_api(tokens=Fixed()).read("/a")
    assert [(asked.path, asked.headers["authorization"]) for asked in server.asked] == [
        ("/a", "Bearer secret"),
        ("/b", "Bearer secret"),
    ]


async def test_a_redirect_to_another_host_is_refused_and_the_host_hears_nothing(server: Server, make_api: Make) -> None:
    async with serving() as other:
        server.replies = [Reply(307, headers={"Location": f"{other.url}/take"})]
        with pytest.raises(ProviderError, match="another host"):
            await make_api(tokens=Fixed()).read("/a")
        assert other.asked == []


async def test_redirects_in_a_loop_end(server: Server, api: Api) -> None:
    server.replies = [Reply(302, headers={"Location": "/a"})]
    with pytest.raises(ProviderError, match="loop"):
        await api.read("/a")


async def test_a_next_page_on_another_host_is_refused_before_anything_is_sent(make_api: Make) -> None:
    async with serving() as other:
        with pytest.raises(ProviderError, match="another host"):
            await make_api(tokens=Fixed()).read(f"{other.url}/next")
        assert other.asked == []


@pytest.mark.parametrize("params", [None, {}, {"limit": 5}])
async def test_a_next_page_keeps_its_own_query(server: Server, api: Api, params: dict[str, int] | None) -> None:
    await api.read(f"{server.url}/mails?token=a%2Bb", params=params)
    assert server.asked[0].path.startswith("/mails?token=a%2Bb")
    assert ("limit=5" in server.asked[0].path) == bool(params)


async def test_a_further_origin_counts_only_after_it_was_allowed(make_api: Make) -> None:
    async with serving() as other:
        api = make_api(tokens=Fixed())
        api.allow(f"{other.url}/download/{{id}}")
        await api.read(f"{other.url}/download/1")
        assert other.asked[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("url", ["http://mail.example/x", "ftp://mail.example/x", "mail.example"])
async def test_a_further_origin_must_be_encrypted(make_api: Make, url: str) -> None:
    with pytest.raises(ProviderError, match="unencrypted"):
        make_api("https://api.example").allow(url)


async def test_cookies_are_neither_kept_nor_sent(server: Server, api: Api) -> None:
    server.replies = [Reply(headers={"Set-Cookie": "session=1; Path=/"})]
    await api.read("/a")
    await api.read("/b")
    assert "cookie" not in server.asked[1].headers


async def test_nobody_at_home_is_unavailable_with_the_host_named(make_api: Make) -> None:
    with pytest.raises(ProviderUnavailable, match=r"127\.0\.0\.1 cannot be reached"):
        await make_api("http://127.0.0.1:1").read("/x")


async def test_a_service_that_keeps_silent_is_given_up_at_the_deadline(server: Server, make_api: Make) -> None:
    server.gate = asyncio.Event()
    with pytest.raises(NoAnswer, match="in time"):
        await make_api(deadline=0.01).read("/x")
    server.gate.set()


async def test_the_path_of_the_base_is_kept(server: Server, make_api: Make) -> None:
    await make_api(f"{server.url}/v1.0/").read("/me")
    assert server.asked[0].path == "/v1.0/me"


class Fixed:
    async def token(self) -> str:
        return "secret"

    async def refreshed(self, old: str) -> str:
        return old
