"""How the values of single properties are read; None for those that no browser accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from postroom.mime.css.syntax import split_outside
from postroom.mime.css.values import Style, colour, is_uncertain, is_unknown_colour, numbers, pixels

Reader = Callable[[str, str, bool], Style | None]  # of name, value, and whether the document is an old one
FONT_SIZES: Final = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
    "xxx-large": 48.0,
}
_WORDS = re.compile(r"(?:[^\s()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))++")
_IMAGE = re.compile(r"(?:url|image-set|cross-fade|element|image|paint|gradient)\(")
FOREIGN_IMAGE = re.compile(r"(?<![\w-])-(?:moz|ms|o|khtml)-[a-z-]++\(")  # of other engines
_BARE_COLOUR = re.compile(r"[0-9a-f]{3}(?:[0-9a-f]{3})?\Z")
_OVERFLOWS: Final = frozenset({"visible", "hidden", "clip", "scroll", "auto", "overlay"})
_SIZES: Final = frozenset(
    {
        *("auto", "none", "normal", "fit-content", "max-content", "min-content", "stretch", "content"),
        *("-webkit-fill-available", "-webkit-fit-content", "-webkit-max-content", "-webkit-min-content"),
    }
)
_SYSTEM_FONTS: Final = frozenset({"caption", "icon", "menu", "message-box", "small-caption", "status-bar"})
# One of each set at most.
_DISPLAY_WORDS: Final = (
    frozenset({"block", "inline"}),
    frozenset({"flow", "flow-root", "table", "flex", "grid", "ruby", "math"}),
    frozenset({"list-item"}),
)
_PLAIN_NUMBER = re.compile(r"\d++(?:\.\d*+)?+|\.\d++")
_BRACKETS = re.compile(r"(?<![a-z-])[a-z-]++\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)|#[\w]++")
_BARE_WORD = re.compile(r"(?<![\w.#%()-])[a-z][a-z-]*+(?![\w(-])")
_GROUND_WORDS: Final = frozenset(
    {
        *("none", "repeat", "no-repeat", "repeat-x", "repeat-y", "space", "round", "center", "top", "left", "right"),
        *("bottom", "fixed", "scroll", "local", "border-box", "padding-box", "content-box", "text", "border-area"),
        *("auto", "cover", "contain", "currentcolor"),
    }
)
_KNOWN_DISPLAYS: Final = frozenset(
    [
        "none",
        "block",
        "inline",
        "inline-block",
        "flex",
        "inline-flex",
        "grid",
        "inline-grid",
        "table",
        "inline-table",
        "table-row",
        "table-cell",
        "table-column",
        "table-row-group",
        "table-header-group",
        "table-footer-group",
        "table-column-group",
        "table-caption",
        "list-item",
        "contents",
        "flow-root",
        "ruby",
        "ruby-text",
        "math",
        "-webkit-box",
        "-webkit-inline-box",
        "-webkit-flex",
        "-webkit-inline-flex",
        "flow",
    ]
)
SAME: Final = {
    "-webkit-mask": "mask-image",
    "mask": "mask-image",
    "-webkit-mask-image": "mask-image",
    "-webkit-clip-path": "clip-path",
    "-webkit-transform": "transform",
    "-webkit-opacity": "opacity",
    "-webkit-filter": "filter",
    "animation": "animation-name",
    "-webkit-animation": "animation-name",
    "-webkit-animation-name": "animation-name",
    "-webkit-background-clip": "background-clip",
    "-webkit-backface-visibility": "backface-visibility",
    "-webkit-transform-origin": "transform-origin",
    "offset": "offset-path",
    "grid-template": "grid-template-rows",
    "grid-template-columns": "grid-template-rows",
    "grid-auto-rows": "grid-template-rows",
    "-webkit-margin-start": "margin-left",
    "-webkit-margin-before": "margin-top",
    "-webkit-logical-height": "height",
    "-webkit-logical-width": "width",
    "-webkit-max-logical-height": "max-height",
    "-webkit-max-logical-width": "max-width",
    "margin-inline-end": "margin-right",
    "padding-inline-start": "padding-left",
    "padding-block-start": "padding-top",
    "overflow-block": "overflow-y",
    "overflow-inline": "overflow-x",
    "column-width": "columns",
    "column-count": "columns",
    "inset-inline-start": "left",
    "inset-inline-end": "right",
    "inset-block-start": "top",
    "inset-block-end": "bottom",
    "margin-inline-start": "margin-left",
    "margin-block-start": "margin-top",
    "block-size": "height",
    "inline-size": "width",
    "max-block-size": "max-height",
    "max-inline-size": "max-width",
}
PARTS: Final = {
    "background": ("background-color", "background-image"),
    "font": ("font-size",),
    "overflow": ("overflow-x", "overflow-y"),
    "margin": ("margin-top", "margin-right", "margin-bottom", "margin-left"),
    "inset": ("top", "right", "bottom", "left"),
    "padding": ("padding-top", "padding-right", "padding-bottom", "padding-left"),
    "margin-inline": ("margin-left", "margin-right"),
    "margin-block": ("margin-top", "margin-bottom"),
    "padding-inline": ("padding-left", "padding-right"),
    "padding-block": ("padding-top", "padding-bottom"),
    "inset-inline": ("left", "right"),
    "inset-block": ("top", "bottom"),
    "flex": ("flex-grow", "flex-basis"),
}


def as_is(name: str, value: str, quirks: bool) -> Style:
    return {SAME.get(name, name): value}


def one_of(*values: str) -> Reader:
    known = frozenset(values)
    return lambda name, value, quirks: {name: value} if value in known else None


def read_colour(name: str, value: str, quirks: bool) -> Style | None:
    value = f"#{value}" if quirks and _BARE_COLOUR.match(value) else value
    is_known = colour(value) is not None or value == "currentcolor" or is_unknown_colour(value)
    return {SAME.get(name, name): value} if is_known else None


def read_length(name: str, value: str, quirks: bool) -> Style | None:
    if value in _SIZES or value.startswith("fit-content("):
        return {name: value}
    return {name: value} if pixels(value, unitless=quirks) is not None or is_uncertain(value) else None


def read_font_size(name: str, value: str, quirks: bool) -> Style | None:
    if value in FONT_SIZES or value in ("smaller", "larger"):
        return {"font-size": value}
    size = pixels(value, unitless=quirks)
    return {"font-size": value} if (size is not None and size >= 0) or is_uncertain(value) else None


def read_font(name: str, value: str, quirks: bool) -> Style | None:
    """``bold 0/0 a``: the size comes before the family, and both must be there."""
    if value in _SYSTEM_FONTS:
        return {"font-size": "small"}
    words = _WORDS.findall(value.replace(" /", "/").replace("/ ", "/"))
    for index, word in enumerate(words[:-1]):
        size = word.partition("/")[0]
        is_weight = size.isdecimal() and size != "0"
        if not is_weight and (found := read_font_size("font-size", size, False)):
            return found if index + 1 < len(words) else None
    return None


def read_background(name: str, value: str, quirks: bool) -> Style | None:
    if FOREIGN_IMAGE.search(value):
        return None
    layers = split_outside(value, ",")
    if any(
        word not in _GROUND_WORDS and colour(word) is None for word in _BARE_WORD.findall(_BRACKETS.sub("()", value))
    ):
        return None
    images = [layer for layer in layers if _IMAGE.search(layer)]
    inks = [word for word in _WORDS.findall(layers[-1]) if colour(word) is not None or is_unknown_colour(word)]
    inks += [word for word in _WORDS.findall(layers[-1]) if word == "currentcolor"]
    if (
        not images
        and not inks
        and not re.search(r"\b(?:none|repeat|no-repeat|center|top|left|right|bottom|fixed|scroll)\b|0", value)
    ):
        return None
    set_to = {"background-color": inks[-1] if inks else "transparent", "background-image": ",".join(images) or "none"}
    return {**set_to, "background-clip": "text"} if re.search(r"(?<![a-z-])text(?![a-z-])", value) else set_to


def sides(*names: str) -> Reader:
    """One to four lengths: top, right, bottom, left."""

    def read(name: str, value: str, quirks: bool) -> Style | None:
        words = _WORDS.findall(value)
        if not 1 <= len(words) <= 4 or any(read_length("x", word, quirks) is None for word in words):
            return None
        top = words[0]
        right = words[1] if len(words) > 1 else top
        bottom = words[2] if len(words) > 2 else top
        left = words[3] if len(words) > 3 else right
        return dict(zip(names, (top, right, bottom, left), strict=True))

    return read


def read_overflow(name: str, value: str, quirks: bool) -> Style | None:
    words = value.split()
    if not 1 <= len(words) <= 2 or not _OVERFLOWS.issuperset(words):
        return None
    return {"overflow-x": words[0], "overflow-y": words[-1]}


def read_overflow_side(name: str, value: str, quirks: bool) -> Style | None:
    return {name: value} if value in _OVERFLOWS else None


def read_opacity(name: str, value: str, quirks: bool) -> Style | None:
    if "(" in value:
        reckoned = pixels(value)
        return {name: value} if is_uncertain(value) else None if reckoned is None else {name: f"{reckoned:.4f}"}
    return {name: value} if re.fullmatch(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?\d++)?+%?", value) else None


def read_display(name: str, value: str, quirks: bool) -> Style | None:
    words = value.split()
    is_known = value in _KNOWN_DISPLAYS or (
        len(words) in (2, 3)
        and sum(not kind.isdisjoint(words) for kind in _DISPLAY_WORDS) == len(words)
        and all(any(word in kind for kind in _DISPLAY_WORDS) for word in words)
    )
    return {name: value} if is_known else None


def read_flex(name: str, value: str, quirks: bool) -> Style | None:
    """``none``, ``1``, ``0 0 0``: how much a box grows, and from which size."""
    words = value.split()
    if value in ("none", "auto", "initial"):
        return {"flex-grow": "1" if value == "auto" else "0", "flex-basis": "auto"}
    if not 1 <= len(words) <= 3 or any(pixels(word) is None and word not in _SIZES for word in words):
        return None
    amounts = [word for word in words if _PLAIN_NUMBER.fullmatch(word)]
    basis = [word for word in words if word not in amounts] + amounts[2:]
    return {"flex-grow": amounts[0] if amounts else "1", "flex-basis": basis[0] if basis else "0"}


def pair(*names: str) -> Reader:
    """One or two lengths: start and end."""

    def read(name: str, value: str, quirks: bool) -> Style | None:
        words = _WORDS.findall(value)
        if not 1 <= len(words) <= 2 or any(read_length("x", word, quirks) is None for word in words):
            return None
        return dict(zip(names, (words[0], words[-1]), strict=True))

    return read


def read_line_height(name: str, value: str, quirks: bool) -> Style | None:
    return {name: value} if value == "normal" or pixels(value) is not None or is_uncertain(value) else None


def read_number(name: str, value: str, quirks: bool) -> Style | None:
    return {name: value} if value in ("normal", "auto", "none") or len(numbers(value)) else None


def renamed(read: Reader) -> Reader:
    return lambda name, value, quirks: read(SAME.get(name, name), value, quirks)


def checked(is_valid: Callable[[str], bool]) -> Reader:
    return lambda name, value, quirks: {SAME.get(name, name): value} if is_valid(value) else None
