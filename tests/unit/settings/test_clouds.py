"""Microsoft's clouds: which login an account of each one gets, and that no token of one is for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.providers.oauth.scopes import scopes_for
from postroom.providers.oauth.services import service_of
from postroom.settings import GraphAccount, SettingsError, build

HOSTS = {
    "graph.microsoft.com": "login.microsoftonline.com",
    "graph.microsoft.us": "login.microsoftonline.us",
    "dod-graph.microsoft.us": "login.microsoftonline.us",
    "microsoftgraph.chinacloudapi.cn": "login.partner.microsoftonline.cn",
}
TENANT = "11111111-2222-3333-4444-555555555555"


def account(api: str, **oauth: Any) -> GraphAccount:
    login = {"service": "microsoft", "client_id": "client-1", **oauth}
    table = {"name": "work", "provider": "graph", "address": "a@x.example", "base_url": api, "oauth": login}
    (found,) = build({"accounts": [table]}, home=Path("unused")).accounts
    assert isinstance(found, GraphAccount)
    return found


@pytest.mark.parametrize(("api", "login"), HOSTS.items())
def test_each_cloud_has_its_own_login_without_being_told(api: str, login: str) -> None:
    found = account(f"https://{api}/v1.0")
    assert found.oauth is not None
    service = service_of(found.oauth)
    place = f"https://{login}/common/oauth2/v2.0"
    assert (service.authorize_url, service.token_url, service.device_url) == (
        f"{place}/authorize",
        f"{place}/token",
        f"{place}/devicecode",
    )


@pytest.mark.parametrize("api", HOSTS)
def test_scopes_are_those_of_the_cloud_s_own_api(api: str) -> None:
    plain = scopes_for("microsoft", "graph", ("read", "send"))
    full = account(f"https://{api}/v1.0").scopes_at(plain)
    if api == "graph.microsoft.com":
        assert full == plain
    else:
        assert full == ("offline_access", *(f"https://{api}/{scope}" for scope in plain if scope != "offline_access"))
        assert account(f"https://{api}/v1.0").scopes_at(full) == full


def test_a_tenant_of_the_same_cloud_keeps_its_endpoints() -> None:
    for login in ("login.partner.microsoftonline.cn", "login.chinacloudapi.cn"):
        token_url = f"https://{login}/{TENANT}/oauth2/v2.0/token"
        found = account("https://microsoftgraph.chinacloudapi.cn/v1.0", token_url=token_url)
        assert found.oauth is not None
        assert found.oauth.token_url == token_url


@pytest.mark.parametrize("key", ["authorize_url", "token_url", "device_url"])
@pytest.mark.parametrize(
    ("api", "login"),
    [
        ("graph.microsoft.us", "login.microsoftonline.com"),
        ("GRAPH.microsoft.US.", "LOGIN.microsoftonline.COM"),
        ("graph.microsoft.com", "login.microsoftonline.us"),
        ("graph.microsoft.com", "login.chinacloudapi.cn"),
        ("microsoftgraph.chinacloudapi.cn", "login.windows.net"),
    ],
)
def test_the_login_of_another_cloud_is_refused_before_any_token_is_asked_for(api: str, login: str, key: str) -> None:
    with pytest.raises(SettingsError, match="not of the cloud of base_url"):
        account(f"https://{api}/v1.0", **{key: f"https://{login}/common/oauth2/v2.0/token"})


def test_an_api_that_is_none_of_microsofts_is_left_alone() -> None:
    found = account("https://proxy.example/graph", token_url="https://login.microsoftonline.us/t/oauth2/v2.0/token")
    assert found.oauth is not None
    assert found.oauth.token_url == "https://login.microsoftonline.us/t/oauth2/v2.0/token"
    assert found.scopes_at(("Mail.Read",)) == ("Mail.Read",)
