"""How an account logs in on its service's own page: the key `oauth` of an account."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from postroom.settings.fields import AsList, ConfigPath, Secret, Section

ServiceName = Literal["google", "microsoft", "fastmail", "other"]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def check_endpoint(url: str) -> str:
    """Tokens are sent there: unencrypted only within this machine, as in tests."""
    if not url:
        return url
    try:
        parts = urlsplit(url)
        fine = bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        )
    except ValueError:
        fine = False
    if not fine:
        raise ValueError("write a URL that starts with https://")
    return url


Endpoint = Annotated[str, AfterValidator(check_endpoint)]


class OAuthSettings(Section):
    """The endpoints are the service's own unless others are given: for a sovereign cloud, a tenant, a test."""

    service: ServiceName
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: Secret = None
    client_secret_env: str = ""
    client_secret_file: ConfigPath | None = None
    scopes: Annotated[tuple[str, ...], *AsList] = ()
    authorize_url: Endpoint = ""
    token_url: Endpoint = ""
    device_url: Endpoint = ""

    @model_validator(mode="after")
    def _complete(self) -> OAuthSettings:
        sources = [key for key in _SECRET_SOURCES if getattr(self, key)]
        if len(sources) > 1:
            raise ValueError(f"{' and '.join(sources)} are set; keep one of them")
        if self.service == "other" and not (self.token_url and (self.authorize_url or self.device_url) and self.scopes):
            raise ValueError('service "other" needs token_url, authorize_url or device_url, and scopes')
        return self


_SECRET_SOURCES = ("client_secret", "client_secret_env", "client_secret_file")
