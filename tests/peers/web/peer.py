"""A web service in a thread: subclasses say how a request is answered, this says how it fails and what is recorded."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from tests.peers.web.faults import Fault, Faults
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.serving import serving


class Cut(Exception):
    """The connection is to end here, without a (further) byte."""


class WebPeer(Faults):
    """`requests` is all that was asked so far. `problems` are mistakes of the peer itself: `run` ends with them.

    State is guarded by `lock`: requests are answered one at a time, in the thread of the server.
    """

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self.requests: list[Recorded] = []
        self.problems: list[str] = []
        self.lock = threading.RLock()
        self.in_flight: Counter[str] = Counter()  # by the Authorization header

    # What subclasses say

    def operation_of(self, request: Request) -> str:
        raise NotImplementedError

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        raise NotImplementedError

    def error(self, fault: Fault) -> Answer:
        """The error a test asked for, in the shape of this service."""
        raise NotImplementedError

    # What a test author uses

    @contextmanager
    def run(self) -> Iterator[Self]:
        with serving(self) as self.url:
            try:
                yield self
            finally:
                self._release_all()
        assert not self.problems, "\n\n".join(self.problems)

    def count(self, operation: str) -> int:
        return sum(recorded.operation == operation for recorded in self.requests)

    def forget(self) -> None:
        """Start counting anew."""
        self.requests.clear()

    # How it is served

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        request = await _read(scope, receive)
        caller = request.header("authorization")
        self.in_flight[caller] += 1
        try:
            answer, whole = await self._answer(request)
            await _send(send, answer, whole=whole)
            if whole:
                return
            scope["state"]["transport"].close()  # what was written still leaves
        except Cut:
            scope["state"]["transport"].abort()
        finally:
            self.in_flight[caller] -= 1
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _answer(self, request: Request) -> tuple[Answer, bool]:
        """The answer, and whether all of it is to be sent."""
        recorded, fault = self._begin(request)
        if fault and not fault.after_effect and fault.kind == "hold":
            await _wait(fault)
        if fault and not fault.after_effect and fault.kind != "hold":
            answer = self._faulty(fault, None)
        else:
            answer = self._effect(request, recorded)
            if fault and fault.after_effect:
                if fault.kind == "hold":
                    await _wait(fault)
                answer = self._faulty(fault, answer)
        recorded.status, recorded.sent = answer.status, len(answer.body)
        return answer, fault is None or fault.kind != "truncate"

    def _begin(self, request: Request, *, in_batch: bool = False) -> tuple[Recorded, Fault | None]:
        operation = self.operation_of(request)
        headers = {name: value for name, value in request.headers.items() if name != "authorization"}
        recorded = Recorded(
            request.method, request.path, request.params, operation, len(request.body), headers, in_batch=in_batch
        )
        self.requests.append(recorded)
        return recorded, self._take(request.method, operation, request.path)

    def _effect(self, request: Request, recorded: Recorded) -> Answer:
        with self.lock:
            try:
                return self.respond(request, recorded)
            except Cut:
                raise
            except Exception:
                self.problems.append(f"{request.method} {request.path}:\n{traceback.format_exc()}")
                return Answer(500, b"the fake itself failed; see its problems")

    def answer_in_batch(self, request: Request, respond: Callable[[Request, Recorded], Answer]) -> Answer:
        """One request of a batch, recorded by itself, with the fault that was asked for it."""
        recorded, fault = self._begin(request, in_batch=True)
        assert fault is None or fault.kind in ("error", "answer", "cut"), f"{fault.kind} the batch, not a call in it"
        if fault and not fault.after_effect:
            answer = self._faulty(fault, None)
        else:
            answer = respond(request, recorded)
            answer = self._faulty(fault, answer) if fault else answer
        recorded.status, recorded.sent = answer.status, len(answer.body)
        return answer

    def _faulty(self, fault: Fault, answer: Answer | None) -> Answer:
        match fault.kind:
            case "cut":
                raise Cut
            case "error":
                failed = self.error(fault)
                return replace(failed, headers={**failed.headers, **fault.headers})
            case "answer":
                assert fault.answer is not None
                return fault.answer
            case _:
                assert answer is not None
                return answer


async def _wait(fault: Fault) -> None:
    assert fault.hold is not None
    fault.hold.reached.set()
    await asyncio.to_thread(fault.hold.released.wait)


async def _read(scope: Any, receive: Any) -> Request:
    body = bytearray()
    while (event := await receive())["type"] == "http.request":
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    path = scope.get("raw_path") or scope["path"].encode()
    return Request(scope["method"], path.decode("latin-1"), scope["query_string"].decode(), headers, bytes(body))


async def _send(send: Any, answer: Answer, *, whole: bool) -> None:
    headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    if answer.status not in (204, 304):
        headers.append((b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = answer.body if whole else answer.body[: len(answer.body) // 2]
    await send({"type": "http.response.body", "body": body, "more_body": not whole})
