"""Bearer tokens that the test Dovecot accepts: HS256 JWTs checked locally, no identity provider needed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

ISSUER = "https://idp.example.test"
KEY = b"a shared secret only this test run knows"


def make_token(
    user: str, *, issuer: str = ISSUER, lifetime: float = 600, algorithm: str = "HS256", key: bytes = KEY
) -> str:
    now = int(time.time())
    claims = {"sub": user, "email": user, "iss": issuer, "iat": now - 5, "exp": now + int(lifetime)}
    signed = f"{_part({'alg': algorithm, 'typ': 'JWT'})}.{_part(claims)}"
    signature = b"" if algorithm == "none" else hmac.new(key, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_url_safe(signature)}"


def _part(value: dict[str, object]) -> str:
    return _url_safe(json.dumps(value, separators=(",", ":")).encode())


def _url_safe(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
