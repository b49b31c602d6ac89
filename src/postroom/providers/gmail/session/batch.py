"""Several reads in one request (multipart/mixed). The outer response is 200 whatever became of the inner ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from postroom.model.errors import ProviderUnavailable
from postroom.providers.gmail.session.wire import Get
from postroom.providers.http.answer import Answer

BOUNDARY = "postroom_batch"
CONTENT_TYPE = f"multipart/mixed; boundary={BOUNDARY}"

_NUMBER = re.compile(rb"^content-id:[ \t]*<?response-(\d+)>?[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_STATUS = re.compile(rb"HTTP/[\d.]+ (\d{3})")
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)"?', re.IGNORECASE)
_BLANK = re.compile(rb"\r?\n\r?\n")


def written(calls: Sequence[Get]) -> bytes:
    parts = (
        f"--{BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: <{number}>\r\n\r\nGET {call.target}\r\n\r\n"
        for number, call in enumerate(calls)
    )
    return ("".join(parts) + f"--{BOUNDARY}--\r\n").encode("ascii")


def read(answer: Answer, calls: Sequence[Get]) -> list[Answer | None]:
    """The answers in the order of the calls; None for one that is missing from the response."""
    import httpx2

    found: dict[int, Answer] = {}
    for part in _parts(answer):
        head, inner_head, body = _split(part)
        number, status = _NUMBER.search(head), _STATUS.match(inner_head)
        if number is None or status is None or int(number[1]) >= len(calls):
            continue
        lines = (line.split(b":", 1) for line in inner_head.splitlines()[1:] if b":" in line)
        headers = httpx2.Headers([(name.strip(), value.strip()) for name, value in lines])
        found[int(number[1])] = Answer(answer.url, int(status[1]), headers, body)
    return [found.get(number) for number in range(len(calls))]


def refuses_token(answer: Answer) -> bool:
    """A batch is accepted with an expired token, and each call in it refused."""
    if answer.status == 401:
        return True
    if not answer.is_success or not _is_batch(answer):
        return False
    return any(b"\nHTTP/1.1 401 " in part or b"\nHTTP/1.0 401 " in part for part in _parts(answer))


def _is_batch(answer: Answer) -> bool:
    return answer.headers.get("content-type", "").lower().startswith("multipart/mixed")


def _parts(answer: Answer) -> list[bytes]:
    boundary = _BOUNDARY.search(answer.headers.get("content-type", "")) if _is_batch(answer) else None
    if boundary is None:
        raise ProviderUnavailable(f"{answer.host} did not answer a batch of requests as a batch. Try again later.")
    pieces = re.split(rb"(?:\A|\r?\n)--" + re.escape(boundary[1].encode()) + rb"(?:--)?[ \t]*(?:\r?\n|\Z)", answer.body)
    return [piece for piece in pieces[1:] if piece.strip()]


def _split(part: bytes) -> tuple[bytes, bytes, bytes]:
    """The part's own header, the inner response's status and header, and its body."""
    head, _, rest = _partition(part)
    inner_head, _, body = _partition(rest.lstrip(b"\r\n"))
    return head, inner_head, body


def _partition(content: bytes) -> tuple[bytes, bytes, bytes]:
    blank = _BLANK.search(content)
    if blank is None:
        return content, b"", b""
    return content[: blank.start()], blank[0], content[blank.end() :]
