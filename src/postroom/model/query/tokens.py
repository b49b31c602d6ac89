"""A query's text split into tokens: words, phrases, operators, parentheses, braces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from postroom.model.address import refuse_line_breaks
from postroom.model.errors import InvalidRequest

Kind = Literal["word", "phrase", "field", "open", "close", "open_any", "close_any", "OR", "AND", "NOT"]

_KEYWORDS: dict[str, Kind] = {"OR": "OR", "AND": "AND", "NOT": "NOT"}
_BRACKETS: dict[str, Kind] = {"(": "open", ")": "close", "{": "open_any", "}": "close_any"}
_PHRASE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WORD = re.compile(r'[^ (){}"]+')
_FIELD = re.compile(r"([^\W\d][\w-]*):(?!//|:)")  # not http://..., not std::string; 12:30 begins with a digit


@dataclass(frozen=True, slots=True)
class Token:
    """A field's value is the token that follows it."""

    kind: Kind
    text: str


def tokenize(text: str) -> list[Token]:
    text = re.sub(r"\s", " ", text)
    refuse_line_breaks(text, "query")
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        found, position = _next(text, position)
        tokens += found
    return tokens


def refusal(message: str) -> InvalidRequest:
    return InvalidRequest(message, details={"field": "query"})


def _next(text: str, position: int) -> tuple[list[Token], int]:
    match text[position]:
        case "(" | ")" | "{" | "}" as bracket:
            return [Token(_BRACKETS[bracket], bracket)], position + 1
        case "-":
            return [_negation(text, position)], position + 1
        case '"':
            return _phrase(text, position)
    word = _WORD.match(text, position)
    assert word is not None
    return list(_word_tokens(word[0], text[word.end() : word.end() + 1])), word.end()


def _negation(text: str, position: int) -> Token:
    if text[position + 1 : position + 2] in ("", " ", ")", "}"):
        raise refusal('A lone "-" has no meaning. Remove it, or write -word to exclude a word.')
    return Token("NOT", "-")


def _phrase(text: str, position: int) -> tuple[list[Token], int]:
    found = _PHRASE.match(text, position)
    if found is None:
        raise refusal('A quotation mark is never closed. Write "the phrase" with one on each side.')
    return [Token("phrase", re.sub(r'\\(["\\])', r"\1", found[1]))], found.end()


def _word_tokens(word: str, following: str) -> Iterator[Token]:
    field = _FIELD.match(word)
    if field is None:
        yield Token(_KEYWORDS.get(word, "word"), word)
        return
    yield Token("field", field[1])
    value = word[field.end() :]
    if value:
        yield Token("word", value)
    elif following not in ('"', "(", "{"):
        raise refusal(
            f"{field[0]} has no value. Write an operator without a space after it, as in from:anna; "
            f'to search for the words themselves, put them in quotes, as in "{field[0]} anna".'
        )
