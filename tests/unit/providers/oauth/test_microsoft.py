"""Logging in at Microsoft, on another device and in a browser, to a token that Graph accepts; and its refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from tests.peers.graph import FakeGraph
from tests.peers.oauth.flavours import MICROSOFT
from tests.peers.oauth.server import FakeAuthorizationServer

from postroom.model.errors import AuthRequired, ProviderUnavailable
from postroom.providers.context import ProviderContext
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.http.client import new_client
from postroom.providers.oauth.authorizing import Client, begin, code_in, finish
from postroom.providers.oauth.device import begin_on_device, finish_on_device
from postroom.providers.oauth.grants import Granted
from postroom.providers.oauth.scopes import scopes_for
from postroom.providers.oauth.services import Service, service_of
from postroom.settings import GraphAccount
from postroom.settings.oauth import OAuthSettings

ALICE = "alice@contoso.example"
SCOPES = scopes_for("microsoft", "graph", ("read", "send"))
BACK = "http://localhost:50123/"


@dataclass
class Entra:
    """`while_waiting` is called between two questions, with how often that was."""

    server: FakeAuthorizationServer
    graph: FakeGraph
    now: float = 1_800_000_000.0
    slept: list[float] = field(default_factory=list)
    while_waiting: Callable[[int], None] = lambda times: None

    @property
    def service(self) -> Service:
        names = {"authorize_url": "authorize", "token_url": "token", "device_url": "device"}
        places = {key: self.server.address(name) for key, name in names.items()}
        return service_of(OAuthSettings.model_validate({"service": "microsoft", "client_id": "postroom", **places}))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        self.while_waiting(len(self.slept))

    def decide(self, *, approve: bool) -> None:
        (asked,) = self.server.device_codes.values()
        self.server.enter_device_code(asked.user_code, approve=approve)

    async def log_in_on_device(self) -> Granted:
        async with new_client(proxies=False) as http:
            device = await begin_on_device(http, self.service, Client("postroom"), SCOPES)
            return await finish_on_device(http, self.service, Client("postroom"), device, sleep=self.sleep)

    async def opens(self, granted: Granted) -> bool:
        account = GraphAccount.model_validate(
            {"name": "work", "address": ALICE, "base_url": self.graph.base_url, "token": granted.access_token}
        )
        mailbox = GraphMailbox(account, ProviderContext(Path("unused")))
        await mailbox.connect()
        await mailbox.close()
        return True


@pytest.fixture
def entra() -> Iterator[Entra]:
    server = FakeAuthorizationServer(flavour=MICROSOFT, clock=lambda: told.now)
    graph = FakeGraph(clock=lambda: told.now, tokens=server.tokens)
    told = Entra(server, graph)
    with server.run(), graph.run():
        server.user(ALICE)
        graph.user(ALICE)
        server.register("postroom", redirect_uris=["http://localhost/"])
        yield told


async def test_a_code_that_is_entered_after_a_while_opens_the_mailbox(entra: Entra) -> None:
    entra.while_waiting = lambda times: entra.decide(approve=True) if times == 3 else None
    granted = await entra.log_in_on_device()
    assert entra.slept == [5, 5, 5]
    assert granted.refresh_token
    assert await entra.opens(granted)


async def test_whoever_is_told_to_slow_down_does(entra: Entra) -> None:
    def hurry(times: int) -> None:
        if times == 2:  # by the service's clock this comes too soon
            (asked,) = entra.server.device_codes.values()
            asked.polled_at = entra.now - 4
        if times == 4:
            entra.decide(approve=True)

    entra.while_waiting = hurry
    await entra.log_in_on_device()
    assert entra.slept == [5, 5, 10, 10]


async def test_somebody_who_declines_is_understood(entra: Entra) -> None:
    """Microsoft's own word for it is authorization_declined."""
    entra.while_waiting = lambda times: entra.decide(approve=False)
    with pytest.raises(AuthRequired, match="Access was denied"):
        await entra.log_in_on_device()


async def test_a_code_that_nobody_enters_expires(entra: Entra) -> None:
    entra.server.device_lifetime = 30.0
    with pytest.raises(AuthRequired, match="in time"):
        await entra.log_in_on_device()
    assert sum(entra.slept) <= 30


async def test_a_browser_brings_back_a_code_whose_token_opens_the_mailbox(entra: Entra) -> None:
    async with new_client(proxies=False) as http:
        attempt = begin(entra.service, Client("postroom"), SCOPES, BACK, address=ALICE)
        asked = dict(parse_qsl(urlsplit(attempt.url).query))
        assert (asked["prompt"], asked["login_hint"], asked["scope"]) == ("select_account", ALICE, " ".join(SCOPES))
        answer = httpx2.get(attempt.url, follow_redirects=False)
        code = code_in(attempt, dict(parse_qsl(urlsplit(answer.headers["location"]).query)))
        assert await entra.opens(await finish(http, attempt, code))


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (50194, "invalid_request", "tenant"),
        (90002, "invalid_request", "no such tenant"),
        (700016, "unauthorized_client", "client id"),
        (7000218, "invalid_client", "public client flows"),
        (50020, "invalid_grant", "another organisation"),
        (65001, "invalid_grant", "administrator"),
        (53003, "access_denied", "Conditional Access"),
        (99999, "invalid_request", r"invalid_request, AADSTS99999"),
    ],
)
async def test_what_microsoft_refuses_is_said_with_what_to_do(
    entra: Entra, number: int, error: str, words: str
) -> None:
    said = {"error": error, "error_codes": [number], "error_description": f"AADSTS{number}: CANARY {ALICE} Trace ID"}
    for place in ("device", "token"):
        entra.server.answer_next("POST", place, json.dumps(said), status=400)
        with pytest.raises(AuthRequired, match=words) as caught:
            await entra.log_in_on_device()
        assert "CANARY" not in str(caught.value)
        assert ALICE not in str(caught.value)


@pytest.mark.parametrize("codes", [None, [], ["x"], [-1], {"a": 1}, [10**12], [True]])
async def test_numbers_that_are_none_are_left_out(entra: Entra, codes: object) -> None:
    said = {"error": "invalid_request", "error_codes": codes}
    entra.server.answer_next("POST", "device", json.dumps(said), status=400)
    with pytest.raises(AuthRequired, match=r"\(invalid_request\)"):
        await entra.log_in_on_device()


async def test_a_login_page_out_of_order_is_no_refusal(entra: Entra) -> None:
    entra.server.fail_next("POST", "device", status=503)
    with pytest.raises(ProviderUnavailable):
        await entra.log_in_on_device()
