"""The server: its session, its one address for requests, uploads, downloads and events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.peers.jmap.methods import METHODS, MOST, Refused
from tests.peers.jmap.state import State
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.peer import WebPeer

ADDRESS = "me@example.test"
ACCOUNT = "u1@example.test"  # an id that looks like an address, and is none
TOKEN = "fmu1-secret-token"
_NAMES = ("core", "mail", "submission", "sieve", "vacationresponse")


class FakeJmap(WebPeer):
    """`changes` is merged into the session; faults name a request by its first method, or by its path."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.state.identities["I0"] = {"id": "I0", "name": "Me", "email": ADDRESS}
        self.changes: dict[str, Any] = {}
        self.session_state = "s1"
        self.session_place = "/session"  # where the well-known place redirects to
        self._listeners: list[tuple[asyncio.AbstractEventLoop, asyncio.Queue[str]]] = []

    def session(self) -> dict[str, Any]:
        offers: dict[str, dict[str, Any]] = {f"urn:ietf:params:jmap:{name}": {} for name in _NAMES}
        return {
            "apiUrl": "/api/",
            "downloadUrl": "/download/{accountId}/{blobId}/{name}?type={type}",
            "uploadUrl": "/upload/{accountId}/",
            "eventSourceUrl": "/events/?types={types}&closeafter={closeafter}&ping={ping}",
            "state": self.session_state,
            "capabilities": {"urn:ietf:params:jmap:core": {"maxObjectsInGet": MOST, "maxObjectsInSet": MOST}},
            "accounts": {ACCOUNT: {"isReadOnly": False, "accountCapabilities": offers}},
            "primaryAccounts": {"urn:ietf:params:jmap:mail": ACCOUNT},
            **self.changes,
        }

    def operation_of(self, request: Request) -> str:
        if request.path != "/api/":
            return ""
        try:
            return str(json.loads(request.body)["methodCalls"][0][0])
        except (ValueError, KeyError, IndexError):
            return ""

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        if request.header("authorization") != f"Bearer {TOKEN}":
            return Answer.of_json({"type": "about:blank", "status": 401}, 401)
        if request.path == "/.well-known/jmap":
            return Answer(307, b"", {"location": self.session_place})
        if request.path == "/session":
            return Answer.of_json(self.session())
        if request.path.startswith("/upload/"):
            return Answer.of_json({"blobId": self.state.add_blob(request.body)}, 201)
        if request.path.startswith("/download/"):
            blob = self.state.blobs.get(request.path.split("/")[3])
            return Answer(404) if blob is None else Answer(200, blob, {"content-type": "application/octet-stream"})
        return self._answered(json.loads(request.body))

    def error(self, fault: Fault) -> Answer:
        kind = fault.reason or "about:blank"
        document = {"type": kind, "status": fault.status, "detail": "Dear Sir, a secret"}
        return Answer.of_json(document, fault.status)

    def _answered(self, request: dict[str, Any]) -> Answer:
        responses: list[list[Any]] = []
        for name, arguments, key in request["methodCalls"]:
            try:
                responses.append([name, self._called(name, arguments, responses), key])
            except Refused as refusal:
                responses.append(["error", {"type": refusal.kind, "description": "Dear Sir, a secret"}, key])
        return Answer.of_json({"methodResponses": responses, "sessionState": self.session_state})

    def _called(self, name: str, arguments: dict[str, Any], responses: list[list[Any]]) -> dict[str, Any]:
        if arguments.pop("accountId", None) != ACCOUNT:
            raise Refused("accountNotFound")
        if name not in METHODS:
            raise Refused("unknownMethod")
        return METHODS[name](self.state, _resolved(arguments, responses))

    # Events

    def announce(self, account: str = ACCOUNT) -> None:
        """Something changed."""
        event = json.dumps({"@type": "StateChange", "changed": {account: {"Email": "x"}}})
        for loop, queue in list(self._listeners):
            loop.call_soon_threadsafe(queue.put_nowait, f"event: state\ndata: {event}\n\n")

    def hang_up(self) -> None:
        for loop, queue in list(self._listeners):
            loop.call_soon_threadsafe(queue.put_nowait, "")

    def _release_all(self) -> None:
        super()._release_all()
        self.hang_up()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not scope["path"].startswith("/events/"):
            await super().__call__(scope, receive, send)
            return
        listener = (asyncio.get_running_loop(), asyncio.Queue[str]())
        self._listeners.append(listener)
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b": welcome\n\n", "more_body": True})
        try:
            while text := await listener[1].get():
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
        finally:
            self._listeners.remove(listener)
        scope["state"]["transport"].abort()


def _resolved(arguments: dict[str, Any], responses: list[list[Any]]) -> dict[str, Any]:
    """Back-references into responses of the same request."""
    found = {name: value for name, value in arguments.items() if not name.startswith("#")}
    for name, value in arguments.items():
        if name.startswith("#"):
            source = next(one for one in responses if one[2] == value["resultOf"])
            if source[0] != value["name"]:
                raise Refused("invalidResultReference")
            found[name[1:]] = _at(source[1], value["path"].strip("/").split("/"))
    return found


def _at(value: Any, path: list[str]) -> Any:
    """Where a ``*`` goes through a list, what is found in it is put together."""
    if not path:
        return value
    if path[0] == "*":
        return [one for item in value for one in _at(item, path[1:])]
    return _at(value[path[0]], path[1:])
