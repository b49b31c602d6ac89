"""Id tokens, signed with a key that the server publishes."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

KEY_ID = "the only key"


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def subject_of(user: str) -> str:
    return str(int(hashlib.sha256(user.lower().encode()).hexdigest()[:16], 16))


def id_token(issuer: str, client: str, user: str, nonce: str, now: float, lifetime: float) -> str:
    claims: dict[str, Any] = {
        "iss": issuer,
        "aud": client,
        "sub": subject_of(user),
        "email": user,
        "email_verified": True,
        "iat": int(now),
        "exp": int(now + lifetime),
    }
    return jwt.encode(claims | ({"nonce": nonce} if nonce else {}), _key(), "RS256", headers={"kid": KEY_ID})


def published_keys() -> dict[str, Any]:
    public = json.loads(RSAAlgorithm.to_jwk(_key().public_key()))
    return {"keys": [public | {"kid": KEY_ID, "use": "sig", "alg": "RS256"}]}
