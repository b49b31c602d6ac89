"""Who is let in, and with what: routes, tokens, scopes, prices, and the discovery document on both ways."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.peers.gmail import uploads
from tests.peers.gmail.call import Call
from tests.peers.gmail.errors import Refused, bad, insufficient_scope, misfit, unauthenticated
from tests.peers.gmail.fields import pick
from tests.peers.gmail.handlers import HANDLERS
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.methods import Method, find
from tests.peers.gmail_query import BadQuery
from tests.peers.oauth.tokens import AccessToken
from tests.peers.web.messages import Answer, Recorded, Request

if TYPE_CHECKING:
    from tests.peers.gmail.service import FakeGmail

_PATH = re.compile(r"(?P<upload>/upload|/resumable/upload)?/gmail/v1/users/(?P<user>[^/]+)/(?P<below>.+)\Z")
_BATCH = re.compile(r"/batch(?:/gmail/v1)?/?\Z")
_MISSING = (
    "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
_NOT_FOUND = "<!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title><p>That's an error."


def overridden(request: Request) -> Request:
    """A GET with too long an address comes as a POST with its parameters in the body."""
    method = request.header("x-http-method-override")
    if request.method != "POST" or not method:
        return request
    return replace(request, method=method.upper(), query=request.body.decode(), body=b"")


def inner_of(request: Request) -> Request:
    """Nothing can be uploaded from within a batch."""
    return request if request.path.startswith("/gmail/") else replace(request, path="/")


def operation_in(request: Request) -> str:
    if _BATCH.match(request.path):
        return "batch"
    found = _route(request)
    return found[1].name if found else ""


def _route(request: Request) -> tuple[re.Match[str], Method, dict[str, str]] | None:
    path = _PATH.match(request.path)
    if not path:
        return None
    is_upload = path["upload"] is not None
    goes_on = is_upload and request.method == "PUT" and "upload_id=" in request.query
    for verb in ("POST", "PUT") if goes_on else (request.method,):
        found = find(verb, path["below"])
        if found and not (is_upload and found[0].upload_limit is None):
            return path, *found
    return None


class Door:
    def __init__(self, gmail: FakeGmail) -> None:
        self._gmail = gmail

    def answer(self, request: Request, recorded: Recorded, under_way: int) -> Answer:
        try:
            return self._answer(request, recorded, under_way)
        except Refused as refused:
            return refused.answer()
        except BadQuery as error:
            return bad(f"This query means nothing here, and Gmail would guess: {error}").answer()

    def _answer(self, request: Request, recorded: Recorded, under_way: int) -> Answer:
        route = _route(request)
        if route is None:
            return Answer.of_html(_NOT_FOUND, 404)
        path, method, parts = route
        token, mailbox = self._let_in(request, method, unquote(path["user"]))
        recorded.user = mailbox.address
        params = request.params
        if path["upload"]:
            return self._upload(request, recorded, Call(self._gmail, mailbox, token, method, parts, params, {}, None))
        recorded.units = self._gmail.quota.take(mailbox.address, method, under_way)
        if len(request.body) > self._gmail.json_limit:
            raise Refused(413, "Request Entity Too Large")
        body = uploads.read_json(request.body) if request.method != "GET" else {}
        return self._run(Call(self._gmail, mailbox, token, method, parts, params, body, None))

    def _let_in(self, request: Request, method: Method, user: str) -> tuple[AccessToken, Mailbox]:
        scheme, _, text = request.header("authorization").partition(" ")
        text = text if scheme.lower() == "bearer" else dict(request.params).get("access_token", "")
        if not text:
            place = ("Authorization", "header")
            raise Refused(401, _MISSING, "required", told="Login Required.", location=place)
        token = self._gmail.tokens.valid(text.strip())
        mailbox = self._gmail.users.get(token.user.lower()) if token else None
        if token is None or mailbox is None:
            raise unauthenticated()
        if token.scopes.isdisjoint(method.scopes):
            raise insufficient_scope(method.name)
        if user != "me" and user.lower() != mailbox.address.lower():
            raise Refused(403, f"Delegation denied for {mailbox.address}")
        return token, mailbox

    def _upload(self, request: Request, recorded: Recorded, call: Call) -> Answer:
        """A resumable one is paid when it is complete."""
        limit = self._gmail.limit_of(call.method)
        kind = call.text("uploadType") or call.text("upload_protocol") or "media"
        if upload_id := call.text("upload_id"):
            session = self._gmail.uploads.session(upload_id)
            if session.user != call.token.user:
                raise Refused(404, "Upload session not found")
            if (incomplete := session.take(request)) is not None:
                return incomplete
            self._gmail.uploads.end(upload_id)
            body, media = session.body, bytes(session.received)
        elif kind == "resumable":
            self._check(replace(call, body=uploads.read_json(request.body)))
            return self._gmail.uploads.begin(self._gmail.url, request, call.method, call.token.user, limit)
        else:
            body, media = uploads.whole(request, kind)
        if len(media) > limit:
            raise Refused(413, "Request Entity Too Large")
        recorded.units = self._gmail.quota.take(call.mailbox.address, call.method, 0)
        return self._run(replace(call, body=body, media=media))

    def _run(self, call: Call) -> Answer:
        self._check(call)
        call.check_metadata_scope()
        value = HANDLERS[call.method.name](call)
        if self._gmail.discovery:
            found = self._gmail.discovery.misfits_of_answer(call.method.name, value)
            assert not found, f"{call.method.name} answered what the discovery document does not allow: {found}"
        return Answer(204) if value is None else Answer.of_json(pick(value, call.text("fields")))

    def _check(self, call: Call) -> None:
        """Against the discovery document, where there is one."""
        if not self._gmail.discovery:
            return
        given: list[tuple[str, str]] = [one for one in call.params if one[0] != "upload_id"]
        found: list[Any] = list(self._gmail.discovery.misfits_of_params(call.method.name, given))
        if call.method.verb != "GET":
            found += self._gmail.discovery.misfits_of_body(call.method.name, call.body)
        if found:
            raise misfit("\n".join(complaint for _, complaint in found), found[0][0])
