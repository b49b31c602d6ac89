"""Why a token does not admit, in the words of RFC 6750 and RFC 9728."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

# What is logged of it. Nothing of the token is.
Reason = Literal[
    "malformed",
    "algorithm",
    "type",
    "unknown key",
    "signature",
    "expired",
    "not yet valid",
    "issuer",
    "audience",
    "claims",
    "bound",
]
_SAID: dict[Reason, str] = {
    "malformed": "The access token is not a JWT that can be read.",
    "algorithm": "The access token is signed with an algorithm that is not accepted here.",
    "type": "This is a token of another kind, not an access token.",
    "unknown key": "The authorisation server publishes no key that fits the access token.",
    "signature": "The signature of the access token is wrong.",
    "expired": "The access token has expired. Get a new one.",
    "not yet valid": "The access token is not valid yet.",
    "issuer": "The access token is from another authorisation server.",
    "audience": "The access token is for another resource. Ask for one with the resource of this server.",
    "claims": "The access token lacks a claim that is needed, or has one that cannot be understood.",
    "bound": "The access token is bound to a key of its client, which cannot be verified here.",
}


class TokenRefused(Exception):
    """The token is not valid here, whatever it would allow."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = _SAID[reason]


class ScopeMissing(Exception):
    """The token is valid, but does not allow this. `scopes` would; empty if no scope would."""

    def __init__(self, scopes: Sequence[str] = ()) -> None:
        super().__init__("scope")
        self.scopes = tuple(scopes)
        self.message = "This access token gives access to nothing here."
        if scopes:
            self.message = f"This needs an access token with more scopes: {' '.join(scopes)}."


class KeysUnavailable(Exception):
    """Nobody can tell whether the token is valid: the authorisation server's keys cannot be fetched."""

    message = "The keys of the authorisation server cannot be fetched at the moment. Try again later."

    def __init__(self, seconds: float) -> None:
        super().__init__("keys")
        self.seconds = seconds


def challenge(metadata_url: str, error: str = "", scopes: Sequence[str] = ()) -> str:
    """The value of WWW-Authenticate. `error` is a code of RFC 6750; none where no token was sent."""
    parts = {"resource_metadata": metadata_url, "error": error, "scope": " ".join(scopes)}
    return "Bearer " + ", ".join([f'{name}="{value}"' for name, value in parts.items() if value])
