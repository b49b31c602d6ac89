"""What single CSS values mean: colours, lengths, numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from postroom.mime.css.colour_spaces import to_srgb
from postroom.mime.css.screen import HEIGHT, WIDTH, number

Style = dict[str, str]  # property -> value, lower-case
Colour = tuple[int, int, int, float]  # red, green, blue 0-255, opacity 0-1

BLACK: Final[Colour] = (0, 0, 0, 1.0)
WHITE: Final[Colour] = (255, 255, 255, 1.0)
_FONT: Final = 16.0
_LONGEST_COLOUR: Final = 200  # characters

_BLANKS: Final = " \t\n\r\f"
_NUMBER: Final = r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?\d{1,3}+)?+"
_LENGTH = re.compile(rf"({_NUMBER})([a-z%]*)")
_PIXELS: Final = {
    "px": 1,
    "pt": 4 / 3,
    "pc": 16,
    "in": 96,
    "cm": 37.8,
    "mm": 3.78,
    "q": 0.945,
    "rem": _FONT,
    "vw": WIDTH / 100,
    "vh": HEIGHT / 100,
    "vi": WIDTH / 100,
    "vb": HEIGHT / 100,
    "vmin": HEIGHT / 100,
    "vmax": WIDTH / 100,
    "dvh": HEIGHT / 100,
    "svh": HEIGHT / 100,
    "lvh": HEIGHT / 100,
    "dvw": WIDTH / 100,
    "svw": WIDTH / 100,
    "lvw": WIDTH / 100,
    "lh": 19,
    "rlh": 19,
    "cqw": WIDTH / 100,
    "cqh": HEIGHT / 100,
    "cqi": WIDTH / 100,
    "cqb": HEIGHT / 100,
}
_PER_FONT: Final = {"em": 1.0, "ex": 0.5, "ch": 0.5, "cap": 0.7, "ic": 1.0}
_SYSTEM: Final = {
    "canvas": WHITE,
    "canvastext": BLACK,
    "linktext": (0, 0, 238, 1.0),
    "visitedtext": (85, 26, 139, 1.0),
    "window": WHITE,
    "windowtext": BLACK,
    "buttontext": BLACK,
    "buttonface": (239, 239, 239, 1.0),
    "field": WHITE,
    "fieldtext": BLACK,
    "mark": (255, 255, 0, 1.0),
    "marktext": BLACK,
    "graytext": (128, 128, 128, 1.0),
    "menu": WHITE,
    "menutext": BLACK,
    "infobackground": WHITE,
    "infotext": BLACK,
    "background": WHITE,
}
_HEX = re.compile("#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})")
_RGB = re.compile(r"rgb\(([0-9]{1,3}), ?([0-9]{1,3}), ?([0-9]{1,3})\)")
_UNKNOWN_COLOUR = re.compile(
    r"(?:color-mix|light-dark|color|rgba?|hsla?|hwb|lab|lch|oklab|oklch|contrast-color|device-cmyk|unknown)\("
)
UNKNOWN: Final = "unknown()"  # stands for a value that is too long to parse
_RECKONED = re.compile(
    r"(?:-webkit-calc|calc|min|max|clamp|round|mod|rem|a?sin|a?cos|a?tan|atan2|pow|sqrt|hypot|log|exp|abs|sign|env|attr"
    r"|anchor|anchor-size|calc-size|progress|random|if|unknown)\("
)
_MATH = re.compile(rf"(?<!\s)\s*+(?:({_NUMBER})([a-z%]*)|((?<![a-z-])[a-z-]++)?+(\()|([-+*/,)]))")


def colour(value: str) -> Colour | None:
    """None if it is not a colour, or one that only a browser can compute."""
    return _colour(value[:_LONGEST_COLOUR])


@lru_cache(maxsize=4096)
def _colour(value: str) -> Colour | None:
    if value in _SYSTEM:
        return _SYSTEM[value]
    if value.startswith("light-dark("):
        return colour(value[11:].split(",")[0].strip())
    if hexadecimal := _HEX.fullmatch(value):  # most colours are hexadecimal: fifty times faster here than below
        red, green, blue = (int(part, 16) for part in hexadecimal.groups())
        return red, green, blue, 1.0
    if decimal := _RGB.fullmatch(value):
        red, green, blue = (min(255, int(part)) for part in decimal.groups())
        return red, green, blue, 1.0
    from tinycss2.color4 import parse_color

    try:
        parsed = parse_color(value)
        if parsed is None or isinstance(parsed, str):
            return None
        if parsed.space not in ("srgb", "hsl", "hwb"):
            found = to_srgb(parsed.space, parsed.coordinates)
            return None if found is None else (*map(_byte, found), _part(parsed.alpha))  # type: ignore[return-value]
        red, green, blue = parsed.to("srgb").coordinates
    except (ArithmeticError, ValueError):  # numbers that no colour has
        return None
    return _byte(red), _byte(green), _byte(blue), _part(parsed.alpha)


def _byte(part: float | None) -> int:
    return round(255 * _part(part))


def _part(value: float | None) -> float:
    return min(1.0, max(0.0, value or 0.0))


def is_unknown_colour(value: str) -> bool:
    """A function that gives a colour we cannot compute."""
    return bool(_UNKNOWN_COLOUR.match(value)) and value.endswith(")")


def legacy_colour(value: str) -> Colour | None:
    """An attribute's colour: any text is one (HTML, "rules for parsing a legacy color value")."""
    return _legacy_colour(value.strip(_BLANKS)[:_LONGEST_COLOUR].lower())


@lru_cache(maxsize=1024)
def _legacy_colour(value: str) -> Colour | None:
    if not value or value == "transparent":
        return None
    is_name = value.isalpha() or (value[0] == "#" and len(value) in (4, 7))
    if is_name and (named := colour(value)) is not None:
        return named[0], named[1], named[2], 1.0
    digits = "".join(char if char in "0123456789abcdef" else "0" for char in value[:128].removeprefix("#")) or "0"
    while len(digits) % 3:
        digits += "0"
    length = len(digits) // 3
    parts = [digits[start : start + length][-8:] for start in range(0, 3 * length, length)]
    while len(parts[0]) > 2 and all(part.startswith("0") for part in parts):
        parts = [part[1:] for part in parts]
    return int(parts[0][:2], 16), int(parts[1][:2], 16), int(parts[2][:2], 16), 1.0


def pixels(value: str, *, font: float = _FONT, whole: float = WIDTH, unitless: bool = True) -> float | None:
    """One length, or None. ``%`` is relative to `whole`; a bare number is a length in old documents only."""
    match = _LENGTH.fullmatch(value)
    if match:
        return _in_pixels(match[1], match[2], font, whole, unitless=unitless)
    return _calculated(value, font, whole) if "(" in value else None


def _in_pixels(digits: str, unit: str, font: float, whole: float, *, unitless: bool) -> float | None:
    amount = number(digits)
    if not unit:
        return amount if unitless or amount == 0 else None
    if unit == "%":
        return amount * whole / 100
    factor = _PER_FONT[unit] * font if unit in _PER_FONT else _PIXELS.get(unit)
    return None if factor is None else number(amount * factor)


def is_uncertain(value: str) -> bool:
    """A length or a number that only a browser can compute."""
    return "(" in value and _RECKONED.match(value) is not None and pixels(value) is None


def lengths(value: str, *, font: float = _FONT, whole: float = WIDTH) -> list[float]:
    """Every length in a value of several words; other words are skipped."""
    found = [pixels(word, font=font, whole=whole) for word in value.replace(",", " ").replace("/", " ").split()]
    return [length for length in found if length is not None]


def numbers(value: str) -> list[float]:
    return [number(match[1]) / (100 if match[2] == "%" else 1) for match in _LENGTH.finditer(value[:400])]


def _calculated(value: str, font: float, whole: float) -> float | None:
    """calc(), min(), max(), clamp() of short values. Sums and products only."""
    if len(value) > 120 or not value.startswith(("calc(", "min(", "max(", "clamp(", "-webkit-calc(", "(")):
        return None
    matches = list(_MATH.finditer(value))
    if sum(len(match[0]) for match in matches) < len(value.rstrip()):  # a constant: infinity, pi
        return None
    tokens = [match.groups() for match in matches]
    try:
        result, end = _term_list(tokens, 0, font, whole)
    except (ValueError, IndexError, ZeroDivisionError, RecursionError):
        return None
    return number(result[0]) if end == len(tokens) and len(result) == 1 else None


def _term_list(tokens: list[tuple[str | None, ...]], at: int, font: float, whole: float) -> tuple[list[float], int]:
    """Comma-separated sums up to the closing bracket or the end."""
    results: list[float] = []
    total, factor, sign, wants = 0.0, None, 1.0, "*"
    while at < len(tokens):
        digits, unit, name, opening, operator = tokens[at]
        if digits is not None or opening:
            if opening:
                inner, at = _term_list(tokens, at + 1, font, whole)
                value = _applied(name or "", inner)
            else:
                found = _in_pixels(digits or "", unit or "", font, whole, unitless=True)
                if found is None:
                    raise ValueError(unit)
                value = found
                if factor is not None and wants == "*" and (digits or "")[0] in "+-":
                    total, factor, sign = total + sign * factor, None, 1.0  # "1px -2px" was split as two numbers
            factor = value if factor is None else (factor * value if wants == "*" else factor / value)
            wants = "*"
        elif operator in ("+", "-"):
            total, factor, sign = total + sign * (factor or 0.0), None, (1.0 if operator == "+" else -1.0)
        elif operator in ("*", "/"):
            wants = operator
        elif operator == ",":
            results.append(total + sign * (factor or 0.0))
            total, factor, sign = 0.0, None, 1.0
        else:
            return [*results, total + sign * (factor or 0.0)], at
        at += 1
    return [*results, total + sign * (factor or 0.0)], at


def _applied(name: str, values: list[float]) -> float:
    if name in ("", "calc", "-webkit-calc"):
        return values[0]
    if name == "min":
        return min(values)
    if name == "max":
        return max(values)
    if name == "clamp":
        return max(values[0], min(values[1], values[2]))
    raise ValueError(name)
