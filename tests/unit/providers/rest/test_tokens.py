"""Logging in, renewing, and what a person is told when neither works."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.peers.rest.service import PASSWORD
from tests.unit.providers.rest.conftest import ME

from postroom.model.errors import AuthRequired, ProviderUnavailable
from postroom.providers.credentials import stored
from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.layers.retry import Retry
from postroom.providers.rest.tokens import LoginTokens, RestTokens
from postroom.settings import RestAccount
from postroom.settings.secrets import resolve


async def no_wait(seconds: float) -> None:
    pass


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def at(api: Any, **keys: Any) -> RestAccount:
    return RestAccount(**{"name": "mine", "address": ME, "base_url": api.url, **keys})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def bare(api: Any) -> AsyncIterator[Api]:
    made = Api(api.url, new_client(), account="mine", retry=Retry(attempts=3, sleep=no_wait))
    yield made
    await made.close()


@pytest.fixture
def tokens(api: Any, bare: Api, clock: Clock) -> LoginTokens:
    return LoginTokens(at(api, password=PASSWORD), bare, clock=clock)


async def test_many_at_once_log_in_once(api: Any, tokens: LoginTokens) -> None:
    got: set[str] = set()

    async def ask() -> None:
        got.add(await tokens.token())

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
    assert got == api.users[ME].tokens
    assert api.count("auth.login") == 1


async def test_a_refused_token_is_renewed_once_with_the_refresh_token(api: Any, tokens: LoginTokens) -> None:
    old = await tokens.token()
    new = await tokens.refreshed(old)
    assert new != old
    assert await tokens.refreshed(old) == new
    assert (api.count("auth.login"), api.count("auth.refresh")) == (1, 1)
    assert await tokens.refreshed(new) != new
    assert (api.count("auth.login"), api.count("auth.refresh")) == (1, 2)


async def test_a_token_is_renewed_before_it_ends(api: Any, tokens: LoginTokens, clock: Clock) -> None:
    first = await tokens.token()
    clock.now += 3600 - 31
    assert await tokens.token() == first
    clock.now += 2
    assert await tokens.token() != first


async def test_where_the_refresh_token_is_refused_the_password_is_used(api: Any, tokens: LoginTokens) -> None:
    old = await tokens.token()
    api.users[ME].refresh_tokens.clear()
    assert await tokens.refreshed(old) != old
    assert (api.count("auth.refresh"), api.count("auth.login")) == (1, 2)


async def test_a_service_that_is_down_does_not_cost_the_refresh_token(api: Any, tokens: LoginTokens) -> None:
    old = await tokens.token()
    api.fail_next("POST", "auth.refresh", status=503, times=3)
    with pytest.raises(ProviderUnavailable):
        await tokens.refreshed(old)
    assert await tokens.refreshed(old) != old
    assert api.count("auth.login") == 1


async def test_a_wrong_password_says_what_to_run_and_shows_nothing(api: Any, bare: Api) -> None:
    with pytest.raises(AuthRequired, match="postroom accounts login mine") as refused:
        await LoginTokens(at(api, password="hunter2"), bare).token()
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize("body", ["{}", '{"token": 5}', '{"token": ""}'])
async def test_a_login_without_a_token_is_a_clear_error(api: Any, tokens: LoginTokens, body: str) -> None:
    api.answer_next("POST", "auth.login", body)
    with pytest.raises(AuthRequired, match="gave no token"):
        await tokens.token()


async def test_a_token_is_sent_as_it_is_and_never_logged_in_for(api: Any, bare: Api) -> None:
    assert await RestTokens(at(api, auth_token="t0ken"), bare).token() == "t0ken"
    assert api.requests == []


async def test_without_either_it_says_where_to_put_one(api: Any, bare: Api, monkeypatch: Any, tmp_path: Any) -> None:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))
    with pytest.raises(AuthRequired, match="postroom accounts login mine"):
        await RestTokens(at(api), bare).token()


@pytest.mark.parametrize(
    ("keys", "said"),
    [({"auth_token": "a", "password": "b"}, "auth_token and password are set; keep one"),
     ({"address": "", "password": "b"}, "password needs the address")],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(api: Any, keys: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        at(api, **keys)


@pytest.mark.parametrize("keys", [{"auth_token": "first"}, {"auth_token_env": "MAIL_API_TOKEN"}])
async def test_a_token_in_the_settings_or_a_variable_is_got_without_a_thread(
    api: Any, monkeypatch: pytest.MonkeyPatch, keys: dict[str, str]
) -> None:
    async def blocking(*args: Any) -> str:
        raise AssertionError("nothing blocks here")

    monkeypatch.setattr(stored, "in_own_thread", blocking)
    monkeypatch.setenv("MAIL_API_TOKEN", "first")
    assert await stored.StoredToken(at(api, **keys), "auth_token").token() == "first"


async def test_a_token_in_a_file_is_read_in_a_thread_each_time(
    api: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read_in = []

    def noted(*args: Any) -> str:
        read_in.append(threading.current_thread())
        return str(resolve(*args))

    monkeypatch.setattr(stored, "resolve", noted)
    (tmp_path / "token").touch(0o600)
    source = stored.StoredToken(at(api, auth_token_file=tmp_path / "token"), "auth_token")
    for token in ("first", "second"):
        (tmp_path / "token").write_text(token)
        assert await source.token() == token
    assert threading.main_thread() not in read_in
