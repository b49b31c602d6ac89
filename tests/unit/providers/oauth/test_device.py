"""Logging in on another device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.model.errors import AuthRequired, InvalidRequest, PostroomError, ProviderError
from postroom.providers.http.client import new_client
from postroom.providers.oauth.authorizing import Client
from postroom.providers.oauth.device import begin_on_device, finish_on_device
from postroom.providers.oauth.grants import Granted
from postroom.providers.oauth.services import SERVICES, service_of
from postroom.settings.oauth import OAuthSettings

from .authorisation import Authorisation


class Pauses:
    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


async def log_in(idp: Authorisation, pauses: Pauses) -> Granted:
    service, client = service_of(OAuthSettings.model_validate(idp.settings())), Client("client-1")
    async with new_client(proxies=False) as http:
        device = await begin_on_device(http, service, client, ["mail"])
        assert (device.page, device.code) == (f"{idp.url}/activate", "ABCD-EFGH")
        return await finish_on_device(http, service, client, device, sleep=pauses)


async def test_the_code_is_asked_for_until_it_was_typed_in(idp: Authorisation) -> None:
    idp.device_pending = ["authorization_pending", "slow_down", "authorization_pending"]
    pauses = Pauses()
    granted = await log_in(idp, pauses)
    assert granted.refresh_token in idp.refresh_tokens
    assert pauses.slept == [5, 5, 10, 10]


async def test_a_service_out_of_order_meanwhile_is_asked_again_more_slowly(idp: Authorisation) -> None:
    idp.answers = [(503, {})]
    pauses = Pauses()
    await log_in(idp, pauses)
    assert pauses.slept == [5, 10]


@pytest.mark.parametrize(
    ("pending", "words"),
    [
        (["access_denied"], "Access was denied"),
        (["expired_token"], "in time"),
        (["authorization_pending"] * 50, "in time"),
        (["invalid_client"], "client id"),
    ],
)
async def test_a_login_that_does_not_come_ends(idp: Authorisation, pending: list[str], words: str) -> None:
    idp.device_pending = pending
    pauses = Pauses()
    with pytest.raises(AuthRequired, match=words):
        await log_in(idp, pauses)
    assert sum(pauses.slept) <= 60


@pytest.mark.parametrize(
    ("answer", "kind"),
    [({}, ProviderError), ({"verification_uri": "javascript:x", "user_code": "A", "device_code": "B"}, ProviderError)],
)
async def test_an_answer_that_cannot_be_shown_is_refused(
    idp: Authorisation, monkeypatch: pytest.MonkeyPatch, answer: dict[str, str], kind: type[PostroomError]
) -> None:
    monkeypatch.setattr(idp, "device", lambda form: (200, answer))
    with pytest.raises(kind):
        await log_in(idp, Pauses())


async def test_a_service_without_that_way_says_which_others_there_are() -> None:
    async with new_client(proxies=False) as http:
        with pytest.raises(InvalidRequest, match="--paste"):
            await begin_on_device(http, replace(SERVICES["google"]), Client("id"), [])
