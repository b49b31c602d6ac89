"""Where Google's and Microsoft's servers differ: paths, words, and what a refresh token needs."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.peers.oauth.errors import OAuthError

_MICROSOFT_CODES = {
    "invalid_grant": 70000,
    "invalid_client": 7000215,
    "authorization_pending": 70016,
    "authorization_declined": 70020,
    "expired_token": 70019,
    "invalid_scope": 70011,
    "invalid_request": 900144,
}


@dataclass(frozen=True, slots=True)
class Flavour:
    name: str
    paths: dict[str, str]  # operation -> pattern of the path
    issuer: str  # below the address of the server
    rotates_refresh_tokens: bool
    any_loopback_path: bool
    device_field: str  # what the address is called at which a code is entered
    device_statuses: dict[str, int] = field(default_factory=dict)
    device_denied: str = "access_denied"
    not_for_devices: str = r"\Z."  # scopes that the device flow refuses

    def operation(self, path: str) -> str:
        return next((name for name, pattern in self.paths.items() if re.fullmatch(pattern, path)), "")

    def place(self, operation: str) -> str | None:
        """The path under which an operation is published."""
        pattern = self.paths.get(operation)
        return pattern.replace(r"[\w.-]+", "common").replace("\\", "") if pattern else None

    def shaped(self, error: OAuthError, now: float) -> dict[str, Any]:
        value: dict[str, Any] = {"error": error.error}
        if self.name == "google":
            return value | ({"error_description": error.description} if error.description else {})
        code = _MICROSOFT_CODES.get(error.error, 50000)
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        trace, correlation = secrets.token_hex(16), secrets.token_hex(16)
        told = f"AADSTS{code}: {error.description or error.error} Trace ID: {trace} Timestamp: {moment}"
        return value | {
            "error_description": told,
            "error_codes": [code],
            "timestamp": moment,
            "trace_id": trace,
            "correlation_id": correlation,
        }

    def wants_refresh_token(self, scopes: set[str], access_type: str) -> bool:
        return access_type == "offline" if self.name == "google" else "offline_access" in scopes


GOOGLE = Flavour(
    name="google",
    paths={
        "authorize": "/o/oauth2/v2/auth",
        "token": "/token",
        "device": "/device/code",
        "revoke": "/revoke",
        "userinfo": "/v1/userinfo",
        "jwks": "/oauth2/v3/certs",
        "metadata": r"/\.well-known/openid-configuration",
    },
    issuer="",
    rotates_refresh_tokens=False,
    any_loopback_path=True,
    device_field="verification_url",
    device_statuses={"authorization_pending": 428, "slow_down": 403, "access_denied": 403},
    not_for_devices=r"https://mail\.google\.com/|.*/auth/gmail\.",
)

MICROSOFT = Flavour(
    name="microsoft",
    paths={
        "authorize": r"/[\w.-]+/oauth2/v2\.0/authorize",
        "token": r"/[\w.-]+/oauth2/v2\.0/token",
        "device": r"/[\w.-]+/oauth2/v2\.0/devicecode",
        "userinfo": "/oidc/userinfo",
        "jwks": r"/[\w.-]+/discovery/v2\.0/keys",
        "metadata": r"/[\w.-]+/v2\.0/\.well-known/openid-configuration",
    },
    issuer="/common/v2.0",
    rotates_refresh_tokens=True,
    any_loopback_path=False,
    device_field="verification_uri",
    device_denied="authorization_declined",
)
