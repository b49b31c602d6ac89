"""Unsubscribing by one click (RFC 8058): a POST to the address that a message's header names. Only the gate calls it.

What a stranger wrote into a header decides where the request goes, so it goes to public addresses only, over https with
a verified certificate, without cookies or credentials; no redirect is followed, and of the response only the status
counts.
"""

from __future__ import annotations

import ipaddress
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from postroom.model.errors import InvalidRequest
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.model.unsubscribing import host_of, one_click_address
from postroom.providers.http.client import new_client, tls_context

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 10.0  # seconds for the name, the connection, its encryption, and each read
DEADLINE = 30.0  # seconds for all of the request, however slowly the server speaks; more than connecting may take
PORT = 443
_BODY = b"List-Unsubscribe=One-Click"
_ASSIGNED = ipaddress.IPv6Network("2000::/3")  # all that networks of the internet have
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: how a network without IPv4 reaches it
_FORM = "application/x-www-form-urlencoded"


class OneClick:
    """A transport for native actions of kind `unsubscribe`; the URL is the action's text."""

    @property
    def native_kinds(self) -> frozenset[NativeKind]:
        return frozenset({"unsubscribe"})

    async def recipients_of(self, action: NativeAction) -> Recipients:
        return Recipients(to=(one_click_address(action.text),))

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        assert request.native is not None
        host = host_of(request.native.text)
        try:
            with anyio.fail_after(TIMEOUT):
                address = await _public_address(host)
        except OSError:  # a timeout is one
            return SubmitOutcome("rejected", reason=f"The name {host} was not found. Nothing was sent.")
        async with new_client(timeout=TIMEOUT, connections=1, tls=_tls()) as client:
            return await _post(client, request, host, address)

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        """Nobody can be asked whether it arrived."""
        reason = "Whether the request reached the list's server is not known; it may have unsubscribed you."
        return SubmitOutcome("unknown", reason=reason)

    async def close(self) -> None:
        return None


async def _public_address(host: str) -> str:
    """Looked up once, and then used: a name that changes its mind in between leads nowhere else."""
    found = await anyio.getaddrinfo(host, PORT)
    addresses = [str(entry[4][0]).partition("%")[0] for entry in found]
    if not addresses or not all(map(is_public, addresses)):
        raise InvalidRequest(f"{host} is not a public address on the internet. Nothing was sent.")
    return addresses[0]


def is_public(address: str) -> bool:
    """What stands for an IPv4 address (mapped, tunnelled) is not; what a translator makes of one is if that one is."""
    number = ipaddress.ip_address(address)
    if number in _TRANSLATED:
        number = ipaddress.IPv4Address(number.packed[-4:])
    if isinstance(number, ipaddress.IPv6Address) and (number not in _ASSIGNED or number.sixtofour or number.teredo):
        return False
    return number.is_global and not number.is_multicast


def _tls() -> ssl.SSLContext:
    return tls_context()


async def _post(client: httpx2.AsyncClient, request: SubmitRequest, host: str, address: str) -> SubmitOutcome:
    import httpx2

    assert request.native is not None
    parts = urlsplit(request.native.text)
    literal = f"[{address}]" if ":" in address else address
    url = f"https://{literal}:{PORT}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")
    headers = {"Host": host, "Content-Type": _FORM}
    sni = {"sni_hostname": host}
    try:
        with anyio.fail_after(DEADLINE):
            async with client.stream("POST", url, content=_BODY, headers=headers, extensions=sni) as response:
                status = response.status_code
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        return SubmitOutcome("rejected", reason=f"{host} could not be reached. Nothing was sent; try again later.")
    except (httpx2.HTTPError, TimeoutError):
        return SubmitOutcome("unknown", reason=f"{host} did not answer.")
    if 200 <= status < 300:
        return SubmitOutcome("accepted", accepted=request.envelope.recipients)
    said = "sends the request elsewhere, which is not followed" if 300 <= status < 400 else "refused the request"
    return SubmitOutcome("rejected", reason=f"{host} {said} (status {status}). You may still be subscribed.")
