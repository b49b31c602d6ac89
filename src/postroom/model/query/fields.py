"""The operators of the query language: what each one's value means, and how it is written."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import get_args

from postroom.model.query.tokens import Token, refusal
from postroom.model.query.tree import (
    After,
    Before,
    Correspondent,
    Filename,
    Flag,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Leaf,
    MessageId,
    Smaller,
    Subject,
    Text,
)
from postroom.model.query.values import read_moment, read_size, read_span
from postroom.model.words import words

GROUPED = ("from", "to", "cc", "subject", "in", "label", "filename")  # those that accept parentheses: from:(a OR b)
OPERATORS = (
    *(*GROUPED, "has", "is", "after", "newer", "before", "older", "older_than", "newer_than", "larger", "smaller"),
)
# What is no label here and one in Gmail's own language, which many know.
_AS_IN_GMAIL: dict[str, Leaf] = {
    "inbox": In("inbox"),
    "sent": In("sent"),
    "trash": In("trash"),
    "spam": In("junk"),
    "starred": Is("starred"),
    "unread": Is("unread"),
}

_FLAGS = get_args(Flag)
_BARE = re.compile(r'[^\s(){}"*]+\Z')
_NO_OPERATOR = (":", "//")  # what follows the colon of std::string and http://
_READ_AS_MORE = re.compile(r"-|(?:OR|AND|NOT)\Z|[^\W\d][\w-]*:(?!//|:)")


def text_leaf(token: Token) -> Text:
    """A word, a ``word*`` or a phrase without an operator."""
    if token.kind == "phrase":
        return Text(_with_words(token.text, f'"{token.text}"'), phrase=True)
    value = token.text.removesuffix("*")
    if "*" in value:
        raise refusal("A * is allowed only at the end of a word, as in invoi*.")
    return Text(_with_words(value, token.text), prefix=value != token.text)


def field_leaf(operator: str, token: Token, now: datetime, zone: tzinfo | None) -> Leaf | None:  # noqa: C901 - one arm per operator
    """None for ``in:anywhere``, which is not a condition."""
    value = _value(operator, token)
    match operator:
        case "from" | "to" | "cc":
            return Correspondent(operator, value)
        case "subject":
            return Subject(_with_words(value, value), phrase=token.kind == "phrase")
        case "filename":
            return Filename(value)
        case "in":
            return None if value.casefold() == "anywhere" else In(value)
        case "label":
            return (_AS_IN_GMAIL.get(value.casefold()) if token.kind == "word" else None) or Label(value)
        case "has":
            return _attachment(value)
        case "is":
            return Is(_flag(value))
        case "after" | "newer":
            return After(read_moment(operator, value, zone))
        case "before" | "older":
            return Before(read_moment(operator, value, zone))
        case "newer_than":
            return After(read_span(operator, value, now, zone))
        case "older_than":
            return Before(read_span(operator, value, now, zone))
        case "larger":
            return Larger(read_size(operator, value))
        case "smaller":
            return Smaller(read_size(operator, value))
    raise refusal(
        f"{operator}: is not a search operator. Use one of {': '.join(OPERATORS)}: "
        f'or put the words in quotes, like "{operator}:{value[:40]}".'
    )


def leaf_text(leaf: Leaf) -> str:  # noqa: C901 - one arm per leaf
    """The leaf as query text."""
    match leaf:
        case Text(value, phrase, prefix):
            is_bare = not phrase and _BARE.match(value) and not _READ_AS_MORE.match(value)
            return (value + "*" * prefix) if is_bare else _quoted(value)
        case Correspondent(field, value):
            return f"{field}:{_written(value)}"
        case Subject(value, phrase):
            return f"subject:{_quoted(value)}" if phrase else _subject_word(value)
        case Filename(value):
            return f"filename:{_written(value)}"
        case In(folder):
            return f"in:{_written(folder)}"
        case Label(name):
            return f"label:{_quoted(name) if name.casefold() in _AS_IN_GMAIL else _written(name)}"
        case HasAttachment():
            return "has:attachment"
        case Is(flag):
            return f"is:{flag}"
        case After(moment):
            return f"after:{moment.isoformat()}"
        case Before(moment):
            return f"before:{moment.isoformat()}"
        case Larger(size):
            return f"larger:{size}"
        case Smaller(size):
            return f"smaller:{size}"
        case MessageId(value):
            return f"rfc822msgid:{_written(value)}"  # Gmail's operator; the language itself has none


def _value(operator: str, token: Token) -> str:
    """Stars around a value that matches substrings anyway (``from:*@example.com``) are redundant and removed."""
    value = token.text.strip()
    if token.kind == "word" and operator in ("from", "to", "cc", "filename"):
        value = value.strip("*")
    if not value:
        raise refusal(f"{operator}: has no value. Write {operator}:value, or leave it out.")
    if token.kind == "word" and "*" in value:
        raise refusal(f"{operator}: does not accept *. Write the value without it.")
    return value


def _with_words(value: str, written: str) -> str:
    if not words(value):
        raise refusal(f"A search term needs letters or digits; {written[:40]} has neither. Remove it.")
    return value.strip()


def _attachment(value: str) -> HasAttachment:
    if value.lower() not in ("attachment", "attachments"):
        raise refusal("has: accepts only has:attachment.")
    return HasAttachment()


def _flag(value: str) -> Flag:
    for flag in _FLAGS:
        if value.lower() == flag:
            return flag  # type: ignore[no-any-return]
    raise refusal(f"is: accepts only {', '.join(f'is:{flag}' for flag in _FLAGS)}.")


def _subject_word(value: str) -> str:
    return f"subject:({value})" if value.startswith(_NO_OPERATOR) else f"subject:{_written(value)}"


def _written(value: str) -> str:
    return value if _BARE.match(value) and not value.startswith(_NO_OPERATOR) else _quoted(value)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
