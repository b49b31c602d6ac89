"""Microsoft's clouds. Each has an API and a login of its own, and a token of one is never shown to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from postroom.settings.oauth import OAuthSettings


@dataclass(frozen=True, slots=True)
class Cloud:
    """Hosts of the API, and of the login: the first is the one that is used."""

    name: str
    apis: tuple[str, ...]
    logins: tuple[str, ...]


WORLDWIDE: Final = Cloud(
    "worldwide", ("graph.microsoft.com",), ("login.microsoftonline.com", "login.microsoft.com", "login.windows.net")
)
CLOUDS: Final = (
    WORLDWIDE,
    Cloud("US government", ("graph.microsoft.us", "dod-graph.microsoft.us"), ("login.microsoftonline.us",)),
    Cloud(
        "China", ("microsoftgraph.chinacloudapi.cn",), ("login.partner.microsoftonline.cn", "login.chinacloudapi.cn")
    ),
)
_ENDPOINTS = {"authorize_url": "authorize", "token_url": "token", "device_url": "devicecode"}
# Of the login itself; any other scope belongs to an API, and without its address to that of the worldwide cloud.
_OF_LOGIN = frozenset({"offline_access", "openid", "profile", "email"})


def login_at(base_url: str, oauth: OAuthSettings) -> OAuthSettings:
    """With the login of the API's own cloud where none is given. ValueError for that of another cloud."""
    cloud = _cloud_of_api(base_url)
    if cloud is None or oauth.service != "microsoft":
        return oauth
    for key in _ENDPOINTS:
        given = _host(getattr(oauth, key))
        if any(given in other.logins for other in CLOUDS if other is not cloud):
            raise ValueError(f"oauth.{key} is not of the cloud of base_url ({cloud.name}): use {cloud.logins[0]}")
    if cloud is WORLDWIDE:
        return oauth
    usual = {key: f"https://{cloud.logins[0]}/common/oauth2/v2.0/{name}" for key, name in _ENDPOINTS.items()}
    return oauth.model_copy(update={key: url for key, url in usual.items() if not getattr(oauth, key)})


def scopes_at(base_url: str, scopes: tuple[str, ...]) -> tuple[str, ...]:
    """By the API's full names in the clouds where the short ones would mean another API."""
    cloud = _cloud_of_api(base_url)
    if cloud in (None, WORLDWIDE):
        return scopes
    return tuple(
        scope if scope in _OF_LOGIN or "://" in scope else f"https://{_host(base_url)}/{scope}" for scope in scopes
    )


def _cloud_of_api(base_url: str) -> Cloud | None:
    return next((cloud for cloud in CLOUDS if _host(base_url) in cloud.apis), None)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".")
