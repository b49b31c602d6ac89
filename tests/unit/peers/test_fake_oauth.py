"""The fake authorisation server: what it grants, and each way in which it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import jwt
import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller, refusal
from tests.peers.gmail.methods import FULL, READONLY, SEND
from tests.peers.oauth.clients import Client
from tests.peers.oauth.flavours import GOOGLE, MICROSOFT, Flavour
from tests.peers.oauth.grants import challenge_of
from tests.peers.oauth.server import FakeAuthorizationServer

ALICE = "alice@gmail.example"
BACK = "http://127.0.0.1:50123/back"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0123"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class Time:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Login:
    """A client as a test needs it: each step by itself, each field to be changed."""

    def __init__(self, flavour: Flavour = GOOGLE, **client: Any) -> None:
        self.time = Time()
        self.server = FakeAuthorizationServer(flavour=flavour, clock=self.time)
        self.client: Client = self.server.register("postroom", **{"secret": "s3cret", **client})
        self.server.user(ALICE)
        self.http = httpx2.Client(timeout=20, verify=False)

    def authorize(self, **changes: str) -> httpx2.Response:
        given = {
            "client_id": self.client.id,
            "redirect_uri": BACK,
            "response_type": "code",
            "scope": FULL,
            "state": "a state & more",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "access_type": "offline",
        }
        query = urlencode({name: value for name, value in {**given, **changes}.items() if value})
        return self.http.get(f"{self.server.address('authorize')}?{query}")

    def returned(self, **changes: str) -> dict[str, str]:
        """What the browser brings back to the client."""
        answer = self.authorize(**changes)
        assert answer.status_code == 302
        return dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    def ask(self, **given: str) -> httpx2.Response:
        own = {"client_id": self.client.id, "client_secret": self.client.secret or ""}
        form = {name: value for name, value in {**own, **given}.items() if value}
        return self.http.post(self.server.address("token"), data=form)

    def redeem(self, code: str, /, **changes: str) -> httpx2.Response:
        given = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
        return self.ask(**{**given, **changes})

    def refresh(self, token: str, **changes: str) -> httpx2.Response:
        return self.ask(grant_type="refresh_token", refresh_token=token, **changes)

    def tokens(self, **changes: str) -> dict[str, Any]:
        answer = self.redeem(self.returned(**changes)["code"])
        assert answer.status_code == 200, answer.text
        value: dict[str, Any] = answer.json()
        return value


def running(flavour: Flavour = GOOGLE, **client: Any) -> Iterator[Login]:
    login = Login(flavour, **client)
    with login.server.run(), login.http:
        yield login


@pytest.fixture
def login() -> Iterator[Login]:
    yield from running()


@pytest.fixture
def microsoft() -> Iterator[Login]:
    yield from running(MICROSOFT, secret=None, redirect_uris=["http://127.0.0.1/back"])


def error(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def test_a_code_is_exchanged_for_tokens_that_the_fake_gmail_accepts(login: Login) -> None:
    back = login.returned()
    assert back["state"] == "a state & more"
    assert back["iss"] == login.server.issuer
    tokens = login.redeem(back["code"]).json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, FULL)
    with FakeGmail.started(tokens=login.server.tokens) as gmail:
        alice = gmail.user(ALICE)
        with Caller(gmail, alice, tokens["access_token"]) as caller:
            assert caller.get("profile")["emailAddress"] == ALICE
            login.time.now += 3600
            assert refusal(caller.ask("GET", "profile"))[:2] == (401, "authError")
        with Caller(gmail, alice, login.refresh(tokens["refresh_token"]).json()["access_token"]) as caller:
            assert caller.get("profile")["emailAddress"] == ALICE


def test_a_person_who_denies_sends_the_client_back_with_an_error(login: Login) -> None:
    login.server.deny_next()
    back = login.returned()
    assert (back["error"], back["state"]) == ("access_denied", "a state & more")
    assert "code" not in back


def test_a_person_may_grant_less_than_was_asked_for(login: Login) -> None:
    login.server.approve_next(scopes={READONLY})
    tokens = login.tokens(scope=f"{READONLY} {SEND}")
    assert tokens["scope"] == READONLY
    assert login.server.tokens.valid(tokens["access_token"]).scopes == {READONLY}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"code_verifier": "another-verifier-of-forty-three-characters-01"}, (400, "invalid_grant")),
        ({"code_verifier": ""}, (400, "invalid_grant")),
        ({"code_verifier": "short"}, (400, "invalid_grant")),
        ({"redirect_uri": "http://127.0.0.1:50124/back"}, (400, "redirect_uri_mismatch")),
        ({"code": "4/0Aunknown"}, (400, "invalid_grant")),
        ({"client_secret": "wrong"}, (401, "invalid_client")),
        ({"client_secret": ""}, (400, "invalid_request")),
        ({"client_id": "nobody"}, (401, "invalid_client")),
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
    ],
)
def test_a_code_is_refused_to_whoever_does_not_prove_that_it_is_theirs(
    login: Login, changes: dict[str, str], expected: tuple[int, str]
) -> None:
    code = login.returned()["code"]
    assert error(login.redeem(code, **changes)) == expected
    assert login.redeem(code).status_code == 200


def test_an_expired_code_is_refused(login: Login) -> None:
    code = login.returned()["code"]
    login.time.now += login.server.code_lifetime
    assert error(login.redeem(code)) == (400, "invalid_grant")


def test_a_code_that_is_used_twice_takes_its_tokens_with_it(login: Login) -> None:
    code = login.returned()["code"]
    tokens = login.redeem(code).json()
    assert error(login.redeem(code)) == (400, "invalid_grant")
    assert login.server.tokens.valid(tokens["access_token"]) is None
    assert error(login.refresh(tokens["refresh_token"])) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "redirect_uri", ["https://evil.example/back", "http://127.0.0.1.evil.example/", "https://127.0.0.1:1/back", ""]
)
def test_nobody_is_sent_to_an_address_that_is_not_registered(login: Login, redirect_uri: str) -> None:
    answer = login.authorize(redirect_uri=redirect_uri)
    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert login.authorize(client_id="nobody").status_code == 401


def test_a_native_client_may_listen_on_any_loopback_port(login: Login, microsoft: Login) -> None:
    for uri in ("http://127.0.0.1:1234/x", "http://localhost:9/", "http://[::1]:50000"):
        assert "code" in login.returned(redirect_uri=uri)
    assert "code" in microsoft.returned(redirect_uri="http://127.0.0.1:1234/back")
    assert microsoft.authorize(redirect_uri="http://127.0.0.1:1234/other").status_code == 400


def test_a_native_client_must_use_pkce_with_s256(login: Login) -> None:
    assert login.returned(code_challenge="", code_challenge_method="")["error"] == "invalid_request"
    assert login.returned(code_challenge_method="plain")["error"] == "invalid_request"
    assert login.returned(code_challenge=VERIFIER)["error"] == "invalid_request"
    web = login.server.register("web", secret="w", redirect_uris=[BACK], native=False)
    code = login.returned(client_id=web.id, code_challenge="", code_challenge_method="")["code"]
    own = {"client_id": "web", "client_secret": "w"}
    assert "not needed" in login.redeem(code, **own).json()["error_description"]
    assert login.redeem(code, code_verifier="", **own).status_code == 200


def test_google_gives_a_refresh_token_with_the_first_consent_only(login: Login) -> None:
    assert "refresh_token" not in login.tokens(access_type="online", login_hint="")
    login.server._consented.clear()
    assert "refresh_token" in login.tokens()
    assert "refresh_token" not in login.tokens()
    assert "refresh_token" in login.tokens(prompt="consent")


def test_a_refresh_token_narrows_scopes_and_never_widens_them(login: Login) -> None:
    token = login.tokens(scope=f"{READONLY} {SEND}")["refresh_token"]
    assert login.refresh(token, scope=READONLY).json()["scope"] == READONLY
    assert error(login.refresh(token, scope=FULL)) == (400, "invalid_scope")
    assert login.refresh(token).json()["scope"] == f"{READONLY} {SEND}"


def test_without_rotation_a_refresh_token_stays_good_until_it_expires_or_is_revoked(login: Login) -> None:
    login.server.refresh_lifetime = 7 * 86_400
    token = login.tokens()["refresh_token"]
    assert all("refresh_token" not in login.refresh(token).json() for _ in range(3))
    login.time.now += 7 * 86_400
    assert error(login.refresh(token)) == (400, "invalid_grant")
    other = login.tokens(prompt="consent")["refresh_token"]
    login.server.revoke_user(ALICE)
    assert error(login.refresh(other)) == (400, "invalid_grant")


def test_a_rotated_refresh_token_that_comes_again_revokes_its_whole_family(microsoft: Login) -> None:
    first = microsoft.tokens(scope="Mail.Read offline_access")
    assert first["scope"] == "Mail.Read"
    second = microsoft.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert error(microsoft.refresh(first["refresh_token"])) == (400, "invalid_grant")
    assert error(microsoft.refresh(second["refresh_token"])) == (400, "invalid_grant")
    assert microsoft.server.tokens.valid(second["access_token"]) is None


def test_a_grace_period_forgives_a_lost_answer(microsoft: Login) -> None:
    microsoft.server.reuse_grace = 30
    token = microsoft.tokens(scope="Mail.Read offline_access")["refresh_token"]
    microsoft.server.cut_next("POST", "token", after_effect=True)
    with pytest.raises(httpx2.TransportError):
        microsoft.refresh(token)
    assert microsoft.refresh(token).status_code == 200
    microsoft.time.now += 30
    assert error(microsoft.refresh(token)) == (400, "invalid_grant")


def test_microsofts_errors_have_codes(microsoft: Login) -> None:
    told = microsoft.refresh("unknown").json()
    assert told["error"] == "invalid_grant"
    assert told["error_description"].startswith("AADSTS70000: ")
    assert told.keys() >= {"error_codes", "timestamp", "trace_id", "correlation_id"}


def test_revoking_one_token_revokes_all_of_its_consent(login: Login) -> None:
    tokens = login.tokens()
    revoke = login.server.address("revoke")
    assert login.http.post(revoke, data={"token": tokens["access_token"]}).status_code == 200
    assert error(login.refresh(tokens["refresh_token"])) == (400, "invalid_grant")
    assert error(login.http.post(revoke, data={"token": tokens["access_token"]})) == (400, "invalid_token")
    assert error(login.http.post(revoke, data={"token": "unknown"})) == (400, "invalid_token")


def device_code(login: Login, scope: str = "Mail.Read") -> dict[str, Any]:
    asked = {"client_id": login.client.id, "scope": scope}
    value: dict[str, Any] = login.http.post(login.server.address("device"), data=asked).json()
    return value


def test_a_device_waits_until_the_person_has_entered_the_code(microsoft: Login) -> None:
    begun = device_code(microsoft)

    def poll() -> httpx2.Response:
        return microsoft.ask(grant_type=DEVICE, device_code=begun["device_code"])

    assert error(poll()) == (400, "authorization_pending")
    assert error(poll()) == (400, "slow_down")
    microsoft.time.now += begun["interval"]
    assert error(poll()) == (400, "slow_down"), "asking too often makes the pause longer"
    microsoft.server.enter_device_code(begun["user_code"])
    microsoft.time.now += 60
    tokens = poll()
    assert tokens.json()["scope"] == "Mail.Read"
    microsoft.time.now += 60
    assert error(poll()) == (400, "invalid_grant")


def test_a_device_code_expires_and_may_be_declined(microsoft: Login, login: Login) -> None:
    declined, expired = device_code(microsoft), device_code(microsoft)
    microsoft.server.enter_device_code(declined["user_code"], approve=False)
    polled = microsoft.ask(grant_type=DEVICE, device_code=declined["device_code"])
    assert error(polled) == (400, "authorization_declined")
    microsoft.time.now += microsoft.server.device_lifetime
    assert error(microsoft.ask(grant_type=DEVICE, device_code=expired["device_code"])) == (400, "expired_token")
    begun = device_code(login, "openid email")
    assert error(login.ask(grant_type=DEVICE, device_code=begun["device_code"])) == (428, "authorization_pending")


def test_google_gives_no_mail_to_devices(login: Login) -> None:
    assert "device_code" in device_code(login, "email profile")
    assert device_code(login, READONLY) == {
        "error": "invalid_scope",
        "error_description": f"Invalid device flow scope: {READONLY}",
    }


@pytest.mark.parametrize("flavour", [GOOGLE, MICROSOFT])
def test_the_metadata_names_endpoints_that_are_there(flavour: Flavour) -> None:
    with FakeAuthorizationServer.started(flavour=flavour) as server, httpx2.Client(verify=False) as http:
        told = http.get(server.address("metadata")).json()
        assert told["issuer"] == server.issuer
        assert ("revocation_endpoint" in told) is (flavour is GOOGLE)
        for name, url in told.items():
            if name.endswith("_endpoint") or name == "jwks_uri":
                assert http.get(url).status_code != 404, name
        assert http.get(f"{server.url}/nowhere").status_code == 404


def test_an_id_token_is_signed_with_the_published_key(login: Login) -> None:
    token = login.tokens(scope="openid email", nonce="n-1")["id_token"]
    (key,) = login.http.get(login.server.address("jwks")).json()["keys"]
    claims = jwt.decode(
        token,
        jwt.PyJWK(key),
        audience=login.client.id,
        issuer=login.server.issuer,
        options={"verify_exp": False, "verify_iat": False},
    )
    assert (claims["email"], claims["nonce"]) == (ALICE, "n-1")
    assert "id_token" not in login.tokens()


def test_userinfo_says_whose_token_it_is(login: Login, microsoft: Login) -> None:
    for each in (login, microsoft):
        headers = {"authorization": f"Bearer {each.tokens()['access_token']}"}
        assert each.http.get(each.server.address("userinfo"), headers=headers).json()["email"] == ALICE
        assert each.http.get(each.server.address("userinfo")).status_code == 401


def test_the_server_fails_when_it_is_told_to(login: Login) -> None:
    code = login.returned()["code"]
    login.server.fail_next("POST", "token", status=503)
    assert error(login.redeem(code)) == (503, "temporarily_unavailable")
    login.server.html_next("POST", "token", status=502)
    assert login.redeem(code).headers["content-type"].startswith("text/html")
    login.server.cut_next("POST", "token")
    with pytest.raises(httpx2.TransportError):
        login.redeem(code)
    assert login.redeem(code).status_code == 200
    assert login.server.count("token") == 4
    assert login.server.pending_faults == 0
