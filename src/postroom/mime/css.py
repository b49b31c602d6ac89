"""As much CSS as it takes to know whether text can be seen: declarations, rules of style elements, lengths, colours."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator
from dataclasses import dataclass

from postroom.mime.limits import MAX_STYLE, MAX_STYLE_DEPTH, MAX_STYLE_RULES

Style = dict[str, str]  # property -> value, both lower-case
Colour = tuple[int, int, int, float]  # red, green, blue 0-255, opacity 0-1

_COMMENT = re.compile(r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|<!--|-->")
_HEX_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_BRACE = re.compile(r"[{}]")
_NUMBER = re.compile(r"([+-]?(?:\d++\.?\d*+|\.\d++))\s*+(px|pt|pc|em|rem|ex|ch|%|in|cm|mm|vw|vh|deg)?")
_MEDIA_WIDTH = re.compile(r"(min|max)-(?:device-)?width\s*:\s*([\d.]+)\s*(px|em|rem)?")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*+)\)")

# The properties that decide whether text is seen; every other declaration is forgotten at once.
# fmt: off
RELEVANT = frozenset({
    "display", "visibility", "opacity", "filter", "font", "font-size", "color", "background", "background-color",
    "background-image", "max-height", "height", "max-width", "width", "overflow", "overflow-x", "overflow-y",
    "position", "left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top", "margin", "clip",
    "clip-path", "transform", "mso-hide", "content-visibility", "-webkit-text-fill-color"
})
# fmt: on
_PIXELS = {"pt": 1.333, "pc": 16, "em": 16, "rem": 16, "ex": 8, "ch": 8, "%": 10, "in": 96, "cm": 37.8, "mm": 3.78}
_LARGEST = 1e9
_SCREEN = 1_000  # pixels: the width media queries are judged by

_NAMES = {
    "transparent": "00000000",
    "white": "ffffff",
    "snow": "fffafa",
    "ivory": "fffff0",
    "azure": "f0ffff",
    "mintcream": "f5fffa",
    "ghostwhite": "f8f8ff",
    "floralwhite": "fffaf0",
    "whitesmoke": "f5f5f5",
    "aliceblue": "f0f8ff",
    "seashell": "fff5ee",
    "linen": "faf0e6",
    "gainsboro": "dcdcdc",
    "lightgray": "d3d3d3",
    "lightgrey": "d3d3d3",
    "silver": "c0c0c0",
    "darkgray": "a9a9a9",
    "darkgrey": "a9a9a9",
    "gray": "808080",
    "grey": "808080",
    "dimgray": "696969",
    "black": "000000",
    "red": "ff0000",
    "maroon": "800000",
    "orange": "ffa500",
    "yellow": "ffff00",
    "olive": "808000",
    "lime": "00ff00",
    "green": "008000",
    "aqua": "00ffff",
    "cyan": "00ffff",
    "teal": "008080",
    "blue": "0000ff",
    "navy": "000080",
    "fuchsia": "ff00ff",
    "magenta": "ff00ff",
    "purple": "800080",
    "pink": "ffc0cb",
    "brown": "a52a2a",
}


@dataclass(frozen=True, slots=True)
class Rule:
    selector: str
    normal: Style
    important: Style


def read_style(text: str) -> tuple[Style, Style]:
    """(normal, important) declarations of a style attribute or a rule's block, the relevant ones only."""
    normal: Style = {}
    important: Style = {}
    for declaration in _plain(text).split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip().lower()
        if not colon or name not in RELEVANT:
            continue
        value, bang, _ = value.lower().partition("!")
        (important if bang else normal)[name] = value.strip()
    return normal, important


def read_rules(sheet: str) -> Iterator[Rule]:
    """The rules of a style element that hold on a wide screen and say something about visibility."""
    sheet = _plain(sheet[:MAX_STYLE])
    opened: list[str] = []  # preludes of the blocks around the current position
    start = found = 0
    for brace in _BRACE.finditer(sheet):
        text, start = sheet[start : brace.start()], brace.end()
        if brace[0] == "{":
            if len(opened) >= MAX_STYLE_DEPTH:
                return
            opened.append(text.rpartition(";")[2].strip() if not opened else text.strip())
            continue
        prelude = opened.pop() if opened else ""
        if not prelude or prelude.startswith("@") or not all(_holds(outer) for outer in opened):
            continue
        normal, important = read_style(text)
        if normal or important:
            yield Rule(prelude, normal, important)
            found += 1
            if found >= MAX_STYLE_RULES:
                return


def _plain(text: str) -> str:
    text = _COMMENT.sub("", text) if "/*" in text or "<!--" in text or "-->" in text else text
    return _HEX_ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0xD800 else ""


def _holds(prelude: str) -> bool:
    """Whether a block like ``@media (max-width: 600px)`` applies to a reader at a desk."""
    prelude = prelude.lower()
    if not prelude.startswith("@media"):
        return prelude.startswith(("@supports", "@layer", "@container"))
    if any(word in prelude for word in ("print", "prefers-color-scheme", "dark", "not ", "speech")):
        return False
    for bound, number, unit in _MEDIA_WIDTH.findall(prelude):
        width = _float(number.rstrip(".") or "0") * (16 if unit in ("em", "rem") else 1) if number.count(".") < 2 else 0
        if (bound == "min" and width > _SCREEN) or (bound == "max" and width < _SCREEN):
            return False
    return True


def pixels(value: str, *, relative_to: float | None = None) -> float | None:
    """The first length in a value. ``em`` and ``%`` count against `relative_to` where it is given."""
    match = _NUMBER.search(value)
    if match is None:
        return None
    number, unit = _float(match[1]), match[2] or "px"
    if relative_to is not None and unit in ("em", "%"):
        return number * relative_to / (100 if unit == "%" else 1)
    return number * _PIXELS.get(unit, 1)


def numbers(value: str) -> list[float]:
    return [_float(number) for number, _ in _NUMBER.findall(value)]


def _float(digits: str) -> float:
    """Numbers of any length: nothing on a screen is larger, and infinity is no colour."""
    return max(-_LARGEST, min(_LARGEST, float(digits)))


def colour(value: str) -> Colour | None:
    """The first colour in a value; None where there is none that we know."""
    value = value.strip().lower()
    if function := _FUNCTION.search(value):
        return _from_function(function[1], function[2])
    for word in value.replace(",", " ").split():
        digits = word[1:] if word.startswith("#") else _NAMES.get(word, word if len(word) == 6 else "")
        if (found := _from_hex(digits)) is not None:
            return found
    return None


def _from_hex(digits: str) -> Colour | None:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8):
        return None
    try:
        channels = bytes.fromhex(digits)
    except ValueError:
        return None
    return channels[0], channels[1], channels[2], channels[3] / 255 if len(channels) == 4 else 1.0


def _from_function(kind: str, arguments: str) -> Colour | None:
    found = _NUMBER.findall(arguments)
    if len(found) < 3:
        return None
    values = [_float(number) for number, _ in found]
    opacity = (values[3] / (100 if found[3][1] == "%" else 1)) if len(values) > 3 else 1.0
    if kind == "hsl":
        red, green, blue = colorsys.hls_to_rgb(values[0] / 360 % 1, values[2] / 100, values[1] / 100)
        return round(red * 255), round(green * 255), round(blue * 255), opacity
    scaled = [value * 2.55 if unit == "%" else value for value, (_, unit) in zip(values, found, strict=True)]
    return round(scaled[0]), round(scaled[1]), round(scaled[2]), opacity
