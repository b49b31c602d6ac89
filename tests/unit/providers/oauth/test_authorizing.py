"""From the page of a service to tokens: PKCE, state, and what is pasted."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from postroom.model.errors import AuthRequired, InvalidRequest
from postroom.providers.discovery.known import find_known
from postroom.providers.http.client import new_client
from postroom.providers.oauth.authorizing import Attempt, Client, begin, finish, pasted_code
from postroom.providers.oauth.scopes import scopes_for
from postroom.providers.oauth.services import SERVICES, Service, service_at, service_of
from postroom.settings.oauth import OAuthSettings

from .authorisation import Authorisation

REDIRECT = "http://127.0.0.1:5000/"


def attempt(idp: Authorisation, client_id: str = "client-1") -> Attempt:
    service = service_of(OAuthSettings.model_validate(idp.settings()))
    return begin(service, Client(client_id), ["mail", "send"], REDIRECT, address="alice@example.com")


def asked(attempt: Attempt) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(attempt.url).query))


def test_every_attempt_has_a_state_and_a_proof_of_its_own(idp: Authorisation) -> None:
    one, other = attempt(idp), attempt(idp)
    assert len(one.state) >= 32
    assert len(one.verifier) >= 43
    assert not {one.state, one.verifier} & {other.state, other.verifier}
    assert one.verifier not in one.url
    assert asked(one)["scope"] == "mail send"
    assert asked(one)["login_hint"] == "alice@example.com"


@pytest.mark.parametrize("shape", ["{}", "  {}\n", "{code}", "?{query}"])
async def test_the_last_address_or_the_code_alone_is_enough(idp: Authorisation, shape: str) -> None:
    begun = attempt(idp)
    landed = idp.authorize(asked(begun))
    query = urlsplit(landed).query
    text = shape.format(landed, code=dict(parse_qsl(query))["code"], query=query)
    async with new_client(proxies=False) as http:
        granted = await finish(http, begun, pasted_code(begun, text))
    assert granted.refresh_token in idp.refresh_tokens


async def test_a_code_of_another_attempt_opens_nothing(idp: Authorisation) -> None:
    """Its state differs, and where that is cut off, its proof does."""
    begun, other = attempt(idp), attempt(idp)
    landed = idp.authorize(asked(other))
    with pytest.raises(InvalidRequest, match="state"):
        pasted_code(begun, landed)
    async with new_client(proxies=False) as http:
        with pytest.raises(AuthRequired, match="invalid_grant"):
            await finish(http, begun, dict(parse_qsl(urlsplit(landed).query))["code"])


@pytest.mark.parametrize("text", ["", "   ", "x" * 5000, "a\x00b", f"{REDIRECT}?code=1", f"{REDIRECT}?state=1"])
def test_what_is_neither_is_refused(idp: Authorisation, text: str) -> None:
    with pytest.raises(InvalidRequest):
        pasted_code(attempt(idp), text)


async def test_a_denied_login_is_said(idp: Authorisation) -> None:
    idp.denies = True
    begun = attempt(idp)
    with pytest.raises(AuthRequired, match="Access was denied"):
        pasted_code(begun, idp.authorize(asked(begun)))


async def test_a_wrong_client_is_said(idp: Authorisation) -> None:
    begun = attempt(idp, "wrong")
    code = pasted_code(begun, idp.authorize(asked(begun)))
    async with new_client(proxies=False) as http:
        with pytest.raises(AuthRequired, match="client id"):
            await finish(http, begun, code)


async def test_a_login_that_cannot_be_renewed_is_none(idp: Authorisation) -> None:
    begun = attempt(idp)
    code = pasted_code(begun, idp.authorize(asked(begun)))
    idp.answers = [(200, {"access_token": "a", "token_type": "Bearer"})]
    async with new_client(proxies=False) as http:
        with pytest.raises(AuthRequired, match="no refresh token"):
            await finish(http, begun, code)


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_every_known_service_has_what_a_login_needs(service: Service) -> None:
    assert service.authorize_url.startswith("https://")
    assert service.token_url.startswith("https://")
    assert service.console
    assert service.clicks
    assert all(service_at(host) is service for host in service.imap_hosts)
    assert scopes_for(service.name, "imap", ("read",))


@pytest.mark.parametrize(
    ("service", "kind", "toolsets", "expected"),
    [
        ("google", "imap", ("read",), {"https://mail.google.com/"}),
        ("google", "gmail", ("read",), {"gmail.readonly"}),
        ("google", "gmail", ("read", "drafts"), {"gmail.readonly", "gmail.compose"}),
        ("google", "gmail", ("read", "send"), {"gmail.readonly", "gmail.compose"}),
        ("google", "gmail", ("read", "organise", "drafts", "send"), {"gmail.modify"}),
        ("microsoft", "imap", ("read",), {"offline_access", "IMAP.AccessAsUser.All"}),
        ("microsoft", "imap", ("read", "send"), {"offline_access", "IMAP.AccessAsUser.All", "SMTP.Send"}),
        ("microsoft", "graph", ("read", "organise"), {"offline_access", "User.Read", "Mail.ReadWrite"}),
        ("fastmail", "imap", ("read", "drafts"), {"protocol-imap"}),
        ("fastmail", "imap", ("read", "send"), {"protocol-imap", "protocol-smtp"}),
    ],
)
def test_no_more_is_asked_for_than_the_tools_need(
    service: str, kind: str, toolsets: tuple[str, ...], expected: set[str]
) -> None:
    asked = scopes_for(service, kind, toolsets)
    short = {scope if scope.endswith("com/") else scope.rpartition("/")[2] for scope in asked}
    assert short == expected
    assert len(asked) == len(set(asked))


def test_a_kind_that_a_service_has_no_login_for_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        scopes_for("fastmail", "graph", ("read",))


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        ("gmail.com", "google"),
        ("outlook.com", "microsoft"),
        ("contoso.mail.protection.outlook.com", "microsoft"),
        ("fastmail.com", "fastmail"),
    ],
)
def test_the_servers_that_are_known_are_those_of_the_service(domain: str, name: str) -> None:
    found = find_known(domain, f"alice@{domain}")
    assert found is not None
    assert found.smtp is not None
    service = service_at(found.imap.host)
    assert service is SERVICES[name]
    assert found.smtp.host in service.smtp_hosts
