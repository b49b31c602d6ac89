"""Address headers as received: groups, comments, quotes and plain mistakes, parsed without ever raising.

Addresses to send to go through `model.address.parse_address` instead, which refuses all of this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from postroom.mime.limits import MAX_ADDRESS_STEPS, MAX_ADDRESSES, MAX_EMAIL
from postroom.mime.read.headers import decode_words
from postroom.model.address import Address

_SIMPLE = re.compile(r'([^"<>(),:;@\\]*+)<([^<>(),:;"\\]*+)>\Z')
_BARE = re.compile(r'[^<>(),:;"\\\s]++\Z')
_RUN = re.compile(r'[^"(),:;<>\\]+')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COMMENT = re.compile(r"\([^()]*+\)")
_UNTIL = {
    '"': re.compile(r'((?:[^"\\]++|\\.)*+)"', re.DOTALL),
    ">": re.compile(r"((?:[^>\\]++|\\.)*+)>", re.DOTALL),
}
_LONGEST_NAME = 4_000  # characters between quotation marks: each escape in them is a step too
_CONTROLS = re.compile(r"[\x00-\x20\x7f]+")
# Bounded (RFC 5321 allows 64): it is tried at every quotation mark, and escaped ones do not end it.
_QUOTED_LOCAL = re.compile(r'"(?:[^"\\\x00-\x1f\x7f]|\\[ -~]){0,128}+"(?=@)')


_SHORT = 200  # characters of a header that is worth caching
_MOST = MAX_ADDRESSES + 1  # the extra one shows that there are too many


def read_addresses(text: str) -> tuple[Address, ...]:
    """Every mailbox of a To-like header with encoded words not yet decoded, in order; at most the first `_MOST`."""
    return addresses_in(text)[0]


def addresses_in(text: str) -> tuple[tuple[Address, ...], bool]:
    """As `read_addresses`; and whether reading stopped before the end."""
    return _usual_addresses(text) if len(text) <= _SHORT else _addresses_in(text)


def _addresses_in(text: str) -> tuple[tuple[Address, ...], bool]:
    if not text:
        return (), False
    if '"' not in text and "(" not in text and ":" not in text and ";" not in text:
        quick = [_quick(piece.strip()) for piece in text.split(",", _MOST)[:_MOST] if not piece.isspace() and piece]
        if all(quick):
            return tuple(address for address in quick if address), len(quick) >= _MOST
    reader = _Reader(text)
    return tuple(reader.read()), not reader.is_done


_usual_addresses = lru_cache(maxsize=4096)(_addresses_in)  # the same few people recur


def _quick(piece: str) -> Address | None:
    if named := _SIMPLE.match(piece):
        email = named[2].strip()
        return Address(email[:MAX_EMAIL], _name(named[1].strip())) if _BARE.match(email) else None
    return Address(piece[:MAX_EMAIL]) if "@" in piece[1:-1] and _BARE.match(piece) else None


def _name(text: str) -> str:
    return " ".join(decode_words(text).split())


@dataclass(slots=True)
class _Mailbox:
    """One address while it is being parsed."""

    words: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    angle: str | None = None
    quoted: str = ""  # "john doe"@example.com

    def address(self) -> Address | None:
        words = _name(" ".join(self.words))
        if self.angle is not None or self.quoted:
            return self._named(self.angle or self.quoted, words)
        if not words:
            return None
        spec = next((word for word in reversed(words.split()) if "@" in word), "")
        if spec:
            return self._named(spec.strip("<>"), words.replace(spec, "", 1))
        return Address("", words) if " " in words or "=?" in "".join(self.words) else Address(words[:MAX_EMAIL])

    def _named(self, email: str, words: str) -> Address:
        email = email.rpartition(":")[2] if email.startswith("@") else email  # an obsolete route
        name = words.strip() or _name(" ".join(self.comments))
        email = email[:MAX_EMAIL]
        quoted = _QUOTED_LOCAL.match(email)
        local = quoted[0] if quoted else ""
        return Address(local + _CONTROLS.sub("", email[len(local) :]), name)


class _Reader:
    """One pass over the header, character class by character class: linear, even if something is not closed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._found: list[Address] = []
        self._box = _Mailbox()
        self._steps = MAX_ADDRESS_STEPS
        self._missing: set[str] = set()  # closing marks that do not occur again: not searched for twice

    @property
    def is_done(self) -> bool:
        return self._position >= len(self._text)

    def read(self) -> list[Address]:
        while not self.is_done and self._steps and len(self._found) < _MOST:
            self._steps -= 1
            run = _RUN.match(self._text, self._position)
            if run:
                self._position = run.end()
                self._box.words.append(run[0].strip())
            else:
                self._special(self._text[self._position])
        self._finish()
        return self._found

    def _special(self, char: str) -> None:
        if char == '"' and (local := _QUOTED_LOCAL.match(self._text, self._position)):
            domain = _RUN.match(self._text, local.end())
            words = domain[0].split(None, 1) if domain else ["@"]
            self._box.quoted = local[0] + words[0]
            self._position = local.end() + len(words[0])
        elif char == '"':
            self._box.words.append(_ESCAPE.sub(r"\1", self._until('"')[:_LONGEST_NAME]))
        elif char == "(":
            self._box.comments.append(self._comment())
        elif char == "<":
            self._box.angle = _COMMENT.sub("", self._until(">")).strip() or None
        elif char == ":":
            self._position += 1
            self._box = _Mailbox()  # what came before was the name of a group
        elif char in ",;":
            self._position += 1
            self._finish()
        else:
            self._position += 1

    def _until(self, closing: str) -> str:
        """The text up to an unescaped `closing`; if nothing closes it, the opening mark is a mistake and is skipped."""
        self._position += 1
        found = _UNTIL[closing].match(self._text, self._position) if closing not in self._missing else None
        if found is None:
            self._missing.add(closing)
            return ""
        self._position = found.end()
        return found[1]

    def _comment(self) -> str:
        start, depth = self._position + 1, 0
        while self._position < len(self._text):
            char = self._text[self._position]
            depth += (char == "(") - (char == ")")
            self._position += 2 if char == "\\" else 1
            if depth == 0:
                return self._text[start : self._position - 1]
        return self._text[start:]

    def _finish(self) -> None:
        address = self._box.address()
        if address is not None:
            self._found.append(address)
        self._box = _Mailbox()
