"""One account's requests: reads (alone or in batches), writes, uploads, pages."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from postroom import __version__
from postroom.model.errors import NotFound, PostroomError, ProviderError, ProviderUnavailable, RateLimited
from postroom.providers.credentials.choosing import token_source
from postroom.providers.gmail.session import batch
from postroom.providers.gmail.session.problems import read_problem
from postroom.providers.gmail.session.wire import (
    BATCH,
    JSON,
    PER_BATCH,
    PER_PAGE,
    UPLOAD,
    USER,
    Get,
    objects_of,
    text_of,
)
from postroom.providers.http.answer import Answer
from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.http.paging import pages
from postroom.providers.http.problems import error_of
from postroom.providers.http.quota import Quota, Rate
from postroom.providers.layers.retry import Retry

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.settings.accounts import GmailAccount

_AT_ONCE = 8
_BOUNDARY = "postroom_upload"


class Client:
    def __init__(self, account: GmailAccount, context: ProviderContext) -> None:
        self._account = account.name
        self._retry = Retry(attempts=3)
        per_minute = account.units_per_minute
        self._api = Api(
            account.base_url,
            new_client(proxies=context.proxies),
            account=account.name,
            tokens=token_source(account, proxies=context.proxies),
            read_problem=read_problem,
            # Half at once and half over the minute: in no minute more than the limit.
            quota=Quota(units=Rate(per_second=per_minute / 120, burst=per_minute / 2), at_once=_AT_ONCE),
            headers={"User-Agent": f"postroom/{__version__} (gzip)"},  # without that word Google compresses nothing
            token_is_refused=batch.refuses_token,
        )

    async def close(self) -> None:
        await self._api.close()

    async def get(self, call: Get) -> JSON:
        answer = await self._api.read(USER + call.path, params=call.params, units=call.units)
        return answer.object()

    async def get_all(self, calls: Sequence[Get]) -> list[JSON | PostroomError]:
        """In order, in as few requests as possible. A single failure does not fail the rest."""
        if len(calls) == 1:
            return [await self._alone(calls[0])]
        found: list[JSON | PostroomError] = []
        for start in range(0, len(calls), PER_BATCH):
            found += await self._batch(calls[start : start + PER_BATCH])
        return found

    async def get_present(self, calls: Sequence[Get]) -> list[JSON | None]:
        """As `get_all`: None where there is nothing; any other failure is raised."""
        found: list[JSON | None] = []
        for one in await self.get_all(calls):
            if isinstance(one, PostroomError) and not is_gone(one):
                raise one
            found.append(None if isinstance(one, PostroomError) else one)
        return found

    async def post(self, path: str, body: Mapping[str, Any], *, units: int) -> JSON:
        return _object(await self._api.write("POST", USER + path, content=dict(body), units=units))

    async def put(self, path: str, body: Mapping[str, Any], *, units: int) -> JSON:
        return _object(await self._api.write("PUT", USER + path, content=dict(body), units=units))

    async def patch(self, path: str, body: Mapping[str, Any], *, units: int) -> JSON:
        return _object(await self._api.write("PATCH", USER + path, content=dict(body), units=units))

    async def delete(self, path: str, *, units: int) -> None:
        await self._api.write("DELETE", USER + path, units=units)

    async def upload(self, method: str, path: str, described: Mapping[str, Any], raw: bytes, *, units: int) -> JSON:
        """A message with the JSON that belongs to it, without the third that base64 would add."""
        head = (
            f"--{_BOUNDARY}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{json.dumps(dict(described))}\r\n"
            f"--{_BOUNDARY}\r\nContent-Type: message/rfc822\r\n\r\n"
        )
        answer = await self._api.write(
            method,
            UPLOAD + path,
            params={"uploadType": "multipart"},
            headers={"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
            content=head.encode() + raw + f"\r\n--{_BOUNDARY}--\r\n".encode(),
            units=units,
        )
        return answer.object()

    async def listed(
        self, path: str, key: str, params: Mapping[str, Any], *, units: int, most: int | None = None
    ) -> tuple[list[JSON], bool]:
        """The first `most` entries of a list that comes in pages, and whether more follow."""
        found: list[JSON] = []
        is_more = False
        async for page, more_follow in self._pages(path, key, params, units=units, most=most):
            found += page
            is_more = more_follow
            if most is not None and len(found) >= most:
                break
        return (found, is_more) if most is None else (found[:most], is_more or len(found) > most)

    async def _pages(
        self, path: str, key: str, params: Mapping[str, Any], *, units: int, most: int | None
    ) -> AsyncIterator[tuple[list[JSON], bool]]:
        size = min(most or PER_PAGE, PER_PAGE)

        async def fetch(token: str) -> tuple[list[tuple[list[JSON], bool]], str]:
            asked = {**params, "maxResults": size, **({"pageToken": token} if token else {})}
            page = await self.get(Get(path, units, asked))
            following = text_of(page.get("nextPageToken"))
            return [(objects_of(page.get(key)), bool(following))], following

        async for (one,) in pages(fetch):
            yield one

    async def _alone(self, call: Get) -> JSON | PostroomError:
        try:
            return await self.get(call)
        except PostroomError as error:
            if isinstance(error, RateLimited):
                raise
            return error

    async def _batch(self, calls: Sequence[Get]) -> list[JSON | PostroomError]:
        """What was refused for the time being is asked for again, without what has been answered."""
        found: dict[int, JSON | PostroomError] = {}

        async def ask() -> None:
            missing = [number for number in range(len(calls)) if number not in found or _is_for_later(found[number])]
            answers = await self._asked([calls[number] for number in missing])
            found.update(zip(missing, answers, strict=True))
            if later := next((one for one in found.values() if _is_for_later(one)), None):
                raise later

        try:
            await self._retry.repeat(ask)
        except PostroomError as error:
            if isinstance(error, RateLimited) or not any(one is error for one in found.values()):
                raise
        return [found[number] for number in range(len(calls))]

    async def _asked(self, calls: Sequence[Get]) -> list[JSON | PostroomError]:
        answer = await self._api.read(
            BATCH,
            method="POST",
            headers={"Content-Type": batch.CONTENT_TYPE},
            content=batch.written(calls),
            units=sum(call.units for call in calls),
        )
        return [self._read(answer, one) for one in batch.read(answer, calls)]

    def _read(self, outer: Answer, inner: Answer | None) -> JSON | PostroomError:
        if inner is None:
            return ProviderUnavailable(f"{outer.host} left a part of a batch unanswered. Try again later.")
        problem = read_problem(inner)
        if not inner.is_success or problem is not None:
            error = error_of(inner, problem, account=self._account, now=time.time())
            if isinstance(error, RateLimited):  # of the whole mailbox; any other is about this one request
                self._api.heed(error)
            return error
        try:
            return inner.object()
        except ProviderError as error:
            return error


def _is_for_later(found: JSON | PostroomError) -> TypeGuard[PostroomError]:
    return isinstance(found, PostroomError) and found.retryable


def is_gone(error: PostroomError) -> bool:
    """An id that Gmail cannot have given out is a bad request to it; for a caller it names nothing."""
    return isinstance(error, NotFound) or error.details.get("reason") == "invalidArgument"


def _object(answer: Answer) -> JSON:
    """Some changes are answered with nothing at all."""
    return answer.object() if answer.body.strip() else {}
