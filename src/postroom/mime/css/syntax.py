"""The syntax of CSS: comments, strings, escapes, declarations, nested rules. One pass over any text.

The HTML library interprets selectors, tinycss2 interprets colours. Neither splits a whole style sheet fast enough for
mail (see decision 9), so that is done here, following CSS Syntax 3.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

# None of these fails once it has started: nothing is scanned twice.
BLANKS: Final = " \t\n\r\f"  # what separates words; all other space is part of one
_STRING: Final = r'"(?:[^"\\\n]++|\\.)*+(?:"|\n|\\?\Z)' + r"|'(?:[^'\\\n]++|\\.)*+(?:'|\n|\\?\Z)"
_URL: Final = r"url\((?!\s*+[\"'])(?:[^)\\]++|\\.)*+(?:\)|\\?\Z)"
_COMMENT: Final = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
_COMMENT_OR_TEXT = re.compile(rf"{_STRING}|{_URL}|{_COMMENT}", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(rf"{_STRING}|{_URL}|\\.|[{{}}()\[\];]", re.DOTALL | re.IGNORECASE)
_HEX_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\r\f]?|([^\n0-9a-fA-F]))")
_LAST_MARK = re.compile(r"(?<!\\)!([^!]*+)\Z")
_CUSTOM_NAME = re.compile(r"(?<=\()(\s*+--[^\s,()]++)")
_AT_NAME = re.compile(r"@(?:[\w-]|[^\x00-\x7f]|\\[0-9a-fA-F]{1,6}+[ \t\n\r\f]?+|\\[^\n0-9a-fA-F])*+")
_BETWEEN_RULES = re.compile(rf"(?:[{BLANKS}]|<!--|-->)*+")
_DATA = re.compile(r"""data:text/css[^,"'()]{0,60}?(;base64)?,([^"')]*+)""", re.IGNORECASE | re.ASCII)
_LONGEST_ADDRESS: Final = 100_000
_NAME_SIGNS: Final = str.maketrans(",\"'", "   ")
_LETTER: Final = "\u00f8"  # any that no keyword has
# What Python takes for a space, a digit or another case of a plain letter, and CSS for part of a name.
_NO_LETTER = re.compile(r"[\x0b\x1c-\x1f\u0130\u0131\u017f\u212a]|(?:[^\x00-\x7f](?<!\w)|(?=[^\x00-\x7f])\d)")
_NAME_GOES_ON: Final = "-_#"
_CLOSES: Final = {"{": "}", "(": ")", "[": "]"}


class Declaration(NamedTuple):
    name: str
    value: str
    important: bool


@dataclass(frozen=True, slots=True)
class Block:
    """``prelude { body }``, or a statement without a block (`body` is None then)."""

    prelude: str
    body: str | None


def preprocessed(text: str) -> str:
    """With one kind of line break."""
    if "\r" in text or "\f" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return text


def without_comments(text: str) -> str:
    if "/*" not in text:
        return text
    return _COMMENT_OR_TEXT.sub(_without_comment, text)


def _without_comment(found: re.Match[str]) -> str:
    """A comment between two words still separates them."""
    if found[0][:2] != "/*":
        return found[0]
    around = found.string[found.start() - 1 : found.start()] + found.string[found.end() : found.end() + 1]
    return " " if len(around) == 2 and all(sign.isalnum() or sign in "-_%" for sign in around) else ""


def blocks(text: str, *, is_sheet: bool = False) -> Iterator[Block]:
    """The top-level items of a sheet or a block: statements and inner blocks, in order. Comments must be removed.
    In a sheet only ``@`` statements end at a semicolon, and the marks of an HTML comment between rules are nothing."""
    opened: list[str] = []
    inner = 0
    start, ends = _start(text, 0, is_sheet=is_sheet)
    for mark in _MARK.finditer(text):
        sign = mark[0]
        if sign in _CLOSES:
            inner = inner if opened else mark.end()
            opened.append(sign)
        elif opened and sign == _CLOSES[opened[-1]]:
            if opened.pop() == "{" and not opened:
                yield Block(text[start : inner - 1].strip(BLANKS), text[inner : mark.start()])
                start, ends = _start(text, mark.end(), is_sheet=is_sheet)
        elif sign == ";" and not opened and ends:
            yield Block(text[start : mark.start()].strip(BLANKS), None)
            start, ends = _start(text, mark.end(), is_sheet=is_sheet)
    if opened and opened[0] == "{":
        yield Block(text[start : inner - 1].strip(BLANKS), text[inner:])
    elif text[start:].strip(BLANKS):
        yield Block(text[start:].strip(BLANKS), None)


def _start(text: str, position: int, *, is_sheet: bool) -> tuple[int, bool]:
    """Where the next item begins, and whether a semicolon ends it."""
    between = _BETWEEN_RULES.match(text, position) if is_sheet else None
    start = position if between is None else between.end()
    return start, not is_sheet or text.startswith("@", start)


def declaration(statement: str) -> Declaration | None:
    name, colon, value = statement.partition(":")
    name = unescaped(name.strip(BLANKS))
    if not colon or not name:
        return None
    mark = _LAST_MARK.search(value) if "!" in value else None
    important = mark is not None and unescaped(mark[1].strip(BLANKS)).lower() == "important"
    value = unescaped((value[: mark.start()] if mark is not None and important else value).strip(BLANKS))
    if not name.startswith("--"):
        name, value = name.lower(), _lowered(value)
    return Declaration(name, value, important)


def _lowered(value: str) -> str:
    """But for the names of variables: they differ by case."""
    if "(" not in value or "--" not in value:
        return value.lower()
    return "".join(part if index % 2 else part.lower() for index, part in enumerate(_CUSTOM_NAME.split(value)))


def at_rule(prelude: str) -> tuple[str, str]:
    """The name of a rule that begins with ``@``, in lower case, and what is after it."""
    found = _AT_NAME.match(prelude)
    name = found[0] if found is not None else ""
    return unescaped(name.rstrip(BLANKS)).lower(), prelude[len(name) :].strip(BLANKS)


def words_of_names(names: str) -> list[str]:
    """Of animations, which may be quoted. Their case is not kept everywhere."""
    return names.lower().translate(_NAME_SIGNS).split()


def declarations(text: str) -> list[Declaration]:
    """Those of a style attribute. An inner block is not a declaration and does not end one."""
    text = without_comments(preprocessed(text))
    if "{" not in text and "(" not in text and '"' not in text and "'" not in text and "[" not in text:
        found = [declaration(statement) for statement in text.split(";")]
    else:
        found = [declaration(block.prelude) for block in blocks(text) if block.body is None]
    return [one for one in found if one is not None]


def sheet_in(address: str) -> str:
    """The style sheet contained in an address: ``data:text/css,…``; other addresses are never fetched."""
    found = _DATA.search(address[:_LONGEST_ADDRESS])
    if found is None:
        return ""
    content = unquote_to_bytes(found[2])
    with suppress(ValueError):
        content = b64decode(content) if found[1] else content
    return content.decode("utf-8", "replace")


def work_of(text: str) -> int:
    """The cost of interpreting declarations, in units of about five microseconds: functions are mostly colours, which
    libraries parse, or variables, which are looked up."""
    functions = text.count("(")
    return 1 + text.count(";") + len(text) // 12 + 20 * functions


def unescaped(text: str) -> str:
    """As the words that a browser reads. Whatever is a letter to it and not to us becomes one: an escaped bracket or
    digit, a foreign space or digit, a letter of which another case is a plain one."""
    if "\\" in text:
        text = _HEX_ESCAPE.sub(_character, text)
    return text if text.isascii() and text.isprintable() else _NO_LETTER.sub(_LETTER, text)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] is not None else ord(match[2])
    character = chr(code) if 0 < code < 0xD800 or 0xE000 <= code <= 0x10FFFF else _LETTER
    before = match.string[match.start() - 1 : match.start()]
    is_within_name = character.isdigit() and (before.isalnum() or before in _NAME_GOES_ON)
    return character if character.isalpha() or character in "-_" or (before and is_within_name) else _LETTER


def split_outside(text: str, separator: str) -> list[str]:
    """At each separator that is outside brackets and strings."""
    if separator not in text:
        return [text]
    parts: list[str] = []
    depth = start = 0
    quote = ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == separator and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
