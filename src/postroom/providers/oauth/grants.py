"""Requests to a service's token endpoint, and its responses. No secret gets into an error message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from postroom.model.errors import PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.http.answer import Answer
from postroom.providers.http.exchange import Call, exchange

if TYPE_CHECKING:
    import httpx2

LARGEST = 256 * 1024  # bytes; the longest tokens have a few KB
_USUAL_LIFETIME = 3600.0  # seconds, where the service does not say
_DEADLINE = 60.0
_LONGEST_CODE = 60
_PASSING = ("temporarily_unavailable", "server_error", "internal_failure")  # the last is Google's own


@dataclass(frozen=True, slots=True)
class Granted:
    """`lifetime` in seconds. `refresh_token` is empty where the service gave no new one, `scopes` where it did not say
    what was granted."""

    access_token: str
    refresh_token: str
    lifetime: float
    scopes: frozenset[str] = frozenset()


class Refused(PostroomError):
    """The service's own error code (RFC 6749, 5.2; RFC 8628, 3.5). Callers convert it into another error."""

    def __init__(self, error: str, host: str, number: int = 0) -> None:
        """`number` is Microsoft's, which says more (``AADSTS50194``)."""
        super().__init__(f"{host} refused the login ({error}).")
        self.error = error
        self.host = host
        self.number = number


async def ask(client: httpx2.AsyncClient, url: str, form: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object of a success. Refused when the service refuses, ProviderUnavailable when it does not answer."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    body = urlencode({key: value for key, value in form.items() if value}).encode()
    call = Call("POST", url, headers, body=body, largest=LARGEST)
    answer = await exchange(client, call, deadline=_DEADLINE)
    found = _object(answer)
    error = found.get("error")
    if answer.status == 429 or answer.status >= 500 or error in _PASSING:  # whatever else it says: the login is good
        raise ProviderUnavailable(f"{answer.host} cannot process logins now ({answer.status}). Try again later.")
    if isinstance(error, str) and error:
        raise Refused(_code(error), answer.host, _number(found.get("error_codes")))
    if not answer.is_success or not found:
        raise ProviderUnavailable(f"The response of {answer.host} to the login cannot be read ({answer.status}).")
    return found


async def ask_for_tokens(client: httpx2.AsyncClient, url: str, form: Mapping[str, str]) -> Granted:
    found = await ask(client, url, form)
    access, refresh = found.get("access_token"), found.get("refresh_token") or ""
    kind = found.get("token_type", "Bearer")
    if not _is_token(access) or (refresh and not _is_token(refresh)) or str(kind).lower() != "bearer":
        raise ProviderError("The service's response to the login has no usable token.")
    scope = found.get("scope")
    scopes = frozenset(scope.split()) if isinstance(scope, str) else frozenset[str]()
    return Granted(str(access), str(refresh), _lifetime(found.get("expires_in")), scopes)


def _object(answer: Answer) -> dict[str, Any]:
    """Whatever the content type: not every service declares JSON."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _code(error: str) -> str:
    plain = len(error) <= _LONGEST_CODE and error.isascii() and error.replace("_", "").isalnum()
    return error if plain else "for a reason of its own"


def _number(codes: Any) -> int:
    first = codes[0] if isinstance(codes, list) and codes else 0
    return first if type(first) is int and 0 < first < 10**9 else 0


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and bool(value) and " " not in value


def _lifetime(seconds: Any) -> float:
    try:
        return max(0.0, float(seconds))
    except (TypeError, ValueError):
        return _USUAL_LIFETIME
