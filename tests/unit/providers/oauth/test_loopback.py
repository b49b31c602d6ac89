"""The listener on this machine: the right answer counts, everything else is refused and waited past."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from postroom.model.errors import AuthRequired
from postroom.providers.oauth.authorizing import Attempt, Client, begin
from postroom.providers.oauth.loopback import Listener, listening
from postroom.providers.oauth.services import Service


def attempt(listener: Listener) -> Attempt:
    service = Service("test", "https://idp.example/authorize", "https://idp.example/token")
    return begin(service, Client("id"), ["mail"], listener.redirect_uri("127.0.0.1"))


async def visit(listener: Listener, query: str) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as browser:
        return await browser.get(f"http://127.0.0.1:{listener.port}{query}")


async def test_the_code_of_this_attempt_is_taken_and_the_person_may_go() -> None:
    async with listening() as listener:
        begun = attempt(listener)
        waiting = asyncio.create_task(listener.code(begun))
        await asyncio.sleep(0)
        page = await visit(listener, f"/?code=c1&state={begun.state}")
        assert await waiting == "c1"
    assert page.status_code == 200
    assert "You can close this window" in page.text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("/?code=evil&state=wrong", 400),
        ("/?code=evil", 400),
        ("/?error=access_denied&state=wrong", 400),
        ("/", 404),
        ("/favicon.ico", 404),
        ("/other?code=evil&state={state}", 404),
        ("/?state={state}", 400),
        ("/?code=<script>alert(1)</script>&state=wrong", 400),
    ],
)
async def test_whatever_else_comes_is_refused_and_the_right_one_still_waited_for(query: str, status: int) -> None:
    async with listening() as listener:
        begun = attempt(listener)
        waiting = asyncio.create_task(listener.code(begun))
        await asyncio.sleep(0)
        page = await visit(listener, query.format(state=begun.state))
        assert page.status_code == status
        assert "script" not in page.text
        assert not waiting.done()
        await visit(listener, f"/?code=right&state={begun.state}")
        assert await waiting == "right"


@pytest.mark.parametrize("junk", [b"\x16\x03\x01 no http\r\n\r\n", b"GET //[ HTTP/1.1\r\n\r\n", b"x" * 100_000, b""])
async def test_junk_neither_ends_nor_answers_it(junk: bytes) -> None:
    async with listening() as listener:
        begun = attempt(listener)
        waiting = asyncio.create_task(listener.code(begun))
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(junk)
        writer.close()
        await visit(listener, f"/?code=right&state={begun.state}")
        assert await waiting == "right"


async def test_a_denied_login_ends_it_with_that_word() -> None:
    async with listening() as listener:
        begun = attempt(listener)
        waiting = asyncio.create_task(listener.code(begun))
        await asyncio.sleep(0)
        page = await visit(listener, f"/?error=access_denied&state={begun.state}")
        with pytest.raises(AuthRequired, match="Access was denied"):
            await waiting
    assert "close this window" in page.text


async def test_nobody_is_waited_for_for_ever() -> None:
    async with listening() as listener:
        with pytest.raises(AuthRequired, match="Nobody logged in"):
            await listener.code(attempt(listener), patience=0.01)


async def test_nobody_else_can_reach_it_and_its_port_is_another_each_time() -> None:
    async with listening() as one, listening() as other:
        assert one.port != other.port
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.2", one.port)
