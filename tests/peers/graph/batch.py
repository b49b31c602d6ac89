"""``$batch``: up to twenty requests as JSON. The outer answer is 200 whatever became of the inner ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from tests.peers.graph.errors import Refused, bad
from tests.peers.web.messages import Answer, Request

MOST = 20


def answer(request: Request, inner_answer: Callable[[Request], Answer]) -> Answer:
    try:
        given = _requests(request)
    except Refused as refused:
        return refused.answer()
    done: dict[str, dict[str, Any]] = {}
    for each in given:
        failed = [one for one in each.get("dependsOn", []) if done[one]["status"] >= 400]
        if failed:
            answered = Refused(424, "A request this one depends on failed.", "FailedDependency").answer()
        else:
            answered = inner_answer(_inner(each, request))
        done[each["id"]] = {"id": each["id"], **_shown(answered)}
    return Answer.of_json({"responses": list(reversed(done.values()))})  # in no particular order


def _requests(request: Request) -> list[dict[str, Any]]:
    try:
        given = json.loads(request.body)["requests"]
    except (ValueError, KeyError, TypeError):
        raise bad("Invalid batch payload format.") from None
    if not isinstance(given, list) or not 1 <= len(given) <= MOST:
        raise bad(f"Number of batch request steps exceeds the maximum value of {MOST}.")
    ids = [str(each.get("id", "")) for each in given]
    if "" in ids or len(set(ids)) != len(ids):
        raise bad("Each request of a batch needs an id of its own.")
    for each in given:
        has_type = any(name.lower() == "content-type" for name in each.get("headers") or {})
        if "body" in each and not has_type:
            raise bad(f"Write request id : {each['id']} does not contain Content-Type header or body.")
    return given


def _inner(each: dict[str, Any], outer: Request) -> Request:
    """The headers of the batch are not those of its requests, but for the token."""
    path, _, query = str(each.get("url", "")).partition("?")
    headers = {name.lower(): str(value) for name, value in (each.get("headers") or {}).items()}
    headers.setdefault("authorization", outer.header("authorization"))
    body = b"" if "body" not in each else json.dumps(each["body"]).encode()
    return Request(str(each.get("method", "")).upper(), f"/v1.0/{path.lstrip('/')}", query, headers, body)


def _shown(answered: Answer) -> dict[str, Any]:
    """JSON as it is, anything else in base64."""
    headers = {"Content-Type": answered.headers.get("content-type", "application/json")}
    headers |= {name.title(): value for name, value in answered.headers.items() if name == "retry-after"}
    shown: dict[str, Any] = {"status": answered.status, "headers": headers}
    if answered.body:
        is_json = "json" in headers["Content-Type"]
        shown["body"] = json.loads(answered.body) if is_json else base64.b64encode(answered.body).decode()
    return shown
