"""Gmail's search language, read strictly and applied to one mail.

Gmail itself guesses what an unbalanced quote or an unknown operator may mean; here they are refused, so that nothing
can come to rely on a guess. Words match whole words, never parts of them. As in Gmail's own search, mails in Trash and
Spam are found only by a query that says so (in:anywhere, in:trash, in:spam).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.peers.gmail_mail import Mail, Words, words

LONGEST = 1500  # characters

Test = Callable[[Mail], bool]
Leaf = Callable[[str, str], Callable[[Any], bool]]  # what a field and a value mean for one mail

_TOKEN = re.compile(
    r'\s+|[(){}]|-(?=[^\s)}])|"(?P<phrase>[^"]*)"|(?P<field>[a-z_0-9]+):(?=[^\s)}])|(?P<word>[^\s(){}"]+)'
)
_SIZE = re.compile(r"(\d+)([KM]?)\Z", re.IGNORECASE)
_SPAN = re.compile(r"(\d+)([dmy])\Z")
_DAYS = {"d": 1, "m": 30, "y": 365}
_PLACES = {
    "inbox": "INBOX",
    "sent": "[Gmail]/Sent Mail",
    "drafts": "[Gmail]/Drafts",
    "trash": "[Gmail]/Trash",
    "spam": "[Gmail]/Spam",
}
_HIDDEN = ("[Gmail]/Trash", "[Gmail]/Spam")
_FLAGS: dict[str, Test] = {
    "unread": lambda mail: "\\seen" not in mail.flags,
    "read": lambda mail: "\\seen" in mail.flags,
    "starred": lambda mail: "\\flagged" in mail.flags,
    "important": lambda mail: "\\Important" in mail.labels,
}


class BadQuery(Exception):
    pass


def parse_query(text: str) -> Test:
    """A query without any condition matches every mail."""
    test, names_hidden = read_query(text, leaf)
    return test if names_hidden else lambda mail: mail.folder not in _HIDDEN and test(mail)


def read_query(text: str, leaf: Leaf) -> tuple[Callable[[Any], bool], bool]:
    """A test made of what `leaf` says of each term, and whether the query itself speaks of Trash and Spam."""
    if len(text) > LONGEST:
        raise BadQuery("too long")
    parser = _Parser(list(_tokens(text)), leaf)
    test = parser.conjunction("")
    if parser.next() is not None:
        raise BadQuery("a bracket is closed that was never opened")
    return test, parser.names_hidden


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise BadQuery(f"nothing can begin with {text[at]!r} here")
        at = token.end()
        if not token[0].isspace():
            yield token


class _Parser:
    """Side by side means AND; OR joins its two neighbours and binds tighter."""

    def __init__(self, tokens: list[re.Match[str]], leaf: Leaf) -> None:
        self._tokens = tokens
        self._meaning = leaf
        self.names_hidden = False

    def next(self) -> re.Match[str] | None:
        return self._tokens[0] if self._tokens else None

    def _take(self) -> re.Match[str]:
        if not self._tokens:
            raise BadQuery("something is missing at the end")
        return self._tokens.pop(0)

    def conjunction(self, closing: str, field: str = "") -> Test:
        tests: list[Test] = []
        while (token := self.next()) is not None and token[0] not in (")", "}"):
            if token["word"] == "AND" and tests:
                self._take()
            tests.append(self._alternatives(field))
        self._close(closing)
        return lambda mail: all(test(mail) for test in tests)

    def _any_of(self, field: str) -> Test:
        tests: list[Test] = []
        while (token := self.next()) is not None and token[0] not in (")", "}"):
            tests.append(self._alternatives(field))
        self._close("}")
        return lambda mail: any(test(mail) for test in tests)

    def _close(self, closing: str) -> None:
        if closing and self._take()[0] != closing:
            raise BadQuery("brackets do not match")

    def _alternatives(self, field: str) -> Test:
        tests = [self._single(field)]
        while (token := self.next()) is not None and token["word"] == "OR":
            self._take()
            tests.append(self._single(field))
        return lambda mail: any(test(mail) for test in tests)

    def _single(self, field: str) -> Test:
        token = self._take()
        if token[0] == "-":
            inner = self._single(field)
            return lambda mail: not inner(mail)
        if token[0] == "(":
            return self.conjunction(")", field)
        if token[0] == "{":
            return self._any_of(field)
        if token["field"]:
            if field:
                raise BadQuery("an operator inside an operator")
            return self._single(token["field"])
        if token["word"] in ("OR", "AND") or token[0] in (")", "}"):
            raise BadQuery(f"{token[0]} joins nothing")
        return self._leaf(field, token["phrase"] if token["word"] is None else token["word"])

    def _leaf(self, field: str, value: str) -> Test:
        if field in ("in", "label") and value.lower() in ("anywhere", "trash", "spam"):
            self.names_hidden = True
        return self._meaning(field, value)


def leaf(field: str, value: str) -> Test:
    if field in _MEASURED:
        read, holds = _MEASURED[field]
        limit = read(value)
        return lambda mail: holds(mail, limit)
    match field:
        case "":
            return holding(value, "from", "to", "cc", "bcc", "subject", "body")
        case "from" | "cc" | "bcc" | "subject":
            return holding(value, field)
        case "to":
            return holding(value, "to", "cc", "bcc")
        case "filename":
            return lambda mail: any(is_within(words(value), name) for name in mail.filenames)
        case "has" if value == "attachment":
            return lambda mail: mail.has_attachment
        case "is" if value in _FLAGS:
            return _FLAGS[value]
        case "in" if value == "anywhere":
            return lambda mail: True
        case "in" | "label":
            return lambda mail: _PLACES.get(value.lower(), value) == mail.folder or value in mail.labels
        case "rfc822msgid":
            return lambda mail: mail.message_id.strip("<>") == value.strip("<>")
    raise BadQuery(f"{field}:{value} means nothing")


def holding(value: str, *fields: str) -> Test:
    sought = words(value)
    return lambda mail: any(is_within(sought, mail.body if f == "body" else mail.headers[f]) for f in fields)


def is_within(sought: Words, row: Words) -> bool:
    """These very words, one after the other. No words at all are found everywhere."""
    return any(row[at : at + len(sought)] == sought for at in range(len(row) - len(sought) + 1))


def _size(value: str) -> int:
    if not (found := _SIZE.match(value)):
        raise BadQuery(f"{value} is no size")
    return int(found[1]) * {"": 1, "K": 2**10, "M": 2**20}[found[2].upper()]


def _ago(value: str) -> datetime:
    if not (found := _SPAN.match(value)):
        raise BadQuery(f"{value} is no span of time")
    return datetime.now(UTC) - timedelta(days=int(found[1]) * _DAYS[found[2]])


def _moment(value: str) -> datetime:
    """Seconds since 1970, or a day: its midnight in California, all year round."""
    try:
        if value.isdigit() and len(value) > 8:
            return datetime.fromtimestamp(int(value), UTC)
        return datetime.strptime(value.replace("-", "/"), "%Y/%m/%d").replace(tzinfo=UTC) + timedelta(hours=8)
    except ValueError:
        raise BadQuery(f"{value} is no date") from None


_MEASURED: dict[str, tuple[Callable[[str], Any], Callable[[Mail, Any], bool]]] = {
    "larger": (_size, lambda mail, size: mail.size >= size),
    "size": (_size, lambda mail, size: mail.size >= size),
    "smaller": (_size, lambda mail, size: mail.size < size),
    "after": (_moment, lambda mail, moment: mail.arrived >= moment),
    "newer": (_moment, lambda mail, moment: mail.arrived >= moment),
    "before": (_moment, lambda mail, moment: mail.arrived < moment),
    "older": (_moment, lambda mail, moment: mail.arrived < moment),
    "newer_than": (_ago, lambda mail, moment: mail.arrived >= moment),
    "older_than": (_ago, lambda mail, moment: mail.arrived < moment),
}
