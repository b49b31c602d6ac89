"""A request as it came in, an answer as it goes out, and what is remembered of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # percent-decoded by whoever routes it, so that %2F stays what it is
    query: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def params(self) -> list[tuple[str, str]]:
        return parse_qsl(self.query, keep_blank_values=True)

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_json(cls, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
        kind = {"content-type": "application/json; charset=UTF-8"}
        return cls(status, json.dumps(value, ensure_ascii=False).encode(), {**kind, **(headers or {})})

    @classmethod
    def of_html(cls, text: str, status: int) -> Answer:
        return cls(status, text.encode(), {"content-type": "text/html; charset=UTF-8"})


@dataclass(slots=True)
class Recorded:
    """One request that a peer saw. `status` is 0 while it is under way and after a cut connection."""

    method: str
    path: str
    params: list[tuple[str, str]]
    operation: str  # the peer's own name for it, as in ``drafts.send``; empty where nothing fits
    received: int  # bytes of the body
    headers: Mapping[str, str]
    user: str = ""
    units: int = 0
    status: int = 0
    sent: int = 0  # bytes of the body
    in_batch: bool = False
