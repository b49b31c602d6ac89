"""The ids of a session's requests in progress. MCP forbids a client to use one twice.

The SDK (seen in 2.3.0) files the stream of a response under the id: of two requests with one id, the first would wait
for ever while the second gets either response.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class RequestIds:
    def __init__(self) -> None:
        self._in_progress: set[tuple[str, str]] = set()

    @contextmanager
    def taken(self, session: str | None, message: Mapping[str, Any]) -> Iterator[bool]:
        """Whether the message may go on: False if the id of the request is in use."""
        if session is None or "method" not in message or "id" not in message:
            yield True
            return
        key = session, str(message["id"])  # the SDK does not tell 1 from "1" either
        if key in self._in_progress:
            yield False
            return
        self._in_progress.add(key)
        try:
            yield True
        finally:
            self._in_progress.discard(key)
