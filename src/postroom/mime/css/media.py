"""Whether a condition of a style sheet is true for a desktop reader: a light screen of 800 pixels, with a mouse."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from postroom.mime.css.conditions import holds
from postroom.mime.css.screen import HEIGHT, WIDTH, number
from postroom.mime.css.syntax import BLANKS, split_outside, unescaped
from postroom.mime.css.values import pixels

_MAX_QUERY: Final = 1_000  # characters

_RESOLUTION = re.compile(r"([+-]?(?:\d++(?:\.\d*+)?+|\.\d++))(dppx|dpcm|dpi|x)\Z")
_COMPARISON = re.compile(r"(<=|>=|<|>|=)")
_DOTS: Final = {"dppx": 1, "x": 1, "dpi": 1 / 96, "dpcm": 2.54 / 96}
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
    return _media_holds(query.strip(BLANKS)[:_MAX_QUERY])


@lru_cache(maxsize=512)
def _media_holds(query: str) -> bool:
    return not query or any(_one_holds(part.strip().lower()) for part in split_outside(unescaped(query), ","))


def _one_holds(query: str) -> bool:
    negated = re.match(r"not\s+(?=[a-z])", query) is not None
    query = re.sub(r"\A(?:not|only)\s+(?=[a-z])", "", query)
    kind = re.match(r"([a-z-]+)\s*(?:and\b|\Z)", query)
    if kind is None:
        return holds(query, _feature) or False
    rest = query[kind.end() :]
    is_met = holds(rest, _feature) if rest.strip() else True
    return is_met is not None and (kind[1] in ("all", "screen") and is_met) is not negated


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
    if match := _RESOLUTION.match(value):
        return number(match[1]) * _DOTS[match[2]]
    return pixels(value)
