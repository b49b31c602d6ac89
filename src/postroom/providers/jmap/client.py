"""The account's connection: login, session, requests of several calls, uploads, downloads, events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from postroom.model.errors import InvalidRequest, NotFound, PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.credentials.choosing import token_source
from postroom.providers.credentials.stored import StoredPassword
from postroom.providers.http.answer import Answer
from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.http.quota import Quota
from postroom.providers.http.unclear import UnclearWrite
from postroom.providers.jmap.session import Session, read_session, well_known
from postroom.providers.jmap.wire import CORE, MAIL, SIEVE, SUBMISSION, VACATION, Call, method_error, read_problem

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.providers.tokens import TokenSource
    from postroom.settings.accounts import JmapAccount

_AT_ONCE = 4  # what RFC 8620 suggests as the least that a server allows
_USED = (MAIL, SUBMISSION, SIEVE, VACATION)
_PAGE = "text/html"


class Replies:
    """The responses of one request, by the position of the call. A method's error is raised when it is looked at."""

    def __init__(self, host: str, calls: Sequence[Call], responses: Sequence[Any], *, of_write: bool) -> None:
        self._host = host
        self._calls = calls
        self._responses = [entry for entry in responses if isinstance(entry, list) and len(entry) == 3]
        self._of_write = of_write

    def __getitem__(self, index: int) -> dict[str, Any]:
        found = self.implied(index, self._calls[index][0])
        if found is None:
            raise self.unreadable("lacks a response")
        return found

    def implied(self, index: int, name: str) -> dict[str, Any] | None:
        """The response of that name to a call; another than the call's own where it made the server do more."""
        for got, arguments, key in self._responses:
            if key == str(index) and got == "error":
                raise method_error(self._calls[index][0], arguments)
            if key == str(index) and got == name and isinstance(arguments, dict):
                return arguments
        return None

    def unreadable(self, what: str) -> PostroomError:
        if self._of_write:
            return UnclearWrite(self._host, f"sent a response that {what}")
        return ProviderError(f"{self._host} sent a response that {what}.")


class JmapClient:
    """One per account, shared by mailbox and transport."""

    def __init__(self, account: JmapAccount, context: ProviderContext) -> None:
        self._account = account
        self._proxies = context.proxies
        self._opened: Api | None = None
        self._session: Session | None = None
        self._state = ""  # of the session, as the last response named it
        self._one_at_a_time = anyio.Lock()

    async def session(self) -> Session:
        async with self._one_at_a_time:
            if self._session is None:
                self._session = await self._found()
                self._state = self._state or self._session.state
            return self._session

    async def read(self, *calls: Call) -> Replies:
        return await self._exchanged(calls, of_write=False)

    async def write(self, *calls: Call) -> Replies:
        """Sent once. UnclearWrite when it may or may not have been done."""
        return await self._exchanged(calls, of_write=True)

    async def download(self, blob_id: str) -> bytes:
        session, api = await self.session(), self._api()
        try:
            answer = await api.read(session.download_of(blob_id))
        except NotFound:
            raise gone() from None
        if answer.is_page and answer.kind == _PAGE:  # not the server's: it was asked for another type
            raise answer.unreadable()
        return answer.body

    async def upload(self, content: bytes) -> str:
        """The blob's id. Nothing in the mailbox changes, so it may be repeated."""
        session, api = await self.session(), self._api()
        if len(content) > session.limits["maxSizeUpload"]:
            megabytes = session.limits["maxSizeUpload"] // 2**20
            raise InvalidRequest(f"The message is larger than the {megabytes} MB that this mail server accepts.")
        headers = {"Content-Type": "message/rfc822"}
        answer = await api.read(session.upload_to(), method="POST", content=content, headers=headers)
        blob_id = answer.object().get("blobId")
        if not isinstance(blob_id, str):
            raise ProviderError("The mail server stored an upload without telling its id.")
        return blob_id

    @asynccontextmanager
    async def events(self, types: str, *, ping: int) -> AsyncIterator[AsyncIterator[str]]:
        session, api = await self.session(), self._api()
        if not session.event_url:
            raise ProviderError("This mail server offers no events.")
        async with api.stream(session.events_of(types, ping=ping), silence=3.0 * ping) as lines:
            yield lines

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _exchanged(self, calls: Sequence[Call], *, of_write: bool) -> Replies:
        session, api = await self.session(), self._api()
        request = {
            "using": [CORE, *(name for name in _USED if name in session.offers)],
            "methodCalls": [
                [name, {"accountId": session.account_id, **arguments}, str(index)]
                for index, (name, arguments) in enumerate(calls)
            ],
        }
        try:
            if of_write:
                answer = await api.write("POST", session.api_url, content=request)
            else:
                answer = await api.read(session.api_url, method="POST", content=request)
        except NotFound:
            self._session = None  # it names another address by now, or will soon
            raise ProviderUnavailable(
                "The mail server has no JMAP where its session says. Try again in a moment."
            ) from None
        return self._replies(answer, calls, of_write=of_write)

    def _replies(self, answer: Answer, calls: Sequence[Call], *, of_write: bool) -> Replies:
        document = answer.object()
        responses = document.get("methodResponses")
        replies = Replies(answer.host, calls, responses if isinstance(responses, list) else [], of_write=of_write)
        if not isinstance(responses, list):
            raise replies.unreadable("has no methodResponses")
        self._noted(document.get("sessionState"))
        return replies

    def _noted(self, state: Any) -> None:
        """Another state: the session is read again before the next request. Once per state, since a server's responses
        may name another one than its session document does."""
        if isinstance(state, str) and state != self._state:
            self._state, self._session = state, None

    async def _found(self) -> Session:
        api = self._api()
        answer = await api.read(well_known(self._account.session_url), headers={"Accept": "application/json"})
        session = read_session(answer.object(), answer.url)
        for url in (session.api_url, session.upload_url, session.event_url or session.api_url):
            _require_same_host(url, answer.url)
        api.allow(session.download_url)  # Fastmail has downloads on a host of their own
        return session

    def _api(self) -> Api:
        if self._opened is None:
            self._opened = Api(
                self._account.session_url,
                new_client(proxies=self._proxies),
                account=self._account.name,
                tokens=self._login(),
                scheme="Basic" if self._account.auth == "password" else "Bearer",
                read_problem=read_problem,
                quota=Quota(at_once=_AT_ONCE),
            )
        return self._opened

    def _login(self) -> TokenSource:
        if self._account.auth == "password":
            return StoredPassword(self._account, self._account.username)
        return token_source(self._account, proxies=self._proxies)


def gone() -> NotFound:
    return NotFound(
        "The email is no longer there: it was deleted. Search again to get its current id.", reason="email_gone"
    )


def _require_same_host(url: str, session_url: str) -> None:
    """The login goes where the operator said, and to no other host that a document names."""
    if urlsplit(url)[:2] != urlsplit(session_url)[:2]:
        raise ProviderError(
            "The JMAP session of this server leads to another host, which was not used and got no login. "
            "If that host is right, set session_url to its own address."
        )
