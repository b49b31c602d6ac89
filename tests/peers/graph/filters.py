"""``$filter``: a small part of OData, read strictly, and the properties in the order in which they occur."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.peers.graph.errors import bad

Test = Callable[[dict[str, Any]], bool]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<moment>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))|(?P<number>-?\d+)"
    r"|(?P<sign>[(),:])|(?P<word>[A-Za-z_][\w/.]*))"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
}
_FUNCTIONS: dict[str, Callable[[str, str], bool]] = {
    "contains": lambda text, part: part.casefold() in text.casefold(),
    "startswith": lambda text, part: text.casefold().startswith(part.casefold()),
}
_FILTERABLE = (
    *("receivedDateTime", "sentDateTime", "isRead", "isDraft", "hasAttachments", "importance", "subject", "flag"),
    *("from", "sender", "categories", "conversationId", "internetMessageId", "parentFolderId", "id"),
    *("inferenceClassification", "createdDateTime", "lastModifiedDateTime", "toRecipients", "ccRecipients"),
)
_MOST_NODES = 100


class Filter:
    """`test` is applied to a message as it is shown."""

    def __init__(self, text: str) -> None:
        self.properties: list[str] = []
        self._tokens = list(_tokens(text))
        self._nodes = 0
        self.test = self._any()
        if self._tokens:
            raise _syntax(text)

    def _any(self) -> Test:
        tests = [self._all()]
        while self._next("or"):
            tests.append(self._all())
        return lambda value: any(test(value) for test in tests)

    def _all(self) -> Test:
        tests = [self._one()]
        while self._next("and"):
            tests.append(self._one())
        return lambda value: all(test(value) for test in tests)

    def _one(self) -> Test:
        self._count()
        if self._next("not"):
            inner = self._one()
            return lambda value: not inner(value)
        if self._next("("):
            inner = self._any()
            self._take(")")
            return inner
        word = self._take()
        if word in _FUNCTIONS:
            return self._function(word)
        if word.endswith("/any"):
            return self._lambda(self._named(word.removesuffix("/any")))
        return self._comparison(self._named(word))

    def _function(self, name: str) -> Test:
        self._take("(")
        path = self._named(self._take())
        self._take(",")
        wanted = _value(self._take())
        self._take(")")
        return lambda value: _FUNCTIONS[name](str(_at(value, path) or ""), str(wanted))

    def _lambda(self, path: str) -> Test:
        """``categories/any(c:c eq 'x')`` and no more."""
        self._take("(")
        self._take()
        self._take(":")
        self._take()
        compare, wanted = self._operator()
        self._take(")")
        return lambda value: any(compare(_folded(each), _folded(wanted)) for each in _at(value, path))

    def _comparison(self, path: str) -> Test:
        compare, wanted = self._operator()
        return lambda value: compare(_folded(_at(value, path)), _folded(wanted))

    def _operator(self) -> tuple[Callable[[Any, Any], bool], Any]:
        operator = self._take()
        if operator not in _COMPARE:
            raise bad(f"Invalid filter clause: Syntax error at '{operator}'.", "ErrorInvalidUrlQueryFilter")
        self._count()
        return _COMPARE[operator], _value(self._take())

    def _named(self, path: str) -> str:
        name = path.partition("/")[0]
        if name not in _FILTERABLE:
            raise bad(f"Invalid filter clause: Could not find a property named '{name}'.", "ErrorInvalidUrlQueryFilter")
        if path not in self.properties:
            self.properties.append(path)
        return path

    def _count(self) -> None:
        self._nodes += 2
        if self._nodes > _MOST_NODES:
            raise bad(f"Invalid filter clause: The node count limit of '{_MOST_NODES}' has been exceeded.")

    def _next(self, wanted: str) -> bool:
        if self._tokens[:1] == [wanted]:
            self._tokens.pop(0)
            return True
        return False

    def _take(self, wanted: str = "") -> str:
        if not self._tokens or (wanted and self._tokens[0] != wanted):
            raise _syntax(" ".join(self._tokens))
        return self._tokens.pop(0)


def order_of(text: str) -> list[tuple[str, bool]]:
    """Property and whether it falls, for each part of an ``$orderby``."""
    found = []
    for part in text.split(","):
        name, _, direction = part.strip().partition(" ")
        if direction.strip().lower() not in ("", "asc", "desc") or not name:
            raise bad(f"Syntax error at position 0 in '{text}'.", "BadRequest")
        found.append((name, direction.strip().lower() == "desc"))
    return found


def is_efficient(order: list[tuple[str, bool]], filtered: list[str]) -> bool:
    """Every property of the order is in the filter, in the same order and before all others."""
    names = [name for name, _ in order]
    return filtered[: len(names)] == names


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        token = _TOKEN.match(text, at)
        if token is None:
            raise _syntax(text[at:])
        found.append(token[0].strip())
        at = token.end()
    return found


def _value(token: str) -> Any:
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    if token in ("true", "false"):
        return token == "true"
    if token == "null":
        return None
    if not token[:1].isdigit():
        raise _syntax(token)
    return re.sub(r"\.0*Z", "Z", token)


def _at(value: dict[str, Any], path: str) -> Any:
    found: Any = value
    for step in path.split("/"):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _folded(value: Any) -> Any:
    """Exchange compares text without regard to case."""
    return value.casefold() if isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\dT", value) else value


def _syntax(text: str) -> Exception:
    return bad(f"Invalid filter clause: Syntax error at '{text[:60]}'.", "ErrorInvalidUrlQueryFilter")
