"""The least that a login must allow, on every provider that can be opened and for each way to log in to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from postroom.providers.oauth.scopes import SCOPES, right_of, scopes_for
from postroom.providers.permissions import LOGINS
from postroom.providers.registry import MAILBOXES

__all__ = ["LoginKind", "login_kinds", "right_of"]


@dataclass(frozen=True, slots=True)
class LoginKind:
    """One way to log in to a provider; `service` is empty without OAuth."""

    provider: str
    service: str = ""

    def least(self, rights: Iterable[str]) -> tuple[str, ...]:
        """For OAuth the very scopes that a login with these toolsets requests."""
        if self.service:
            return scopes_for(self.service, self.provider, rights)
        table = LOGINS[self.provider]
        return tuple(
            dict.fromkeys(name for right in ("always", *map(right_of, rights)) for name in table.get(right, ()))
        )


def login_kinds() -> Iterator[LoginKind]:
    """In the order of the registry."""
    for provider in MAILBOXES:
        if provider in LOGINS:
            yield LoginKind(provider)
        yield from (LoginKind(provider, service) for service, kind in SCOPES if kind == provider)
