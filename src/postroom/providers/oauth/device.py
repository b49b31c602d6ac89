"""Login on another device: a code to enter there, while we poll for the result (RFC 8628)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from postroom.model.errors import AuthRequired, InvalidRequest, ProviderError, ProviderUnavailable
from postroom.providers.layers.layered import wait_for
from postroom.providers.oauth.authorizing import Client, login_refused, with_refresh_token
from postroom.providers.oauth.grants import Granted, Refused, ask, ask_for_tokens

if TYPE_CHECKING:
    import httpx2

    from postroom.providers.oauth.services import Service

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_USUAL_INTERVAL, _SLOWER = 5.0, 5.0  # seconds
_LONGEST_WAIT = 1800.0


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What the user is told: open `page`, enter `code`."""

    page: str
    code: str
    device_code: str
    interval: float
    lifetime: float


async def begin_on_device(
    http: httpx2.AsyncClient, service: Service, client: Client, scopes: Sequence[str]
) -> DeviceCode:
    if not service.device_url:
        raise InvalidRequest(f"{service.name} does not support device codes for mail. Use the browser or --paste.")
    try:
        found = await ask(http, service.device_url, {"client_id": client.client_id, "scope": " ".join(scopes)})
    except Refused as refused:
        raise login_refused(refused.error, refused.number) from None
    page = str(found.get("verification_uri") or found.get("verification_url") or "")
    code, device = str(found.get("user_code", "")), str(found.get("device_code", ""))
    if not page.startswith(("https://", "http://")) or not (page + code).isprintable() or not (code and device):
        raise ProviderError("The service's response to the device login cannot be read.")
    return DeviceCode(page, code, device, _seconds(found, "interval", _USUAL_INTERVAL), _lifetime(found))


async def finish_on_device(
    http: httpx2.AsyncClient,
    service: Service,
    client: Client,
    device: DeviceCode,
    *,
    sleep: Callable[[float], Awaitable[None]] = wait_for,
) -> Granted:
    """Waits for the user as long as the code is valid."""
    form = {
        "grant_type": _GRANT,
        "device_code": device.device_code,
        "client_id": client.client_id,
        "client_secret": client.secret,
    }
    interval, waited = device.interval, 0.0
    while waited < device.lifetime:
        await sleep(interval)
        waited += interval
        try:
            return with_refresh_token(await ask_for_tokens(http, service.token_url, form))
        except ProviderUnavailable:
            interval += _SLOWER
        except Refused as refused:
            if refused.error == "expired_token":
                break
            if refused.error not in ("authorization_pending", "slow_down"):
                raise login_refused(refused.error, refused.number) from None
            interval += _SLOWER if refused.error == "slow_down" else 0.0
    raise AuthRequired("The code was not entered in time. Start again.")


def _seconds(found: dict[str, Any], key: str, usual: float) -> float:
    try:
        return max(1.0, float(found.get(key, usual)))
    except (TypeError, ValueError):
        return usual


def _lifetime(found: dict[str, Any]) -> float:
    return min(_seconds(found, "expires_in", 900.0), _LONGEST_WAIT)
