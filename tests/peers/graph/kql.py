"""``$search``: the part of KQL that Graph documents for messages, read strictly.

Words match whole words, and a word with a star their beginnings; a value in quotes is a phrase. Terms side by side must
all hold. What KQL would take for something else than was meant (an unknown property, a stray bracket) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from tests.peers.gmail_mail import Words, words
from tests.peers.graph.errors import bad
from tests.peers.graph.stored import StoredMessage, moment

Test = Callable[[StoredMessage], bool]

_TOKEN = re.compile(
    r'\s*(?:(?P<sign>[()])|(?P<field>\w+)(?P<operator>[:=<>]=?)|(?P<phrase>"[^"]*")|(?P<word>[^\s()":]+))'
)
_PLACES = {
    "": ("from", "subject", "body"),
    "participants": ("from", "to", "cc", "bcc"),
    "recipients": ("to", "cc", "bcc"),
    **{name: (name,) for name in ("from", "to", "cc", "bcc", "subject", "body", "attachment")},
}
MOST = 1000


def read_search(text: str) -> Test:
    if not re.fullmatch(r'".*"', text, re.DOTALL) or len(text) < 3:
        raise bad("Syntax error: the search clause must be in double quotes.", "BadRequest")
    inner = re.sub(r"\\(.)", r"\1", text[1:-1])
    reader = _Reader(inner)
    test = reader.any()
    if reader.rest:
        raise _syntax(inner)
    return test


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.rest: list[re.Match[str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise _syntax(text[at:])
            self.rest.append(found)
            at = found.end()

    def any(self) -> Test:
        tests = [self._all()]
        while self._next("OR"):
            tests.append(self._all())
        return lambda message: any(test(message) for test in tests)

    def _all(self) -> Test:
        tests = [self._one()]
        while self.rest and self.rest[0]["sign"] != ")" and self.rest[0]["word"] != "OR":
            self._next("AND")
            tests.append(self._one())
        return lambda message: all(test(message) for test in tests)

    def _one(self) -> Test:
        if not self.rest:
            raise _syntax(self._text)
        if self._next("NOT"):
            inner = self._one()
            return lambda message: not inner(message)
        token = self.rest.pop(0)
        if token["sign"] == "(":
            group = self.any()
            if not self.rest or self.rest.pop(0)["sign"] != ")":
                raise _syntax(self._text)
            return group
        if token["field"]:
            return self._field(token["field"].lower(), token["operator"])
        if token["sign"] or token["word"] in ("AND", "OR"):
            raise _syntax(self._text)
        return _holding("", token["phrase"] or token["word"])

    def _field(self, field: str, operator: str) -> Test:
        if not self.rest or not (value := self.rest[0]["phrase"] or self.rest[0]["word"]):
            raise _syntax(self._text)
        self.rest.pop(0)
        if field in _PLACES and field and operator == ":":
            return _holding(field, value)
        plain = value.strip('"')
        if field == "size":
            return _measured(operator, plain)
        if field == "received":
            return _received(operator, plain)
        if field in ("hasattachment", "hasattachments"):
            return lambda message: message.has_attachments is (plain.lower() == "true")
        raise bad(f"The property '{field}' cannot be searched here.", "BadRequest")

    def _next(self, word: str) -> bool:
        if self.rest and self.rest[0]["word"] == word:
            self.rest.pop(0)
            return True
        return False


def _holding(field: str, value: str) -> Test:
    sought, is_prefix = words(value.strip('"*')), value.strip('"').endswith("*")

    def holds(message: StoredMessage) -> bool:
        return any(_is_in(sought, message.content.words[place], is_prefix) for place in _PLACES[field])

    return holds


def _is_in(sought: Words, row: Words, is_prefix: bool) -> bool:
    """These words one after the other; of the last one perhaps only the beginning."""
    if not sought:
        return False
    for at in range(len(row) - len(sought) + 1):
        here = row[at : at + len(sought)]
        if here[:-1] == sought[:-1] and (here[-1].startswith(sought[-1]) if is_prefix else here[-1] == sought[-1]):
            return True
    return False


def _measured(operator: str, value: str) -> Test:
    if not value.isdigit() or operator not in (">", "<", ">=", "<="):
        raise _syntax(value)
    limit = int(value)
    return {
        ">": lambda message: len(message.raw) > limit,
        ">=": lambda message: len(message.raw) >= limit,
        "<": lambda message: len(message.raw) < limit,
        "<=": lambda message: len(message.raw) <= limit,
    }[operator]


def _received(operator: str, value: str) -> Test:
    """By days."""
    try:
        day = datetime.fromisoformat(value).date().isoformat()
    except ValueError:
        raise _syntax(value) from None
    tests: dict[str, Test] = {
        ">=": lambda message: moment(message.received)[:10] >= day,
        "<=": lambda message: moment(message.received)[:10] <= day,
    }
    if operator not in tests:
        raise _syntax(value)
    return tests[operator]


def _syntax(text: str) -> Exception:
    return bad(f"Syntax error in the search clause at '{text[:60]}'.", "BadRequest")
