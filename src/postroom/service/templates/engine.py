"""``{{ name }}``, ``{{ if name }}`` and ``{{ end }}``, and nothing else.

Values are inserted once and never read again, so a value that contains braces stays as it is. Everything is linear, and
what comes out is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from postroom.model.errors import InvalidRequest

MAX_CHARS = 400_000  # of one rendered text; the gate's own limit for a message is lower
NAME = re.compile(r"[^\W\d]\w{0,63}")
_RESERVED = ("if", "end", "else")
_MARK = re.compile(r"\\\{\{|\{\{[ \t]*([^{}\n]{0,80}?)[ \t]*\}\}|\{\{")


@dataclass(frozen=True, slots=True)
class Value:
    name: str


@dataclass(frozen=True, slots=True)
class If:
    """Its pieces are shown where the variable is not empty."""

    name: str
    pieces: tuple[str | Value, ...]


Piece = str | Value | If
Pieces = tuple[Piece, ...]


def is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None and text not in _RESERVED


def parse(text: str, where: str, first_line: int = 1) -> Pieces:
    """InvalidRequest names the line of what is not understood."""
    reader = _Reader(text, where, first_line)
    for mark in _MARK.finditer(text):
        reader.take(mark)
    return reader.finished()


def variables_in(pieces: Pieces) -> Iterator[str]:
    for piece in pieces:
        if not isinstance(piece, str):
            yield piece.name
        if isinstance(piece, If):
            yield from variables_in(piece.pieces)


def render(pieces: Pieces, shown: Callable[[str], str], is_set: Callable[[str], bool]) -> str:
    parts, length = [], 0
    for part in _parts(pieces, shown, is_set):
        parts.append(part)
        length += len(part)
        if length > MAX_CHARS:
            raise InvalidRequest(
                f"The rendered template is longer than {MAX_CHARS} characters. Use shorter values.",
                details={"field": "variables"},
            )
    return "".join(parts)


def _parts(pieces: Pieces, shown: Callable[[str], str], is_set: Callable[[str], bool]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif isinstance(piece, Value):
            yield shown(piece.name)
        elif is_set(piece.name):
            yield from _parts(piece.pieces, shown, is_set)


class _Reader:
    def __init__(self, text: str, where: str, first_line: int) -> None:
        self._text, self._where, self._first_line = text, where, first_line
        self._pieces: list[Piece] = []
        self._inner: list[str | Value] = []  # of the open condition
        self._condition, self._opened_at = "", 0
        self._position = 0

    def take(self, mark: re.Match[str]) -> None:
        inside = mark[1]
        if mark[0] == "\\{{":
            self._text_until(mark.start(), mark.end())
            self._add("{{")
        elif inside is None:
            raise self._wrong(mark.start(), "opens {{ without }} on the same line; write \\{{ for braces as they are")
        elif inside == "end" or inside.startswith("if "):
            self._text_until(*self._whole_line(mark))
            self._close(mark.start()) if inside == "end" else self._open(inside[3:].strip(), mark.start())
        elif is_name(inside):
            self._text_until(mark.start(), mark.end())
            self._add(Value(inside))
        else:
            raise self._wrong(
                mark.start(), "has {{ }} around something that is not {{ name }}, {{ if name }} or {{ end }}"
            )

    def finished(self) -> Pieces:
        if self._condition:
            raise self._wrong(self._opened_at, f"has {{{{ if {self._condition} }}}} without {{{{ end }}}}")
        self._text_until(len(self._text), len(self._text))
        return tuple(self._pieces)

    def _open(self, name: str, position: int) -> None:
        if self._condition:
            raise self._wrong(position, "has a condition inside another; close the first with {{ end }}")
        if not is_name(name):
            raise self._wrong(position, "has a condition that is not the name of a variable")
        self._condition, self._opened_at = name, position

    def _close(self, position: int) -> None:
        if not self._condition:
            raise self._wrong(position, "has {{ end }} without {{ if name }}")
        condition, inner = self._condition, tuple(self._inner)
        self._condition, self._inner = "", []
        self._pieces.append(If(condition, inner))

    def _add(self, piece: str | Value) -> None:
        (self._inner if self._condition else self._pieces).append(piece)

    def _text_until(self, end: int, go_on: int) -> None:
        if end > self._position:
            self._add(self._text[self._position : end])
        self._position = go_on

    def _whole_line(self, mark: re.Match[str]) -> tuple[int, int]:
        """A condition alone on its line takes the line with it."""
        start = self._text.rfind("\n", 0, mark.start()) + 1
        end = self._text.find("\n", mark.end())
        end = len(self._text) if end < 0 else end + 1
        is_alone = (
            start >= self._position and not (self._text[start : mark.start()] + self._text[mark.end() : end]).strip()
        )
        return (start, end) if is_alone else (mark.start(), mark.end())

    def _wrong(self, position: int, what: str) -> InvalidRequest:
        line = self._first_line + self._text.count("\n", 0, position)
        return InvalidRequest(
            f"Line {line} of {self._where} {what}.", reason="invalid_template", details={"line": line}
        )
