"""Address headers as received: groups, comments, quotes and plain mistakes, read without ever raising.

What is about to receive mail goes through `model.address.parse_address` instead, which refuses all of this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from postroom.mime.headers import decode_words
from postroom.mime.limits import MAX_ADDRESSES
from postroom.model.address import Address

_SIMPLE = re.compile(r'\s*([^"<>(),:;@\\]*?)\s*<\s*([^<>(),:;"\\\s]+)\s*>\s*\Z')
_BARE = re.compile(r'\s*([^<>(),:;"\\\s]+@[^<>(),:;"\\\s]+)\s*\Z')
_RUN = re.compile(r'[^"(),:;<>\\]+')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COMMENT = re.compile(r"\([^()]*\)")
_CONTROLS = re.compile(r"[\x00-\x20\x7f]+")


def read_addresses(text: str) -> tuple[Address, ...]:
    """Every mailbox of a To-like header whose encoded words still stand, in order."""
    if not text:
        return ()
    if '"' not in text and "(" not in text and ":" not in text and ";" not in text:
        quick = [_quick(piece) for piece in text.split(",", MAX_ADDRESSES)[:MAX_ADDRESSES] if piece.strip()]
        if all(quick):
            return tuple(address for address in quick if address)
    return tuple(_Reader(text).read())


def _quick(piece: str) -> Address | None:
    if named := _SIMPLE.match(piece):
        return Address(named[2], _name(named[1]))
    bare = _BARE.match(piece)
    return Address(bare[1]) if bare else None


def _name(text: str) -> str:
    return " ".join(decode_words(text).split())


@dataclass(slots=True)
class _Mailbox:
    """One address while it is being read."""

    words: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    angle: str | None = None

    def address(self) -> Address | None:
        words = _name(" ".join(self.words))
        if self.angle is not None:
            return self._named(self.angle, words)
        if not words:
            return None
        spec = next((word for word in reversed(words.split()) if "@" in word), "")
        if spec:
            return self._named(spec.strip("<>"), words.replace(spec, "", 1))
        return Address("", words) if " " in words or "=?" in "".join(self.words) else Address(words)

    def _named(self, email: str, words: str) -> Address:
        email = email.rpartition(":")[2] if email.startswith("@") else email  # an obsolete route
        name = words.strip() or _name(" ".join(self.comments))
        return Address(_CONTROLS.sub("", email), name)


class _Reader:
    """One pass over the header, character class by character class: linear, whatever is unclosed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._found: list[Address] = []
        self._box = _Mailbox()
        self._missing: set[str] = set()  # closing marks that do not occur any more: not looked for twice

    def read(self) -> list[Address]:
        while self._position < len(self._text) and len(self._found) < MAX_ADDRESSES:
            run = _RUN.match(self._text, self._position)
            if run:
                self._position = run.end()
                self._box.words.append(run[0].strip())
            else:
                self._special(self._text[self._position])
        self._finish()
        return self._found

    def _special(self, char: str) -> None:
        if char == '"':
            self._box.words.append(_ESCAPE.sub(r"\1", self._until('"')))
        elif char == "(":
            self._box.comments.append(self._comment())
        elif char == "<":
            self._box.angle = _COMMENT.sub("", self._until(">")).strip() or None
        elif char == ":":
            self._position += 1
            self._box = _Mailbox()  # what stood before was the name of a group
        elif char in ",;":
            self._position += 1
            self._finish()
        else:
            self._position += 1

    def _until(self, closing: str) -> str:
        """The text up to an unescaped `closing`; where nothing closes, the opening mark is a slip and is skipped."""
        start = end = self._position + 1
        if closing not in self._missing:
            while end < len(self._text) and self._text[end] != closing:
                end += 2 if self._text[end] == "\\" else 1
            if end < len(self._text):
                self._position = end + 1
                return self._text[start:end]
            self._missing.add(closing)
        self._position = start
        return ""

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
