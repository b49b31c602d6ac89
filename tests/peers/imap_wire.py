"""IMAP as it stands on the wire: lines with their literals, taken apart into values and put together again.

What a server must not accept is Malformed: bare line feeds, two spaces where one belongs, bytes beyond ASCII in quoted
strings (unless the connection speaks UTF-8), literals that do not wait for leave and are too long for LITERAL-.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

LONGEST_UNASKED = 4096  # bytes of a literal that may come without leave: LITERAL- (RFC 7888)

_ANNOUNCED = re.compile(rb"~?\{(\d{1,10})(\+)?\}\r\n\Z")
_LITERAL = re.compile(rb"(~)?\{(\d+)\+?\}\r\n")
_QUOTED = re.compile(rb'"((?:[^"\\\r\n]|\\["\\])*)"')
_ATOM = re.compile(rb"[^\s(){\"\x00-\x1f\x7f-\xff\[\]]*(?:\[[^\]\r\n]*\][^\s(){\"\x00-\x1f\x7f-\xff\[\]]*)*\]?")


class Malformed(Exception):
    """What was said is no IMAP; the text is for the tagged BAD."""


class Atom(bytes):
    """A word that stands without quotes; fetch items keep their brackets."""


class String(bytes):
    """A quoted string, without quotes and escapes."""


class Literal(String):
    pass


class Binary(Literal):
    """A literal8: ``~{n}``."""


Value = Atom | String | list["Value"]


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """One response with its literals; b"" at the end of the connection."""
    whole = b""
    while True:
        line = await reader.readline()
        whole += line
        announced = _ANNOUNCED.search(line)
        if announced is None:
            return whole if line else b""
        whole += await reader.readexactly(int(announced[1]))


async def read_command(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> tuple[bytes, str]:
    """One command with its literals, each asked for, and what is wrong with it. b"" at the end of the connection.

    A literal over `limit` is refused before it is sent, and the command ends there.
    """
    whole, complaint = b"", ""
    while True:
        line = await reader.readline()
        whole += line
        if line and not line.endswith(b"\r\n"):
            complaint = "BAD Lines end with CR LF"
        announced = _ANNOUNCED.search(line)
        if announced is None:
            return (whole, complaint) if line else (b"", "")
        size, is_unasked = int(announced[1]), bool(announced[2])
        if is_unasked and size > LONGEST_UNASKED:
            complaint = "BAD A literal of that length has to wait for leave"
        elif size > limit:
            return whole, "NO [TOOBIG] Message too large"
        elif not is_unasked:
            writer.write(b"+ go ahead\r\n")
        whole += await reader.readexactly(size)


class Cursor:
    """Reads values from the text of one command, or of a response: there, lists may stand side by side."""

    def __init__(self, raw: bytes, *, utf8: bool = False, is_response: bool = False) -> None:
        self._raw = raw.removesuffix(b"\r\n")
        self._at = 0
        self._utf8 = utf8 or is_response
        self._is_response = is_response

    def word(self) -> bytes:
        """Up to the next space, whatever it is."""
        end = self._raw.find(b" ", self._at)
        end = len(self._raw) if end < 0 else end
        word, self._at = self._raw[self._at : end], min(end + 1, len(self._raw))
        return word

    def values(self) -> list[Value]:
        """All the rest, one space between any two."""
        found: list[Value] = []
        while self._at < len(self._raw):
            found.append(self._value())
            self._separate()
        return found

    def _separate(self, closing: bytes = b"") -> None:
        here = self._raw[self._at : self._at + 1]
        if here in (b"", closing) or (here == b"(" and self._is_response):
            return
        if here != b" " or self._raw[self._at + 1 : self._at + 2] in (b"", b" ", closing or b"\0"):
            raise Malformed("Could not parse command")
        self._at += 1

    def _value(self) -> Value:
        here = self._raw[self._at : self._at + 1]
        if here == b"(":
            return self._list()
        if here == b'"':
            return self._quoted()
        if found := _LITERAL.match(self._raw, self._at):
            return self._literal(found)
        atom = _ATOM.match(self._raw, self._at)
        if atom is None or not atom[0]:
            raise Malformed("Could not parse command")
        self._at = atom.end()
        return Atom(atom[0])

    def _list(self) -> list[Value]:
        self._at += 1
        found: list[Value] = []
        while self._raw[self._at : self._at + 1] != b")":
            if self._at >= len(self._raw):
                raise Malformed("Could not parse command")
            found.append(self._value())
            self._separate(b")")
        self._at += 1
        return found

    def _quoted(self) -> String:
        found = _QUOTED.match(self._raw, self._at)
        if found is None or not (found[1].isascii() or self._utf8):
            raise Malformed("Could not parse command")
        self._at = found.end()
        return String(re.sub(rb"\\(.)", rb"\1", found[1]))

    def _literal(self, found: re.Match[bytes]) -> Literal:
        start, size = found.end(), int(found[2])
        self._at = start + size
        return (Binary if found[1] else Literal)(self._raw[start : self._at])


def written(values: Iterable[Value], *, unasked: bool = False, utf8: bool = False) -> bytes:
    """As a line without its end. `unasked`: literals are sent without waiting for leave."""
    return b" ".join(_written(value, unasked, utf8) for value in values)


def _written(value: Value, unasked: bool, utf8: bool) -> bytes:
    if isinstance(value, list):
        return b"(" + written(value, unasked=unasked, utf8=utf8) + b")"
    if isinstance(value, Atom):
        return bytes(value)
    if isinstance(value, Literal) or re.search(rb"[\r\n\0]", value) or not (value.isascii() or utf8):
        return b"{%d%s}\r\n" % (len(value), b"+" * unasked) + bytes(value)
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", value) + b'"'
