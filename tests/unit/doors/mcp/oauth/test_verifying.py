"""Access tokens of a real issuer, with real keys: which are valid here, and why the others are not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.peers.oauth.issuer import _METADATA, RESOURCE, FakeIssuer, key_number, public_jwk

from postroom.doors.mcp.http.oauth.keys import FRESH_SECONDS, PAUSE_SECONDS, STALE_SECONDS, Keys
from postroom.doors.mcp.http.oauth.refusals import KeysUnavailable, TokenRefused
from postroom.doors.mcp.http.oauth.verifying import MAX_CHARS, Verifier
from postroom.providers.http.client import new_client
from postroom.settings.authorization import AuthorizationSettings


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer() -> Iterator[FakeIssuer]:
    with FakeIssuer().run() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def verifier(issuer: FakeIssuer, clock: Clock) -> Verifier:
    return verifier_of(issuer, clock)


def verifier_of(issuer: FakeIssuer, clock: Clock, **settings: Any) -> Verifier:
    written = {"issuer": issuer.issuer, "resource": RESOURCE, "grants": [{}], **settings}
    read = AuthorizationSettings.model_validate(written)
    return Verifier(read, Keys(read, new_client, clock))


async def reason(verifier: Verifier, token: str) -> str:
    with pytest.raises(TokenRefused) as refused:
        await verifier.verify(token)
    return refused.value.reason


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def test_a_valid_token_tells_whose_it_is(verifier: Verifier, issuer: FakeIssuer) -> None:
    bearer = await verifier.verify(issuer.token(sub="alice", azp="other name", scope="mail.read mail.send"))

    assert (bearer.subject, bearer.client) == ("alice", "app")
    assert bearer.scopes == {"mail.read", "mail.send"}


@pytest.mark.parametrize(
    ("claims", "client", "scopes"),
    [
        ({"client_id": None, "azp": "x", "scp": ["a", "b", 1]}, "x", {"a", "b"}),
        ({"client_id": None, "appid": "x", "scp": "a b"}, "x", {"a", "b"}),
        ({"client_id": None}, "", set()),
    ],
)
async def test_issuers_have_other_names_for_client_and_scope(
    verifier: Verifier, issuer: FakeIssuer, claims: dict[str, Any], client: str, scopes: set[str]
) -> None:
    bearer = await verifier.verify(issuer.token(**claims))

    assert (bearer.client, bearer.scopes) == (client, scopes)


@pytest.mark.parametrize("aud", [RESOURCE, ["https://other.example", RESOURCE]])
@pytest.mark.parametrize("kind", ["JWT", "at+jwt", "application/at+jwt", None])
async def test_the_audience_may_be_one_of_several_and_the_type_what_issuers_write(
    verifier: Verifier, issuer: FakeIssuer, aud: Any, kind: str | None
) -> None:
    assert await verifier.verify(issuer.token(aud=aud, header={"typ": kind}))


NOW = int(time.time())


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "https://other.example/mcp"}, "audience"),
        ({"aud": RESOURCE + "/"}, "audience"),
        ({"aud": None}, "claims"),
        ({"aud": []}, "claims"),
        ({"exp": NOW - 60}, "expired"),
        ({"exp": None}, "claims"),
        ({"exp": "never"}, "claims"),
        ({"nbf": NOW + 86_400}, "not yet valid"),
        ({"iat": NOW + 86_400}, "not yet valid"),
        ({"iss": "https://other.example"}, "issuer"),
        ({"iss": None}, "claims"),
        ({"sub": None}, "claims"),
        ({"sub": ""}, "claims"),
        ({"sub": 7}, "claims"),
        ({"cnf": {"jkt": "x"}}, "bound"),
    ],
)
async def test_a_claim_that_does_not_fit_is_refused(
    verifier: Verifier, issuer: FakeIssuer, claims: dict[str, Any], why: str
) -> None:
    assert await reason(verifier, issuer.token(**claims)) == why


async def test_clocks_may_differ_by_half_a_minute_and_no_more(verifier: Verifier, issuer: FakeIssuer) -> None:
    now = int(time.time())

    assert await verifier.verify(issuer.token(exp=now - 5, nbf=now + 5))
    assert await reason(verifier, issuer.token(exp=now - 40)) == "expired"


@pytest.mark.parametrize("kind", ["logout+jwt", "dpop+jwt", "secevent+jwt"])
async def test_tokens_of_another_kind_are_refused(verifier: Verifier, issuer: FakeIssuer, kind: str) -> None:
    assert await reason(verifier, issuer.token(header={"typ": kind})) == "type"


async def test_a_token_without_a_signature_is_refused(verifier: Verifier, issuer: FakeIssuer) -> None:
    claims = {"iss": issuer.issuer, "aud": RESOURCE, "sub": "alice", "exp": NOW + 600}

    for algorithm in ("none", "None", "NONE", "", None, 7, ["RS256"]):
        assert await reason(verifier, unsigned({"alg": algorithm, "kid": issuer.key_id}, claims)) in (
            "algorithm",
            "malformed",
        )
    assert await reason(verifier, unsigned({"alg": "RS256", "kid": issuer.key_id}, claims)) == "signature"


async def test_a_public_key_is_no_shared_secret(verifier: Verifier, issuer: FakeIssuer) -> None:
    """Key confusion: signed with HMAC, and the published key as the secret."""
    claims = {"iss": issuer.issuer, "aud": RESOURCE, "sub": "alice", "exp": NOW + 600}
    pem = issuer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = unsigned({"alg": "HS256", "kid": issuer.key_id, "typ": "JWT"}, claims).rpartition(".")[0]
    mac = hmac.new(pem, head.encode(), hashlib.sha256).digest()

    assert await reason(verifier, f"{head}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}") == "algorithm"


async def test_keys_that_a_token_brings_along_are_not_looked_at(verifier: Verifier, issuer: FakeIssuer) -> None:
    forger = key_number(99, "RS256")
    header = {"jwk": public_jwk(forger, "RS256"), "jku": issuer.url + "/evil", "x5u": issuer.url + "/evil"}

    assert await reason(verifier, issuer.token(key=forger, header=header)) == "signature"
    assert {request.path for request in issuer.requests} == {issuer.metadata_path, "/keys"}


async def test_a_key_serves_only_the_algorithm_it_is_published_for(issuer: FakeIssuer, clock: Clock) -> None:
    verifier = verifier_of(issuer, clock, algorithms=["RS256", "RS512", "ES256"])

    assert await reason(verifier, issuer.token(algorithm="RS512")) == "unknown key"
    assert await reason(verifier, issuer.token(key=key_number(98, "ES256"), algorithm="ES256")) == "unknown key"


@pytest.mark.parametrize(
    "change", [{"use": "enc"}, {"key_ops": ["sign"]}, {"alg": "RSA-OAEP"}, {"kty": "oct", "k": "eA"}, {"n": "AQAB"}]
)
async def test_keys_for_other_purposes_and_weak_ones_do_not_count(
    verifier: Verifier, issuer: FakeIssuer, change: dict[str, Any]
) -> None:
    issuer.published[0] |= change

    assert await reason(verifier, issuer.token()) == "unknown key"


async def test_a_short_rsa_key_does_not_count(verifier: Verifier, issuer: FakeIssuer) -> None:
    weak = key_number(97, "RS256", 1024)
    issuer.published.append(public_jwk(weak, "RS256") | {"kid": "weak"})

    assert await reason(verifier, issuer.token(key=weak, header={"kid": "weak"})) == "unknown key"


async def test_without_a_key_id_the_only_key_is_meant(verifier: Verifier, issuer: FakeIssuer, clock: Clock) -> None:
    assert await verifier.verify(issuer.token(header={"kid": None}))
    issuer.rotate("RS256")
    clock.now += FRESH_SECONDS + 1
    assert await reason(verifier, issuer.token(header={"kid": None})) == "unknown key"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "....",
        "é.é.é",
        "postroom_x",
        "x" * (MAX_CHARS + 1),
        ".".join(["e30"] * 5),
    ],
)
async def test_what_is_no_token_is_refused_without_asking_anybody(
    verifier: Verifier, issuer: FakeIssuer, token: str
) -> None:
    assert await reason(verifier, token) in ("malformed", "algorithm")
    assert issuer.requests == []


async def test_a_header_nested_deeply_is_refused(verifier: Verifier) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 6000).rstrip(b"=").decode()

    assert await reason(verifier, f"{deep[:8000]}.e30.e30") == "malformed"


# The keys


async def test_keys_are_found_by_the_issuers_metadata_and_fetched_once(verifier: Verifier, issuer: FakeIssuer) -> None:
    for _ in range(3):
        await verifier.verify(issuer.token())

    assert [request.operation for request in issuer.requests] == ["metadata", "jwks"]


@pytest.mark.parametrize("place", _METADATA[1:])
async def test_metadata_of_openid_connect_is_found_too(place: str, clock: Clock) -> None:
    with FakeIssuer(metadata=place).run() as issuer:
        assert await verifier_of(issuer, clock).verify(issuer.token())


async def test_an_address_of_the_keys_needs_no_metadata(issuer: FakeIssuer, clock: Clock) -> None:
    assert await verifier_of(issuer, clock, jwks_url=issuer.jwks_url).verify(issuer.token())
    assert [request.operation for request in issuer.requests] == ["jwks"]


async def test_metadata_of_another_issuer_is_not_believed(verifier: Verifier, issuer: FakeIssuer) -> None:
    issuer.claimed_issuer = "https://other.example"

    with pytest.raises(KeysUnavailable):
        await verifier.verify(issuer.token())


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_a_new_key_is_fetched_when_a_token_names_it(
    verifier: Verifier, issuer: FakeIssuer, clock: Clock, algorithm: str
) -> None:
    old = issuer.token()
    await verifier.verify(old)
    issuer.rotate(algorithm)
    issuer.retire()
    assert await reason(verifier, issuer.token()) == "unknown key"  # within the pause
    clock.now += PAUSE_SECONDS

    assert await verifier.verify(issuer.token())
    assert await reason(verifier, old) == "unknown key"


async def test_invented_keys_cause_one_fetch_in_each_pause(
    verifier: Verifier, issuer: FakeIssuer, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    clock.now += PAUSE_SECONDS
    for number in range(20):
        assert await reason(verifier, issuer.token(header={"kid": f"invented {number}"})) == "unknown key"

    assert issuer.count("jwks") == 2
    assert await verifier.verify(issuer.token())


def down(issuer: FakeIssuer) -> None:
    issuer.fail_next("GET", "*", times=1000)


def broken(issuer: FakeIssuer) -> None:
    issuer.answer_next("GET", "jwks", b"{" * 100, times=1000)


def huge(issuer: FakeIssuer) -> None:
    issuer.answer_next("GET", "jwks", b" " * 2_000_000, times=1000)


def of_another_form(issuer: FakeIssuer) -> None:
    issuer.answer_next("GET", "jwks", b'{"keys": 7}', times=1000)


@pytest.mark.parametrize("fault", [down, broken, huge, of_another_form])
async def test_without_keys_nobody_is_admitted_and_it_is_tried_again(
    verifier: Verifier, issuer: FakeIssuer, clock: Clock, fault: Callable[[FakeIssuer], None]
) -> None:
    fault(issuer)
    for _ in range(3):
        with pytest.raises(KeysUnavailable) as unavailable:
            await verifier.verify(issuer.token())
    assert len(issuer.requests) <= 3
    issuer.forget_faults()
    clock.now += unavailable.value.seconds

    assert await verifier.verify(issuer.token())


async def test_known_keys_are_used_while_new_ones_cannot_be_fetched_for_a_day(
    verifier: Verifier, issuer: FakeIssuer, clock: Clock
) -> None:
    await verifier.verify(issuer.token())
    down(issuer)
    clock.now += FRESH_SECONDS + 1
    assert await verifier.verify(issuer.token())
    clock.now += STALE_SECONDS
    with pytest.raises(KeysUnavailable):
        await verifier.verify(issuer.token())


async def test_an_issuer_that_hangs_keeps_one_request_waiting_and_not_those_whose_key_is_known(
    issuer: FakeIssuer, clock: Clock
) -> None:
    hanging, released = anyio.Event(), anyio.Event()

    class Hanging(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            hanging.set()
            try:
                await released.wait()
            finally:
                clock.now += 10.0
            raise httpx2.ConnectTimeout("nobody answers", request=request)

    fetches, waited = list[int](), list[int]()

    def client() -> httpx2.AsyncClient:
        fetches.append(1)
        return new_client() if len(fetches) == 1 else httpx2.AsyncClient(transport=Hanging())

    settings = {"issuer": issuer.issuer, "resource": RESOURCE, "grants": [{}], "jwks_url": issuer.jwks_url}
    read = AuthorizationSettings.model_validate(settings)
    verifier = Verifier(read, Keys(read, client, clock))
    await verifier.verify(issuer.token())
    clock.now += FRESH_SECONDS + 1

    async def wait() -> None:
        await verifier.verify(issuer.token())
        waited.append(1)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await hanging.wait()
        for _ in range(3):
            assert await verifier.verify(issuer.token())
        assert not waited, "the others had to wait for it"
        released.set()

    assert await verifier.verify(issuer.token())
    assert (len(fetches), len(waited)) == (2, 1)
