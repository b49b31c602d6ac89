"""One request and its response: bounded in time and size; errors say how far it got."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from postroom.model.errors import NoAnswer, PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.http.answer import Answer, host_of
from postroom.providers.http.decoding import decoded
from postroom.providers.http.unclear import UnclearWrite

if TYPE_CHECKING:
    import httpx2

LARGEST = 64 * 1024 * 1024  # bytes of a response, decompressed
LONGEST_LINE = 64 * 1024  # bytes, of a stream
DEADLINE = 300.0  # seconds for the whole exchange: a server that trickles bytes counts as dead too


@dataclass(frozen=True, slots=True)
class Call:
    """`writes` is about the effect, not the method: JMAP reads by POST."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] | None = None
    body: bytes | None = None
    writes: bool = False
    largest: int = LARGEST


async def exchange(client: httpx2.AsyncClient, call: Call, *, deadline: float = DEADLINE) -> Answer:
    """Raises ProviderUnavailable when it certainly had no effect, UnclearWrite when that is unknown."""
    import httpx2

    progress = _Progress()
    try:
        with anyio.fail_after(deadline):
            return await _answered(client, call, progress)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise _failure(error, call, host_of(call.url), has_begun=progress.has_begun) from None


@asynccontextmanager
async def streamed(
    client: httpx2.AsyncClient, call: Call, *, silence: float
) -> AsyncIterator[tuple[Answer, AsyncIterator[str]]]:
    """The beginning of a response (its body only if it is no success), and its lines as they come."""
    import httpx2

    timeout = httpx2.Timeout(client.timeout.connect, read=silence)
    try:
        async with client.stream(call.method, call.url, headers=dict(call.headers), timeout=timeout) as response:
            body = b"" if response.is_success else await _beginning(response)
            yield Answer(call.url, response.status_code, response.headers, body), _lines(response, call)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _failure(error, call, host_of(call.url), has_begun=True) from None


async def _beginning(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > LONGEST_LINE:
            break
    return bytes(body)


async def _lines(response: httpx2.Response, call: Call) -> AsyncIterator[str]:
    rest = b""
    async for piece in response.aiter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise ProviderUnavailable(f"{host_of(call.url)} sent a line without an end. Try again later.")
        for line in whole:
            yield line.rstrip(b"\r").decode("utf-8", "replace")


class _Progress:
    """Whether the first byte of the request may have been sent. It matters for writes alone, and asking httpx2 for it
    takes a call for each step of a request."""

    def __init__(self) -> None:
        self.has_begun = False

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            self.has_begun = True


def _address(call: Call) -> httpx2.URL:
    """As it was given: without parameters to add, a query is the service's own and stays as it is written. (`params=`
    would drop it.)"""
    import httpx2

    if call.params and "?" not in call.url:  # read once instead of twice
        return httpx2.URL(f"{call.url}?{httpx2.QueryParams(dict(call.params))}")
    url = httpx2.URL(call.url)
    return url.copy_merge_params(dict(call.params)) if call.params else url


async def _answered(client: httpx2.AsyncClient, call: Call, progress: _Progress) -> Answer:

    async with client.stream(
        call.method,
        _address(call),
        headers=dict(call.headers),
        content=call.body,
        extensions={"trace": progress} if call.writes else None,
    ) as response:
        body = bytearray()
        async for piece in decoded(response):
            body += piece
            if len(body) > call.largest:
                raise _too_large(call, host_of(call.url))
        return Answer(call.url, response.status_code, response.headers, bytes(body), call.writes)


def _too_large(call: Call, host: str) -> PostroomError:
    what = f"answered with more than {call.largest // 1024} KB"
    return UnclearWrite(host, what) if call.writes else ProviderError(f"{host} {what}, which is over the limit.")


def _failure(error: Exception, call: Call, host: str, *, has_begun: bool) -> PostroomError:
    import httpx2

    if _is_about_certificates(error):
        return ProviderUnavailable(
            f"The certificate of {host} could not be verified. Check the address and the network."
        )
    if isinstance(error, httpx2.LocalProtocolError | httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return ProviderError(f"The request to {host} is not valid HTTP. Check the address and the token.")
    if call.writes and has_begun:
        return UnclearWrite(host, "did not send a complete response")
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return NoAnswer(f"{host} did not answer in time. Try again later.")
    if isinstance(error, httpx2.ProxyError):
        return ProviderUnavailable(f"The proxy refused the connection to {host}. Check HTTPS_PROXY and NO_PROXY.")
    if isinstance(error, httpx2.ConnectError):
        return ProviderUnavailable(f"{host} cannot be reached. Check the network, or try again later.")
    return ProviderUnavailable(f"{host} closed the connection in the middle of its response. Try again later.")


def _is_about_certificates(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
