"""What was asked over stdin and has no answer yet: the end of the input waits for it.

The SDK ends a conversation with its input and cancels what is in progress. A program that writes its requests, closes
its end and then reads would get no answer to its last ones.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

import anyio
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError

BAD_ID = "Invalid request: the id must be a string or a whole number."
LONGEST_WAIT = 30.0  # seconds, as for a server over HTTP that is told to stop
_LISTEN = "subscriptions/listen"  # is answered when the client is gone


class Unanswered:
    """Requests in both directions. One that waits for an answer of the client will not get any.

    As in the SDK, "7" and 7 are one id, and a client that uses one twice gets two answers.
    """

    def __init__(self) -> None:
        self._asked_by_client: Counter[RequestId] = Counter()
        self._asked_by_us: set[RequestId] = set()
        self._changed = anyio.Event()
        self._is_hopeless = False

    def give_up(self) -> None:
        """The client does not read any more."""
        self._is_hopeless = True
        self._changed.set()

    def asked(self, number: RequestId) -> None:
        """By the client."""
        self._asked_by_client[coerce_request_id(number)] += 1

    def settled(self, number: RequestId) -> None:
        """Answered by us."""
        self._settle(number)
        self._changed.set()

    def heard(self, item: SessionMessage | Exception) -> None:
        match item.message if isinstance(item, SessionMessage) else None:
            case JSONRPCRequest(id=number, method=method) if method != _LISTEN:
                self.asked(number)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._settle(cancelled_request_id_from_params(params))
            case JSONRPCResponse(id=number) | JSONRPCError(id=int() | str() as number):
                self._asked_by_us.discard(number)

    def said(self, item: SessionMessage) -> None:
        match item.message:
            case JSONRPCRequest(id=number):
                self._asked_by_us.add(number)
            case JSONRPCResponse(id=number) | JSONRPCError(id=int() | str() as number):
                self._settle(number)
        self._changed.set()

    async def answered(self) -> None:
        """Returns when nothing more can be answered, or it took too long."""
        with anyio.move_on_after(LONGEST_WAIT):
            while not self._is_hopeless and len(self._asked_by_client) > len(self._asked_by_us):
                self._changed = anyio.Event()
                await self._changed.wait()

    def _settle(self, number: RequestId | None) -> None:
        if number is None or (key := coerce_request_id(number)) not in self._asked_by_client:
            return
        self._asked_by_client[key] -= 1
        if not self._asked_by_client[key]:
            del self._asked_by_client[key]


class Receiver(Protocol):
    """Where messages come from."""

    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class UnusableId(Exception):
    """Of a request, which the SDK takes for a notification."""


class Closing:
    """A stream, which the SDK closes when the conversation ends."""

    async def aclose(self) -> None:
        """Nothing more is read or written."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Heard(Closing):
    """The client's messages; they end when the last one is answered. A line that is none is answered here: the SDK
    drops it in silence, and a client that waits would wait for ever."""

    def __init__(self, stream: Receiver, unanswered: Unanswered, said: Said) -> None:
        self._read = stream
        self._unanswered, self._said = unanswered, said

    async def aclose(self) -> None:
        await self._read.aclose()

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._read.receive()
        except anyio.EndOfStream:
            await self._unanswered.answered()
            raise
        if isinstance(item, ValidationError | UnusableId):
            with suppress(anyio.BrokenResourceError):  # whoever does not read is not told, and reading ends
                await self._said.send(SessionMessage(_refusal(item)))
        self._unanswered.heard(item)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _refusal(problem: ValidationError | UnusableId) -> JSONRPCError:
    """Without anything of the line. Its id, if it has one, is not known."""
    if isinstance(problem, UnusableId):
        error = ErrorData(code=INVALID_REQUEST, message=BAD_ID)
    elif any(error["type"] == "json_invalid" for error in problem.errors(include_url=False, include_context=False)):
        error = ErrorData(code=PARSE_ERROR, message="Parse error: the line is not valid JSON.")
    else:
        error = ErrorData(code=INVALID_REQUEST, message="Invalid request: the line is not one JSON-RPC message.")
    return JSONRPCError(jsonrpc="2.0", id=None, error=error)


class Said(Closing):
    """Our messages, each noted once it is on its way out."""

    def __init__(self, stream: WriteStream[SessionMessage], unanswered: Unanswered) -> None:
        self._written = stream
        self._unanswered = unanswered

    async def aclose(self) -> None:
        await self._written.aclose()

    async def send(self, item: SessionMessage, /) -> None:
        await self._written.send(item)
        self._unanswered.said(item)
