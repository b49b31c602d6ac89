"""Batches: up to a hundred calls in one multipart body. The outer answer is 200 whatever became of the inner ones."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from http import HTTPStatus

from tests.peers.gmail.errors import Refused, bad
from tests.peers.gmail.multipart import headed, parts
from tests.peers.web.messages import Answer, Request

MOST = 100


def answer(request: Request, inner_answer: Callable[[Request, int], Answer]) -> Answer:
    """`inner_answer` gets each call and how many of this batch are under way with it."""
    try:
        calls = parts(request.body, request.header("content-type"))
        if not calls:
            raise bad("The batch request is empty", "badRequest")
        if len(calls) > MOST:
            raise bad(f"The batch request has {len(calls)} calls, at most {MOST} are allowed", "badRequest")
        inner = [(header.get("content-id", ""), _request(content, request)) for header, content in calls]
    except Refused as refused:
        return refused.answer()
    boundary = f"batch_{secrets.token_urlsafe(16)}"
    done = [_part(given, inner_answer(call, number)) for number, (given, call) in enumerate(inner, 1)]
    body = b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), part) for part in done) + f"--{boundary}--".encode()
    return Answer(200, body, {"content-type": f"multipart/mixed; boundary={boundary}"})


def _request(content: bytes, outer: Request) -> Request:
    line, _, rest = content.lstrip().partition(b"\n")
    found = re.match(r"([A-Z]+) (?:https?://[^/ ]+)?([^?\s]+)\??(\S*)", line.decode("latin-1"))
    if not found:
        raise bad("Failed to parse a part of the batch request", "badRequest")
    headers, _, body = headed(rest)
    if "authorization" not in headers and outer.header("authorization"):
        headers["authorization"] = outer.header("authorization")
    return Request(found[1], found[2], found[3], headers, body)


def _part(content_id: str, answer: Answer) -> bytes:
    given = re.sub(r"^<?", "<response-", content_id.rstrip(">")) + ">" if content_id else ""
    head = "Content-Type: application/http\r\n" + (f"Content-ID: {given}\r\n" if given else "")
    headers = "".join(f"{name.title()}: {value}\r\n" for name, value in answer.headers.items())
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = ""
    status = f"HTTP/1.1 {answer.status} {phrase}\r\n{headers}Content-Length: {len(answer.body)}\r\n"
    return f"{head}\r\n{status}\r\n".encode() + answer.body
