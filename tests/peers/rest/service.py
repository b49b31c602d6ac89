"""The service: users and tokens, the way of a request to its handler, and sending between the users."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.peers.rest.outgoing import composed, problem_with
from tests.peers.rest.store import Store
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.peer import WebPeer

PASSWORD = "pa ss/wörd"


@dataclass
class User:
    address: str
    store: Store
    tokens: set[str] = field(default_factory=set)
    refresh_tokens: set[str] = field(default_factory=set)

    def new_token(self) -> str:
        self.tokens.add(token := secrets.token_urlsafe(12))
        return token


class Refused(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class RestPeer(WebPeer):
    """`names_ids` is what it calls the id of a sent message: the documents have both."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.users: dict[str, User] = {}
        self.names_ids = "message_id"
        self.largest = 20 * 2**20
        self.expires_in = 3600

    def add_user(self, address: str) -> User:
        store = Store(self.folder / f"{len(self.users)}-{secrets.token_hex(4)}.db")
        self.users[address] = User(address, store)
        return self.users[address]

    def remove_user(self, address: str) -> None:
        self.users.pop(address).store.close()

    def operation_of(self, request: Request) -> str:
        match [request.method, *request.path.split("/")[2:]]:
            case ["POST", "auth", verb]:
                return f"auth.{verb}"
            case [method, "mailboxes", *_]:
                return {"GET": "mailboxes.list", "POST": "mailboxes.create", "DELETE": "mailboxes.delete"}.get(
                    method, ""
                )
            case ["GET", "mailbox", _, "messages"]:
                return "messages.list"
            case ["POST", "message", "send"]:
                return "message.send"
            case ["GET", "message", _]:
                return "message.get"
            case ["DELETE", "message", _]:
                return "message.delete"
            case ["PATCH", "message", _, "flags"]:
                return "message.flags"
            case ["POST", "message", _, "move"]:
                return "message.move"
            case ["GET", "search"]:
                return "search"
        return ""

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        if len(request.body) > self.largest:
            return Answer.of_json({"error": "request too large"}, 413)
        try:
            if recorded.operation.startswith("auth."):
                return self._authenticated(recorded.operation, _json(request))
            user = self._user(request)
            recorded.user = user.address
            return self._handled(recorded.operation, user, request)
        except Refused as refused:
            return Answer.of_json({"error": str(refused)}, refused.status)

    def error(self, fault: Fault) -> Answer:
        return Answer.of_json({"error": fault.message or "asked to fail"}, fault.status)

    def _user(self, request: Request) -> User:
        scheme, _, token = request.header("authorization").partition(" ")
        for user in self.users.values():
            if scheme == "Bearer" and token in user.tokens:
                return user
        raise Refused(401, "invalid token")

    def _authenticated(self, operation: str, given: dict[str, Any]) -> Answer:
        if operation == "auth.login":
            user = self.users.get(str(given.get("email")))
            if user is None or given.get("password") != PASSWORD:
                raise Refused(401, "wrong email or password")
        elif operation == "auth.refresh":
            held = [user for user in self.users.values() if given.get("refresh_token") in user.refresh_tokens]
            if not held:
                raise Refused(401, "unknown refresh token")
            user = held[0]
            user.refresh_tokens.discard(str(given["refresh_token"]))
        else:
            raise Refused(404, "not found")
        user.refresh_tokens.add(refresh := secrets.token_urlsafe(12))
        return Answer.of_json({"token": user.new_token(), "refresh_token": refresh, "expires_in": self.expires_in})

    def _handled(self, operation: str, user: User, request: Request) -> Answer:
        last = [unquote(part) for part in request.path.split("/")[3:]]
        params = dict(request.params)
        match operation:
            case "mailboxes.list":
                return Answer.of_json([
                    {"name": one.name, "total": one.total, "unread": one.unread, "path": f"/{one.name}"}
                    for one in user.store.mailboxes()
                ])  # fmt: skip
            case "mailboxes.create":
                return self._created(user, str(_json(request).get("name", "")))
            case "mailboxes.delete":
                return self._deleted(user, last[0] if last else "")
            case "messages.list":
                _known(user, last[0])
                return Answer.of_json(user.store.page(last[0], **_paging(params)))
            case "search":
                return self._searched(user, params)
            case "message.send":
                return self._sent(user, _json(request))
            case "message.get" | "message.flags" | "message.move" | "message.delete":
                return self._message(operation, user, last[0], request)
        raise Refused(404, "not found")

    def _created(self, user: User, name: str) -> Answer:
        if not name:
            raise Refused(400, "name is required")
        if user.store.mailbox(name) is not None:
            raise Refused(409, "mailbox exists")
        user.store.create(name)
        return Answer.of_json({"name": name, "path": f"/{name}", "total": 0, "unread": 0}, 201)

    def _deleted(self, user: User, name: str) -> Answer:
        _known(user, name)
        for row in user.store.page(name, limit=1000):  # as the client fears: with everything in it
            self._message("message.delete", user, row["id"], None)
        user.store.delete(name)
        return Answer(204)

    def _searched(self, user: User, params: dict[str, str]) -> Answer:
        if not params.get("q"):
            raise Refused(400, "q is required")
        names = [_known(user, params["mailbox"])] if "mailbox" in params else [f.name for f in user.store.mailboxes()]
        limit, unread = int(params.get("limit", 20)), params.get("unread") == "true"
        rows = [row for name in names for row in user.store.found(params["q"], name, unread=unread, limit=limit)]
        return Answer.of_json(rows[:limit])

    def _message(self, operation: str, user: User, ref: str, request: Request | None) -> Answer:
        found = user.store.opened(ref)
        if found is None:
            raise Refused(404, "no such message")
        if operation == "message.get":
            return Answer.of_json(found)
        if operation == "message.delete":
            user.store.move(ref, next(f for f in user.store.mailboxes() if f.name == "Trash"))
            return Answer(204)
        assert request is not None
        given = _json(request)
        if operation == "message.flags":
            user.store.flag(ref, given.get("add", []), given.get("remove", []))
            return Answer(204)
        name = _known(user, str(given.get("to_mailbox", "")))
        user.store.move(ref, next(f for f in user.store.mailboxes() if f.name == name))
        return Answer.of_json({"id": ref, "mailbox": name})

    def _sent(self, user: User, given: dict[str, Any]) -> Answer:
        everyone = [*given["to"], *given["cc"], *given["bcc"]]
        if problem := problem_with(everyone, self.users):
            raise Refused(422, problem)
        raw = composed(user.address, given)
        for recipient in dict.fromkeys(everyone):
            self.users[recipient].store.add(raw)
        ref = user.store.add(raw, "Sent", ("read",))
        return Answer.of_json({self.names_ids: ref, "status": "sent"})


def _json(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(request.body)
    except ValueError:
        raise Refused(400, "body is not JSON") from None
    if not isinstance(found, dict) or not request.header("content-type").startswith("application/json"):
        raise Refused(400, "body is not a JSON object")
    return found


def _known(user: User, name: str) -> str:
    if user.store.mailbox(name) is None:
        raise Refused(404, "no such mailbox")
    return name


def _paging(params: dict[str, str]) -> dict[str, Any]:
    assert set(params) <= {"limit", "offset", "unread"}, params
    limit, offset = int(params.get("limit", 50)), int(params.get("offset", 0))
    if not 1 <= limit <= 100 or offset < 0:
        raise Refused(400, "limit out of range")
    return {"limit": limit, "offset": offset, "unread": params.get("unread") == "true"}
