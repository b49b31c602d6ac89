"""Access tokens that a fake service accepts: whose they are, for what, until when."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class AccessToken:
    text: str
    user: str
    scopes: frozenset[str]
    end: float
    client: str = ""
    family: str = ""  # of the consent it came from
    delegated: bool = False  # to a service account, with authority over the whole domain
    is_revoked: bool = False


class AccessTokens:
    """One for a service alone, or one that an authorisation server shares with the services that accept its tokens."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._tokens: dict[str, AccessToken] = {}

    def issue(
        self,
        user: str,
        scopes: Iterable[str],
        *,
        lifetime: float = 3600,
        client: str = "",
        family: str = "",
        delegated: bool = False,
    ) -> AccessToken:
        text = "ya29." + secrets.token_urlsafe(48)
        token = AccessToken(text, user, frozenset(scopes), self.clock() + lifetime, client, family, delegated)
        self._tokens[text] = token
        return token

    def find(self, text: str) -> AccessToken | None:
        return self._tokens.get(text)

    def valid(self, text: str) -> AccessToken | None:
        token = self._tokens.get(text)
        if token is None or token.is_revoked or self.clock() >= token.end:
            return None
        return token

    def revoke(self, text: str) -> None:
        if token := self._tokens.get(text):
            token.is_revoked = True

    def revoke_family(self, family: str) -> None:
        for token in self._tokens.values():
            if token.family == family:
                token.is_revoked = True
