"""Several requests in one (``$batch``). The outer response is 200 whatever became of the inner ones."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postroom.providers.graph.session.wire import inner, objects, prefer, query, text
from postroom.providers.http.answer import Answer

_JSON = "application/json"
_STANDARD = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `path` is below the mailbox."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def written(steps: Sequence[Step], root: str) -> dict[str, Any]:
    """The headers of a batch do not apply to its requests: each asks for immutable ids itself."""
    return {"requests": [_request(str(number), step, root) for number, step in enumerate(steps)]}


def _request(number: str, step: Step, root: str) -> dict[str, Any]:
    body = {} if step.content is None else {"body": step.content}
    kind = {"Content-Type": "application/json"} if body else {}
    headers = {"Prefer": prefer(), **kind, **step.headers}
    return {
        "id": number,
        "method": step.method,
        "url": f"{root}{step.path}{query(step.params)}",
        "headers": headers,
        **body,
    }


def refuses_token(answer: Answer) -> bool:
    """Also where a batch was accepted and the requests in it were not: the token expired in between."""
    if not answer.is_success or b'"responses"' not in answer.body[:200]:
        return answer.status == 401
    return any(one.get("status") == 401 for one in objects(inner(answer.parsed()).get("responses")))


def read(answer: Answer, count: int) -> list[Answer | None]:
    """In the order of the requests, whatever the order of the response; None for one that was left unanswered."""
    import httpx2

    found: dict[str, Answer] = {}
    for one in objects(answer.object().get("responses")):
        status, body = one.get("status"), one.get("body")
        headers = {name: str(value) for name, value in inner(one.get("headers")).items()}
        if isinstance(status, int) and text(one.get("id")):
            content, kind = _content(body)
            given = httpx2.Headers({**headers, "Content-Type": kind})
            found[one["id"]] = Answer(answer.url, status, given, content, answer.of_write)
    return [found.get(str(number)) for number in range(count)]


def _content(body: Any) -> tuple[bytes, str]:
    """What is no JSON comes in base64, of either alphabet. Text that is none could have lost bytes on its way."""
    if body is None:
        return b"", _JSON
    if isinstance(body, str):
        try:
            return base64.b64decode(body.translate(_STANDARD).encode("ascii"), validate=True), "text/plain"
        except (ValueError, binascii.Error):
            return b"", _JSON
    return json.dumps(body).encode(), _JSON
