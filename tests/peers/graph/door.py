"""Who is let in, and with what: routes, tokens, scopes, limits, and the OpenAPI document on both ways."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.peers.graph import attachments
from tests.peers.graph.call import Call
from tests.peers.graph.errors import Refused, bad, denied
from tests.peers.graph.handlers import HANDLERS
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.operations import Operation, find
from tests.peers.graph.uploads import PATH as UPLOAD
from tests.peers.oauth.tokens import AccessToken
from tests.peers.web.messages import Answer, Recorded, Request

if TYPE_CHECKING:
    from tests.peers.graph.service import FakeGraph

_PATH = re.compile(r"/v1\.0/(?:me|users/(?P<user>[^/]+))(?:/(?P<below>.+))?\Z")
BATCH = "/v1.0/$batch"


def operation_in(request: Request) -> str:
    if unquote(request.path) == BATCH:
        return "batch"
    if UPLOAD.match(request.path):
        return "upload"
    found = _route(request)
    return found[1].name if found else ""


def _route(request: Request) -> tuple[re.Match[str], Operation, dict[str, str]] | None:
    path = _PATH.match(request.path.replace("%24", "$"))
    found = find(request.method, path["below"] or "") if path else None
    return (path, *found) if path and found else None


class Door:
    def __init__(self, graph: FakeGraph) -> None:
        self._graph = graph

    def answer(self, request: Request, recorded: Recorded, under_way: int) -> Answer:
        try:
            return self._answer(request, recorded, under_way)
        except Refused as refused:
            return refused.answer()

    def _answer(self, request: Request, recorded: Recorded, under_way: int) -> Answer:
        if recorded.operation == "upload":
            return self._graph.uploads.answer(request, attachments.put)
        route = _route(request)
        if route is None:
            segment = unquote(request.path.rpartition("/")[2])
            raise bad(f"Resource not found for the segment '{segment}'.", "BadRequest")
        path, operation, parts = route
        token, mailbox = self._let_in(request, operation, unquote(path["user"] or ""))
        recorded.user = mailbox.address
        self._refuse_too_much(request, under_way)
        call = Call(self._graph, mailbox, token, operation, parts, request, self._body(request))
        return self._run(call)

    def owner_of(self, request: Request) -> tuple[AccessToken, Mailbox]:
        """Whose token it is; a refusal where it is nobody's."""
        scheme, _, text = request.header("authorization").partition(" ")
        token = self._graph.tokens.valid(text.strip()) if scheme.lower() == "bearer" else None
        owner = self._graph.users.get(token.user.lower()) if token else None
        if token is None or owner is None:
            said = "Lifetime validation failed, the token is expired." if text else "Access token is empty."
            raise Refused(401, said, "InvalidAuthenticationToken")
        return token, owner

    def _let_in(self, request: Request, operation: Operation, user: str) -> tuple[AccessToken, Mailbox]:
        token, owner = self.owner_of(request)
        mailbox = self._graph.find_user(user) if user else owner
        if mailbox is None:
            raise Refused(404, f"Resource '{user}' does not exist.", "ErrorInvalidUser")
        needed = operation.scopes if mailbox is owner else {f"{scope}.Shared" for scope in operation.scopes}
        if token.scopes.isdisjoint(needed):
            raise denied()
        if mailbox is not owner and owner.address.lower() not in mailbox.delegates:
            raise denied()
        if not mailbox.is_enabled and operation.name != "user.get":
            text = "The mailbox is either inactive, soft-deleted, or is hosted on-premise."
            raise Refused(404, text, "MailboxNotEnabledForRESTAPI")
        return token, mailbox

    def _refuse_too_much(self, request: Request, under_way: int) -> None:
        if self._graph.at_once is not None and under_way > self._graph.at_once:
            headers = {"retry-after": "1"}
            raise Refused(
                429, "Application is over its MailboxConcurrency limit.", "ApplicationThrottled", headers=headers
            )
        if len(request.body) > self._graph.largest:
            raise Refused(413, "The request is larger than 4 MB.", "RequestEntityTooLarge")

    def _body(self, request: Request) -> dict[str, Any]:
        if request.method in ("GET", "DELETE") or not request.body or "text/plain" in request.header("content-type"):
            return {}
        if "application/json" not in request.header("content-type"):
            raise Refused(415, "The media type is not supported.", "UnsupportedMediaType")
        try:
            value = json.loads(request.body)
        except ValueError:
            raise bad("Unable to read JSON request payload. Please ensure Content-Type header is set.") from None
        if not isinstance(value, dict):
            raise bad("A JSON object was expected.")
        return value

    def _run(self, call: Call) -> Answer:
        described = self._check(call)
        value = HANDLERS[call.operation.name](call)
        if isinstance(value, Answer):
            return value
        if described and self._graph.spec:
            found = self._graph.spec.misfits_of_answer(described, value)
            assert not found, f"{call.operation.name} answered what the OpenAPI document does not allow: {found[:3]}"
        status = call.operation.success
        return Answer(status) if value is None else Answer.of_json(value, status)

    def _check(self, call: Call) -> dict[str, Any] | None:
        """Against the OpenAPI document, where there is one."""
        if not self._graph.spec:
            return None
        described = self._graph.spec.operation(call.operation.spec_path, call.operation.verb)
        if described is None:
            return None
        found = list(self._graph.spec.misfits_of_params(described, call.request.params))
        if call.operation.verb in ("POST", "PATCH") and "text/plain" not in call.request.header("content-type"):
            found += self._graph.spec.misfits_of_body(described, call.body)
        if found:
            raise bad(found[0], "RequestBodyRead")
        return described
