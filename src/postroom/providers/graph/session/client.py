"""One mailbox's requests: reads (alone or in batches), writes, pages, uploads."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from postroom.model.errors import NotFound, PostroomError, ProviderUnavailable, RateLimited
from postroom.providers.credentials.choosing import token_source
from postroom.providers.graph.session import batch
from postroom.providers.graph.session.batch import Step
from postroom.providers.graph.session.problems import is_unconvertible, read_problem
from postroom.providers.graph.session.wire import JSON, NEXT, PER_BATCH, TAKEN, objects, prefer, query, text
from postroom.providers.http.answer import Answer
from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.http.exchange import LARGEST
from postroom.providers.http.paging import pages
from postroom.providers.http.problems import error_of
from postroom.providers.http.quota import Quota, Rate
from postroom.providers.http.unclear import UnclearWrite
from postroom.providers.layers.retry import Retry

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.settings.accounts import GraphAccount

_BATCH = "/$batch"
_MOST_FAILED = 5  # messages of one request; where there are more, it is the service that fails
_AT_ONCE = 4  # requests for one mailbox; the service refuses a fifth
# Of 10,000 requests in ten minutes half at once and half over the time: never more than the limit.
REQUESTS = Rate(per_second=5000 / 600, burst=5000)

Params = Mapping[str, Any]


class Client:
    """`root` is ``/me`` or another mailbox (``/users/sales%40example.com``). Limits hold for each mailbox."""

    def __init__(self, account: GraphAccount, context: ProviderContext) -> None:
        self._account = account
        self._http = new_client(proxies=context.proxies)
        self._tokens = token_source(account, proxies=context.proxies)
        self._root = "/me"
        self._owns_http = True
        self._retry = Retry(attempts=3)
        self._api = self._new_api()

    def of(self, address: str) -> Client:
        """The same login on another mailbox, with limits of its own."""
        other = object.__new__(Client)
        other.__dict__.update(self.__dict__)
        other._root, other._owns_http = f"/users/{quote(address, safe='')}", False
        other._api = other._new_api()
        return other

    @property
    def place(self) -> str:
        """Which mailbox, without saying whose."""
        return "/me" if self._owns_http else "/users/{user_id}"

    async def close(self) -> None:
        if self._owns_http:
            await self._api.close()

    async def get(self, path: str, params: Params | None = None, headers: Mapping[str, str] | None = None) -> JSON:
        """`path` is below the mailbox, or the whole address of a next page."""
        answer = await self._api.read(self._at(path) + query(params or {}), headers=headers)
        return answer.object()

    async def page(self, path: str, params: Params | None = None, headers: Mapping[str, str] | None = None) -> JSON:
        """One page of a list. A response without a list, taken for an empty one, would say that everything is gone."""
        found = await self.get(path, params, headers)
        if not isinstance(found.get("value"), list):
            raise ProviderUnavailable("Microsoft did not answer with a list. Try again later.")
        return found

    async def content(self, path: str, *, largest: int = LARGEST) -> bytes:
        return (await self._api.read(self._at(path), largest=largest)).body

    async def mime(self, path: str, *, largest: int = LARGEST) -> bytes:
        """A message's own bytes; a web page or JSON in their place is an error of something in between."""
        answer = await self._api.read(self._at(path), largest=largest)
        if answer.is_page or answer.is_json:
            raise ProviderUnavailable(f"{answer.host} did not answer with the message. Try again later.")
        return answer.body

    async def pages(self, path: str, params: Params) -> AsyncIterator[list[JSON]]:
        """The items of a list, page by page."""
        async for page in self.whole_pages(path, params):
            yield objects(page.get("value"))

    async def whole_pages(self, path: str, params: Params) -> AsyncIterator[JSON]:
        """Of a list, from one @odata.nextLink to the next, as far as they are asked for."""

        async def fetch(link: str) -> tuple[list[JSON], str]:
            page = await (self.page(link) if link else self.page(path, params))
            return [page], text(page.get(NEXT))

        async for (page,) in pages(fetch):
            yield page

    async def write(
        self, method: str, path: str, content: Any = None, headers: Mapping[str, str] | None = None
    ) -> JSON:
        """Empty where the service answers with nothing."""
        answer = await self._api.write(method, self._at(path), content=content, headers=headers)
        return answer.object() if answer.body.strip() else {}

    async def act(self, path: str, content: Any = None) -> None:
        """A POST whose success is an empty 202: any other success, and whatever comes with a body, may be that of
        something in between."""
        answer = await self._api.write("POST", self._at(path), content=content)
        if answer.status != TAKEN or answer.body.strip():
            raise UnclearWrite(answer.host, f"answered {answer.status} with something unexpected", status=answer.status)

    async def upload(self, url: str, content: bytes, *, given: str) -> Answer:
        return await self._api.upload(url, content, headers={"Content-Range": given})

    async def upload_state(self, url: str) -> JSON:
        return (await self._api.upload(url, b"", headers={}, method="GET")).object()

    async def together(self, steps: Sequence[Step], *, writes: bool = False) -> list[JSON | PostroomError]:
        """In order, in as few requests as possible. One that fails does not fail the rest. Raises only if nothing is
        known to have been done: once a batch of writes has failed, the ones after it are not tried."""
        found: list[JSON | PostroomError] = []
        for start in range(0, len(steps), PER_BATCH):
            some = steps[start : start + PER_BATCH]
            try:
                found += await self._batch(some, writes=writes)
            except PostroomError as error:
                if not writes or (not found and not isinstance(error, UnclearWrite)):
                    raise
                untried = ProviderUnavailable(f"Not tried, because a request before it failed. {error.message}")
                return [*found, *[error] * len(some), *[untried] * (len(steps) - start - len(some))]
        return found

    async def present(self, steps: Sequence[Step], *, instead: Mapping[str, str] | None = None) -> list[JSON | None]:
        """As `together`, for reads: None where there is nothing; any other failure is raised. `instead` is asked of a
        message whose text Exchange cannot convert, and of a few over which it fails."""
        answers = await self.together(steps)
        failed = [number for number, one in enumerate(answers) if _is_failure(one)]
        damaged = [number for number, one in enumerate(answers) if is_unconvertible(one)] if instead else []
        damaged += failed if instead and len(failed) <= _MOST_FAILED else []
        again = await self.together([replace(steps[number], params=instead or {}) for number in damaged])
        for number, one in zip(damaged, again, strict=True):
            answers[number] = one
        found: list[JSON | None] = []
        for one in answers:
            if isinstance(one, PostroomError) and not isinstance(one, NotFound):
                raise one
            found.append(None if isinstance(one, PostroomError) else one)
        return found

    async def contents(self, paths: Sequence[str]) -> list[bytes]:
        """Of things that are no JSON, in one request for each `PER_BATCH` of them. Empty for one that is to be read
        alone: whatever became of it in a batch shows then."""
        found: list[bytes] = []
        for start in range(0, len(paths), PER_BATCH):
            steps = [Step("GET", path) for path in paths[start : start + PER_BATCH]]
            content = batch.written(steps, self._root)
            answer = await self._api.read(_BATCH, method="POST", content=content, units=len(steps))
            each = batch.read(answer, len(steps))
            found += [one.body if one and one.is_success and not (one.is_json or one.is_page) else b"" for one in each]
        return found

    async def _batch(self, steps: Sequence[Step], *, writes: bool) -> list[JSON | PostroomError]:
        """What was refused for now is asked again, alone: reads that failed in passing, and any 429, which says that
        nothing was done. Every other write is sent once."""
        found: dict[int, JSON | PostroomError] = {}
        again: tuple[type[PostroomError], ...] = (RateLimited,) if writes else (RateLimited, ProviderUnavailable)

        async def ask() -> None:
            missing = [number for number in range(len(steps)) if not _is_settled(found.get(number), again)]
            answers = await self._sent([steps[number] for number in missing], writes)
            found.update(zip(missing, answers, strict=True))
            if later := next((one for one in found.values() if isinstance(one, again)), None):
                raise later

        try:
            await self._retry.repeat(ask)
        except PostroomError as error:
            if not found:
                raise
            if not isinstance(error, again):
                found |= {number: error for number, one in found.items() if isinstance(one, again)}
        return [found[number] for number in range(len(steps))]

    async def _sent(self, steps: Sequence[Step], writes: bool) -> list[JSON | PostroomError]:
        content, units = batch.written(steps, self._root), len(steps)
        if writes:
            answer = await self._api.write("POST", _BATCH, content=content, units=units)
        else:
            answer = await self._api.read(_BATCH, method="POST", content=content, units=units)
        return [self._read(answer, one) for one in batch.read(answer, len(steps))]

    def _read(self, outer: Answer, inner: Answer | None) -> JSON | PostroomError:
        if inner is None:
            what = "left a part of a batch unanswered"
            if outer.of_write:
                return UnclearWrite(outer.host, what)
            return ProviderUnavailable(f"{outer.host} {what}. Try again later.")
        if inner.is_success:
            found = inner.parsed()
            return found if isinstance(found, dict) else {}
        error = error_of(inner, read_problem(inner), account=self._account.name, now=time.time())
        if isinstance(error, RateLimited):  # of the whole mailbox; any other is about this one request
            self._api.heed(error)
        return error

    def _at(self, path: str) -> str:
        return path if "://" in path else self._root + path

    def _new_api(self) -> Api:
        return Api(
            self._account.base_url,
            self._http,
            account=self._account.name,
            tokens=self._tokens,
            read_problem=read_problem,
            quota=Quota(units=REQUESTS, at_once=_AT_ONCE),
            headers={"Prefer": prefer()},
            token_is_refused=batch.refuses_token,
        )


def _is_failure(found: JSON | PostroomError) -> bool:
    return isinstance(found, ProviderUnavailable) and found.details.get("status") == 500


def _is_settled(found: JSON | PostroomError | None, again: tuple[type[PostroomError], ...]) -> bool:
    return found is not None and not isinstance(found, again)
