"""The token that goes with a request, and what happens when it is refused."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from postroom.model.errors import AuthRequired, ProviderError
from postroom.providers.http.api import Api

from .scripted_http import Asked, Reply, Server

Make = Callable[..., Api]


class Renewing:
    """Single flight as the contract of TokenSource has it."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.renewals = 0
        self.lock = anyio.Lock()

    async def token(self) -> str:
        return self.tokens[0]

    async def refreshed(self, old: str) -> str:
        async with self.lock:
            if self.tokens[0] == old and len(self.tokens) > 1:
                await anyio.lowlevel.checkpoint()
                self.renewals += 1
                self.tokens.pop(0)
            return self.tokens[0]


def only(good: str) -> Callable[[Asked], Reply]:
    return lambda asked: Reply(body={}) if asked.headers["authorization"] == f"Bearer {good}" else Reply(401)


@pytest.mark.parametrize("verb", ["read", "write"])
async def test_a_refused_token_is_renewed_once_and_the_request_repeated(
    server: Server, make_api: Make, verb: str
) -> None:
    server.by = only("new")
    tokens = Renewing("old", "new")
    api = make_api(tokens=tokens)
    await (api.read("/x") if verb == "read" else api.write("POST", "/x", content={}))
    assert (tokens.renewals, len(server.asked)) == (1, 2)


async def test_a_new_token_that_is_refused_too_is_the_end(server: Server, make_api: Make) -> None:
    server.by = only("never")
    tokens = Renewing("old", "new", "newer")
    with pytest.raises(AuthRequired, match="postroom accounts login work"):
        await make_api(tokens=tokens).read("/x")
    assert (tokens.renewals, len(server.asked)) == (1, 2)


async def test_a_token_that_cannot_be_renewed_is_not_sent_again(server: Server, make_api: Make) -> None:
    server.by = only("never")
    with pytest.raises(AuthRequired):
        await make_api(tokens=Renewing("old")).read("/x")
    assert len(server.asked) == 1


async def test_twenty_parallel_calls_renew_once(server: Server, make_api: Make) -> None:
    server.by = only("new")
    tokens = Renewing("old", "new")
    api = make_api(tokens=tokens)
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(api.read, f"/{number}")
    assert tokens.renewals == 1


async def test_a_token_that_cannot_stand_in_a_header_is_an_error_without_the_token(
    server: Server, make_api: Make
) -> None:
    with pytest.raises(ProviderError) as caught:
        await make_api(tokens=Renewing("se\ncret")).read("/x")
    assert "cret" not in caught.value.message
    assert server.asked == []
