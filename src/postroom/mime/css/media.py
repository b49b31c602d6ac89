"""Whether a condition of a style sheet is true for a desktop reader: a light screen of 800 pixels, with a mouse."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

WIDTH: Final = 800  # pixels of the pane a message is shown in
HEIGHT: Final = 600
_MAX_QUERY: Final = 1_000  # characters
_MAX_NESTED: Final = 8  # nested brackets of a condition
_LARGEST: Final = 1e9

_WORD = re.compile(r"\(|\)|[^\s()]+")
_LENGTH = re.compile(r"([+-]?(?:\d++(?:\.\d*+)?+|\.\d++))(px|em|rem|pt|in|cm|mm|dppx|dpi|x)?\Z")
_COMPARISON = re.compile(r"(<=|>=|<|>|=)")
_PIXELS: Final = {
    "px": 1,
    "em": 16,
    "rem": 16,
    "pt": 4 / 3,
    "in": 96,
    "cm": 37.8,
    "mm": 3.78,
    "dppx": 1,
    "x": 1,
    "dpi": 1 / 96,
}
_AMOUNTS: Final = {
    "width": WIDTH,
    "device-width": WIDTH,
    "height": HEIGHT,
    "device-height": HEIGHT,
    "resolution": 1,
    "-webkit-device-pixel-ratio": 1,
    "device-pixel-ratio": 1,
    "color": 8,
    "monochrome": 0,
    "color-index": 0,
    "grid": 0,
    "aspect-ratio": WIDTH / HEIGHT,
    "device-aspect-ratio": WIDTH / HEIGHT,
}
_STATES: Final = {
    "orientation": "landscape",
    "prefers-color-scheme": "light",
    "prefers-reduced-motion": "no-preference",
    "prefers-contrast": "no-preference",
    "hover": "hover",
    "any-hover": "hover",
    "pointer": "fine",
    "any-pointer": "fine",
    "scripting": "none",
    "display-mode": "browser",
    "forced-colors": "none",
    "inverted-colors": "none",
    "scan": "progressive",
    "update": "fast",
    "overflow-block": "scroll",
    "overflow-inline": "scroll",
    "color-gamut": "srgb",
    "dynamic-range": "standard",
    "prefers-reduced-transparency": "no-preference",
    "prefers-reduced-data": "no-preference",
}


def media_holds(query: str) -> bool:
    """A list of media queries; the empty one is always true."""
    return _media_holds(query.strip()[:_MAX_QUERY])


@lru_cache(maxsize=512)
def _media_holds(query: str) -> bool:
    return not query or any(_one_holds(part.strip().lower()) for part in query.split(","))


def _one_holds(query: str) -> bool:
    negated = re.match(r"not\s+(?=[a-z])", query) is not None
    query = re.sub(r"\A(?:not|only)\s+(?=[a-z])", "", query)
    kind = re.match(r"([a-z-]+)\s*(?:and\b|\Z)", query)
    if kind is None:
        return _condition(query) or False
    rest = query[kind.end() :]
    holds = kind[1] in ("all", "screen") and (not rest.strip() or _condition(rest) is True)
    return holds is not negated


def _condition(text: str, depth: int = 0) -> bool | None:
    """``(a) and (not (b))``, ``(a) or (b)``; None if it cannot be parsed: such a query is never true."""
    found: list[bool] = []
    words, joins, negated = _pieces(text) if depth < _MAX_NESTED else [], set[str](), False
    for word in words:
        if word.startswith("("):
            inner = word[1:-1].strip()
            value = _condition(inner, depth + 1) if inner.startswith(("(", "not")) else _feature(inner)
            if value is None:
                return None
            found.append(value is not negated)
            negated = False
        elif word == "not":
            negated = True
        elif word in ("and", "or"):
            joins.add(word)
        else:
            return None
    if not found or len(joins) > 1:
        return None
    return any(found) if "or" in joins else all(found)


def _pieces(text: str) -> list[str]:
    """Words, and bracketed parts as one."""
    pieces: list[str] = []
    depth = start = 0
    for word in _WORD.finditer(text):
        if word[0] == "(":
            start = word.start() if depth == 0 else start
            depth += 1
        elif word[0] == ")":
            depth -= 1
            if depth == 0:
                pieces.append(text[start : word.end()])
        elif depth == 0:
            pieces.append(word[0])
    return pieces


def _feature(text: str) -> bool | None:
    if _COMPARISON.search(text):
        return _range(text)
    name, colon, value = (part.strip() for part in text.partition(":"))
    bound, _, plain = name.partition("-")
    if bound in ("min", "max") and plain in _AMOUNTS:
        return _compared(_AMOUNTS[plain], ">=" if bound == "min" else "<=", _amount(value))
    if name.startswith(("-webkit-min-", "-webkit-max-")):
        return _compared(1, ">=" if "-min-" in name else "<=", _amount(value))
    if name in _AMOUNTS:
        return _compared(_AMOUNTS[name], "=", _amount(value)) if colon else bool(_AMOUNTS[name])
    if name in _STATES:
        return _STATES[name] == value if colon else _STATES[name] not in ("none", "no-preference")
    return None


def _range(text: str) -> bool | None:
    """``width >= 600px``, ``400px < width <= 700px``."""
    parts = [part.strip() for part in _COMPARISON.split(text)]
    values = [_AMOUNTS.get(part, _amount(part)) for part in parts[::2]]
    results = [_compared(left, sign, right) for left, sign, right in zip(values, parts[1::2], values[1:], strict=False)]
    return None if None in results else all(results)


def _compared(left: float | None, sign: str, right: float | None) -> bool | None:
    if left is None or right is None:
        return None
    return {"<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right}.get(sign, left == right)


def _amount(value: str) -> float | None:
    whole, slash, part = value.partition("/")
    if slash and part.strip().isdecimal() and whole.strip().isdecimal():
        return number(whole) / number(part) if number(part) else None
    match = _LENGTH.match(value)
    return number(match[1]) * _PIXELS.get(match[2] or "px", 1) if match else None


def number(digits: str | float) -> float:
    """Numbers of any length, capped: nothing on a screen is larger, and infinity breaks arithmetic."""
    return max(-_LARGEST, min(_LARGEST, float(digits)))


def supports_holds(condition: str) -> bool:
    """Chromium supports nearly all that messages test for, but not other engines' prefixes."""
    condition = condition.lower()
    is_foreign = any(prefix in condition for prefix in ("-ms-", "-moz-", "-o-", "-apple-", "mso-"))
    return ("not" in condition.split("(")[0]) is is_foreign
