"""Requests to one service on behalf of one account."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from postroom.model.errors import ProviderError, ProviderUnavailable
from postroom.providers.http.answer import Answer
from postroom.providers.http.exchange import DEADLINE, LARGEST, Call, exchange, streamed
from postroom.providers.http.problems import ReadProblem, error_of, read_plain
from postroom.providers.http.quota import Quota
from postroom.providers.layers.retry import Retry

if TYPE_CHECKING:
    import httpx2

    from postroom.model.errors import PostroomError
    from postroom.providers.tokens import TokenSource

_MOST_REDIRECTS = 5
Params = Mapping[str, Any]


class Api:
    """`read` is retried and followed through redirects within the service; `write` is sent once.

    The token goes to the origin of `base_url` and to those that `allow` names, and nowhere else. A refused token is
    exchanged for a new one once; a request refused for its token had no effect, so any request may be repeated then.
    """

    def __init__(
        self,
        base_url: str,
        client: httpx2.AsyncClient,
        *,
        account: str,
        tokens: TokenSource | None = None,
        read_problem: ReadProblem = read_plain,
        quota: Quota | None = None,
        headers: Mapping[str, str] | None = None,
        retry: Retry | None = None,
        deadline: float = DEADLINE,
        wall_clock: Callable[[], float] = time.time,
        token_is_refused: Callable[[Answer], bool] = lambda answer: answer.status == 401,
        scheme: str = "Bearer",
    ) -> None:
        """`token_is_refused` also sees successes: a batch may be accepted and every request in it refused. `scheme` is
        how the service wants to be told the token."""
        self._base = base_url.rstrip("/")
        self._client = client
        self._account = account
        self._tokens = tokens
        self._read_problem = read_problem
        self._quota = quota or Quota()
        self._headers = dict(headers or {})
        self._retry = retry or Retry(attempts=3)
        self._deadline = deadline
        self._wall_clock = wall_clock
        self._token_is_refused = token_is_refused
        self._scheme = scheme
        self._origins = {_origin(base_url)}

    def allow(self, url: str) -> None:
        """A further origin of the same service, as named in its session document. Never one found in a message."""
        self._refuse_unencrypted(url)
        self._origins.add(_origin(url))

    async def read(
        self,
        path: str,
        *,
        method: str = "GET",
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        content: Any = None,
        units: float = 1,
        largest: int = LARGEST,
    ) -> Answer:
        """`path` below the base, or a whole URL of the service (the next page). `content` is bytes, or goes as JSON."""
        call = self._call(method, path, params, headers, content, largest=largest)
        return await self._retry.repeat(lambda: self._followed(call, units))

    async def write(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        content: Any = None,
        units: float = 1,
        largest: int = LARGEST,
    ) -> Answer:
        """UnclearWrite when it may or may not have happened; any other error means that it did not."""
        call = replace(self._call(method, path, params, headers, content, largest=largest), writes=True)
        return self._checked(await self._sent(call, units))

    async def upload(
        self, url: str, content: bytes, *, headers: Mapping[str, str], method: str = "PUT", units: float = 1
    ) -> Answer:
        """To an address that the service made for this one purpose, on any host: without the token."""
        self._refuse_unencrypted(url)
        call = Call(method, url, headers=headers, body=content or None, writes=method != "GET")
        async with self._quota.spend(units):
            return self._checked(await exchange(self._client, call, deadline=self._deadline))

    @asynccontextmanager
    async def stream(self, url: str, *, silence: float) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of a response without an end (``text/event-stream``). ProviderUnavailable when it is cut, or after
        that many seconds without a line. It counts as no request: it lasts for hours."""
        call = self._call("GET", url, None, {"Accept": "text/event-stream"}, None, largest=LARGEST)
        call = self._with_token(call, await self._tokens.token() if self._tokens else "")
        async with streamed(self._client, call, silence=silence) as (answer, lines):
            if self._checked(answer).status != 200:
                raise ProviderError(f"{answer.host} offers no stream of events.")
            yield lines

    def heed(self, error: PostroomError) -> None:
        """No requests before the time that the service named, be it for one request of a batch."""
        if error.retry_after:
            self._quota.hold(error.retry_after)

    async def close(self) -> None:
        await self._client.aclose()

    def _refuse_unencrypted(self, url: str) -> None:
        """Unless the service itself is reached without encryption, as in a test on this machine."""
        if _origin(url)[0] not in ("https", _origin(self._base)[0]):
            raise ProviderError("The mail service gave an unencrypted address (no HTTPS). It was not used.")

    def _call(
        self,
        method: str,
        path: str,
        params: Params | None,
        headers: Mapping[str, str] | None,
        content: Any,
        *,
        largest: int,
    ) -> Call:
        is_below = path.startswith("/")
        url = self._base + path if is_below else path
        if not is_below and _origin(url) not in self._origins:
            raise ProviderError("The mail service named another host, which was not contacted and got no token.")
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        kind = {} if isinstance(content, bytes | None) else {"Content-Type": "application/json"}
        return Call(method, url, {**self._headers, **kind, **(headers or {})}, params, body, largest=largest)

    async def _followed(self, call: Call, units: float) -> Answer:
        """Redirects within the service only, and only for requests without a body."""
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._sent(call, units)
            if not answer.place or call.method != "GET":
                return self._checked(answer)
            call = replace(call, url=answer.place, params=None)
            if _origin(call.url) not in self._origins:
                raise ProviderUnavailable(f"{answer.host} redirects to another host, which was not contacted.")
        raise ProviderError(f"{answer.host} redirects in a loop.")

    async def _sent(self, call: Call, units: float) -> Answer:
        token = await self._tokens.token() if self._tokens else ""
        answer = await self._paid(call, token, units)
        if self._tokens is not None and self._token_is_refused(answer):
            newer = await self._tokens.refreshed(token)
            if newer != token:
                answer = await self._paid(call, newer, units)
        return answer

    async def _paid(self, call: Call, token: str, units: float) -> Answer:
        async with self._quota.spend(units):
            return await exchange(self._client, self._with_token(call, token), deadline=self._deadline)

    def _with_token(self, call: Call, token: str) -> Call:
        return replace(call, headers={**call.headers, "Authorization": f"{self._scheme} {token}"}) if token else call

    def _checked(self, answer: Answer) -> Answer:
        problem = self._read_problem(answer)
        if answer.is_success and problem is None:
            if answer.of_write and answer.is_page:  # of the network or a proxy: the service may not have been asked
                raise answer.unreadable()
            return answer
        error = error_of(answer, problem, account=self._account, now=self._wall_clock())
        self.heed(error)
        raise error


def _origin(url: str) -> tuple[str, str, int | None, bytes]:
    """With the login that an address may contain: it would be sent in place of the token."""
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        return "", "", None, b""
    return parsed.scheme, parsed.host, parsed.port, parsed.userinfo
