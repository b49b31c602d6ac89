"""Partial answers: ``fields=messages(id,threadId),nextPageToken`` or ``payload/headers``."""

from __future__ import annotations

import re
from typing import Any

from tests.peers.gmail.errors import Refused

Mask = dict[str, "Mask | None"]  # None: all of it


def pick(value: Any, selector: str) -> Any:
    return _picked(value, _Reader(selector).mask()) if selector else value


class _Reader:
    def __init__(self, selector: str) -> None:
        self._selector = selector
        self._tokens: list[str] = re.findall(r"[\w*]+|[(),/]|\S", selector)

    def mask(self) -> Mask:
        mask = self._names()
        if self._tokens:
            raise self._wrong()
        return mask

    def _names(self) -> Mask:
        mask: Mask = {}
        while True:
            name = self._next()
            if not re.fullmatch(r"\w+|\*", name):
                raise self._wrong()
            mask[name] = _merged(mask.get(name, {}), self._below())
            if self._tokens[:1] != [","]:
                return mask
            self._next()

    def _below(self) -> Mask | None:
        if self._tokens[:1] == ["/"]:
            self._next()
            name = self._next()
            return {name: self._below()}
        if self._tokens[:1] == ["("]:
            self._next()
            mask = self._names()
            if self._next() != ")":
                raise self._wrong()
            return mask
        return None

    def _next(self) -> str:
        if not self._tokens:
            raise self._wrong()
        return self._tokens.pop(0)

    def _wrong(self) -> Refused:
        return Refused(
            400, f"Invalid field selection {self._selector}", "invalidParameter", location=("fields", "parameter")
        )


def _merged(one: Mask | None, other: Mask | None) -> Mask | None:
    return None if one is None or other is None else {**one, **other}


def _picked(value: Any, mask: Mask | None) -> Any:
    if mask is None or ("*" in mask and mask["*"] is None):
        return value
    if isinstance(value, list):
        return [_picked(item, mask) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {name: mask.get(name, mask.get("*")) for name in value if name in mask or "*" in mask}
    return {name: _picked(value[name], below) for name, below in inner.items()}
