"""An authorisation server as a resource server sees it: metadata, published keys, and signed access tokens.

    with FakeIssuer().run() as issuer:
        issuer.token(sub="alice", aud="https://mail.example.com/mcp", scope="mail.read")
        issuer.rotate("ES256")                                # a new key beside the old ones; retire() drops those

Claims given as None are left out. Operations, for faults: ``metadata`` and ``jwks``.
"""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.peer import WebPeer

RESOURCE = "http://127.0.0.1/mcp"
_METADATA = (
    "/.well-known/oauth-authorization-server/tenant",
    "/.well-known/openid-configuration/tenant",
    "/tenant/.well-known/openid-configuration",
)


@cache
def key_number(number: int, algorithm: str, bits: int = 2048) -> Any:
    """Made once for all tests: an RSA key takes a while."""
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_jwk(key: Any, algorithm: str) -> dict[str, Any]:
    kind = ECAlgorithm if algorithm.startswith("ES") else RSAAlgorithm
    read: dict[str, Any] = json.loads(kind.to_jwk(key.public_key()))
    return read


class FakeIssuer(WebPeer):
    def __init__(self, algorithm: str = "RS256", *, metadata: str = _METADATA[0]) -> None:
        super().__init__()
        self.published: list[dict[str, Any]] = []
        self.metadata_path = metadata
        self.claimed_issuer = ""  # in the metadata; empty: the right one
        self.rotate(algorithm)

    @property
    def issuer(self) -> str:
        return f"{self.url}/tenant"

    @property
    def jwks_url(self) -> str:
        return f"{self.url}/keys"

    def rotate(self, algorithm: str) -> None:
        self.algorithm, self.key_id = algorithm, f"key {len(self.published)}"
        self.key = key_number(len(self.published), algorithm)
        self.published.append(public_jwk(self.key, algorithm) | {"kid": self.key_id, "use": "sig", "alg": algorithm})

    def retire(self) -> None:
        """Only the newest key stays published."""
        del self.published[:-1]

    def token(
        self, *, key: Any = None, algorithm: str = "", header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        now = int(time.time())
        written = {
            "iss": self.issuer,
            "aud": RESOURCE,
            "sub": "alice",
            "client_id": "app",
            "iat": now,
            "exp": now + 600,
        }
        payload = {name: value for name, value in (written | claims).items() if value is not None}
        headers = {name: value for name, value in ({"kid": self.key_id} | (header or {})).items() if value is not None}
        return jwt.encode(payload, key or self.key, algorithm or self.algorithm, headers=headers)

    def operation_of(self, request: Request) -> str:
        return "jwks" if request.path == "/keys" else "metadata" if request.path == self.metadata_path else ""

    def respond(self, _request: Request, recorded: Recorded) -> Answer:
        match recorded.operation:
            case "jwks":
                return Answer.of_json({"keys": self.published})
            case "metadata":
                return Answer.of_json({"issuer": self.claimed_issuer or self.issuer, "jwks_uri": self.jwks_url})
        return Answer(404)

    def error(self, fault: Fault) -> Answer:
        return Answer(fault.status)
