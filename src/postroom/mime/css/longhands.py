"""The declarations that decide whether text is visible: shorthands expanded, values that no browser accepts dropped."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from postroom.mime.css.functions import BOXES, FILTERS, SHAPES, TRANSFORMS, are_amounts, checked, is_made_of
from postroom.mime.css.syntax import split_outside
from postroom.mime.css.values import UNKNOWN, Style, colour, is_uncertain, is_unknown_colour, numbers, pixels

WIDE: Final = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
OVERLAID: Final = "-overlaid"  # our own property: something that is not an element may cover the text
UNDECIDED: Final = "-undecided"  # our own property: only a browser knows what a value stands for
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
_FOREIGN_IMAGE = re.compile(r"(?<![\w-])-(?:moz|ms|o|khtml)-[a-z-]++\(")  # of other engines
_BARE_COLOUR = re.compile(r"[0-9a-f]{3}(?:[0-9a-f]{3})?\Z")
_LONGEST: Final = 4_000  # characters of a value
_SHORT: Final = 200  # of one that is worth caching
_OVERFLOWS: Final = frozenset({"visible", "hidden", "clip", "scroll", "auto", "overlay"})
_SIZES: Final = frozenset(
    {
        *("auto", "none", "normal", "fit-content", "max-content", "min-content", "stretch", "content"),
        *("-webkit-fill-available", "-webkit-fit-content", "-webkit-max-content", "-webkit-min-content"),
    }
)
_SYSTEM_FONTS: Final = frozenset({"caption", "icon", "menu", "message-box", "small-caption", "status-bar"})
_DISPLAY_WORDS: Final = frozenset(
    {"block", "inline", "run-in", "flow", "flow-root", "table", "flex", "grid", "ruby", "math", "list-item"}
)
_STANDS_FOR = re.compile(r"(?<![\w-])(?:if|attr|--[\w-]++)\(")
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
_POSITIONS: Final = frozenset({"static", "relative", "absolute", "fixed", "sticky"})


def longhands(name: str, value: str, quirks: bool) -> Style:
    """What a declaration sets; empty if that is irrelevant or invalid."""
    if name not in _READERS or not value:
        return {}
    value = value if len(value) <= _LONGEST else UNKNOWN
    if "(" in value:
        if _STANDS_FOR.search(value):
            return {UNDECIDED: "yes"}
        value += ")" * (value.count("(") - value.count(")"))  # the end of a style closes what is open
    return (_usual_longhands if len(value) <= _SHORT else _longhands)(name, value, quirks)


def _longhands(name: str, value: str, quirks: bool) -> Style:
    if value in WIDE:
        return dict.fromkeys(_PARTS.get(name, (_SAME.get(name, name),)), value)
    return _READERS[name](name, value, quirks) or {}


_usual_longhands = lru_cache(maxsize=8192)(_longhands)


def is_relevant(name: str) -> bool:
    """Whether a declaration may affect what is visible."""
    return name in _READERS or name == "all" or name.startswith("--")


def is_checked(name: str) -> bool:
    """Whether values of this property are examined closely enough to know which are valid."""
    return name in _READERS and _READERS[name] is not _as_is


def _as_is(name: str, value: str, quirks: bool) -> Style:
    return {_SAME.get(name, name): value}


def _one_of(*values: str) -> Callable[[str, str, bool], Style | None]:
    known = frozenset(values)
    return lambda name, value, quirks: {name: value} if value in known else None


def _colour(name: str, value: str, quirks: bool) -> Style | None:
    value = f"#{value}" if quirks and _BARE_COLOUR.match(value) else value
    is_known = colour(value) is not None or value == "currentcolor" or is_unknown_colour(value)
    return {_SAME.get(name, name): value} if is_known else None


def _length(name: str, value: str, quirks: bool) -> Style | None:
    if value in _SIZES or value.startswith("fit-content("):
        return {name: value}
    return {name: value} if pixels(value, unitless=quirks) is not None or is_uncertain(value) else None


def _font_size(name: str, value: str, quirks: bool) -> Style | None:
    if value in FONT_SIZES or value in ("smaller", "larger"):
        return {"font-size": value}
    size = pixels(value, unitless=quirks)
    return {"font-size": value} if (size is not None and size >= 0) or is_uncertain(value) else None


def _font(name: str, value: str, quirks: bool) -> Style | None:
    """``bold 0/0 a``: the size comes before the family, and both must be there."""
    if value in _SYSTEM_FONTS:
        return {"font-size": "small"}
    words = _WORDS.findall(value.replace(" /", "/").replace("/ ", "/"))
    for index, word in enumerate(words[:-1]):
        size = word.partition("/")[0]
        is_weight = size.isdecimal() and size != "0"
        if not is_weight and (found := _font_size("font-size", size, False)):
            return found if index + 1 < len(words) else None
    return None


def _background(name: str, value: str, quirks: bool) -> Style | None:
    if _FOREIGN_IMAGE.search(value):
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


def _sides(*names: str) -> Callable[[str, str, bool], Style | None]:
    """One to four lengths: top, right, bottom, left."""

    def read(name: str, value: str, quirks: bool) -> Style | None:
        words = _WORDS.findall(value)
        if not 1 <= len(words) <= 4 or any(_length("x", word, quirks) is None for word in words):
            return None
        top = words[0]
        right = words[1] if len(words) > 1 else top
        bottom = words[2] if len(words) > 2 else top
        left = words[3] if len(words) > 3 else right
        return dict(zip(names, (top, right, bottom, left), strict=True))

    return read


def _overflow(name: str, value: str, quirks: bool) -> Style | None:
    words = value.split()
    if not 1 <= len(words) <= 2 or not _OVERFLOWS.issuperset(words):
        return None
    return {"overflow-x": words[0], "overflow-y": words[-1]}


def _overflow_side(name: str, value: str, quirks: bool) -> Style | None:
    return {name: value} if value in _OVERFLOWS else None


def _opacity(name: str, value: str, quirks: bool) -> Style | None:
    if "(" in value:
        reckoned = pixels(value)
        return {name: value} if is_uncertain(value) else None if reckoned is None else {name: f"{reckoned:.4f}"}
    return {name: value} if re.fullmatch(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?\d++)?+%?", value) else None


def _display(name: str, value: str, quirks: bool) -> Style | None:
    words = value.split()
    is_known = value in _KNOWN_DISPLAYS or (len(words) in (2, 3) and _DISPLAY_WORDS.issuperset(words))
    return {name: value} if is_known else None


def _flex(name: str, value: str, quirks: bool) -> Style | None:
    """``none``, ``1``, ``0 0 0``: how much a box grows, and from which size."""
    words = value.split()
    if value in ("none", "auto", "initial"):
        return {"flex-grow": "1" if value == "auto" else "0", "flex-basis": "auto"}
    if not 1 <= len(words) <= 3 or any(pixels(word) is None and word not in _SIZES for word in words):
        return None
    amounts = [word for word in words if _PLAIN_NUMBER.fullmatch(word)]
    basis = [word for word in words if word not in amounts] + amounts[2:]
    return {"flex-grow": amounts[0] if amounts else "1", "flex-basis": basis[0] if basis else "0"}


def _pair(*names: str) -> Callable[[str, str, bool], Style | None]:
    """One or two lengths: start and end."""

    def read(name: str, value: str, quirks: bool) -> Style | None:
        words = _WORDS.findall(value)
        if not 1 <= len(words) <= 2 or any(_length("x", word, quirks) is None for word in words):
            return None
        return dict(zip(names, (words[0], words[-1]), strict=True))

    return read


def _line_height(name: str, value: str, quirks: bool) -> Style | None:
    return {name: value} if value == "normal" or pixels(value) is not None or is_uncertain(value) else None


def _number(name: str, value: str, quirks: bool) -> Style | None:
    return {name: value} if value in ("normal", "auto", "none") or len(numbers(value)) else None


_NONE: Final = frozenset({"none"})
_AXES: Final = frozenset({"none", "x", "y", "z"})
_CONTAINED: Final = frozenset({"none", "strict", "content", "size", "inline-size", "layout", "style", "paint"})


def _is_filter(value: str) -> bool:
    return value == "none" or "progid" in value or is_made_of(value, FILTERS)


def _is_transform(value: str) -> bool:
    return value == "none" or is_made_of(value, TRANSFORMS)


def _is_shape(value: str) -> bool:
    return value == "none" or is_made_of(value, SHAPES, BOXES)


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
        "run-in",
    ]
)
_SAME: Final = {
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
_PARTS: Final = {
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


def _checked(is_valid: Callable[[str], bool]) -> Callable[[str, str, bool], Style | None]:
    return checked(is_valid, lambda name: _SAME.get(name, name))


def _renamed(read: Callable[[str, str, bool], Style | None]) -> Callable[[str, str, bool], Style | None]:
    return lambda name, value, quirks: read(_SAME.get(name, name), value, quirks)


_READERS: Final[dict[str, Callable[[str, str, bool], Style | None]]] = {
    "display": _display,
    "visibility": _one_of("visible", "hidden", "collapse"),
    "content-visibility": _one_of("visible", "hidden", "auto"),
    "position": _one_of(*_POSITIONS),
    "float": _one_of("none", "left", "right", "inline-start", "inline-end"),
    "opacity": _opacity,
    "-webkit-opacity": _renamed(_opacity),
    "color": _colour,
    "background-color": _colour,
    "-webkit-text-fill-color": _colour,
    "background": _background,
    "font": _font,
    "font-size": _font_size,
    "margin": _sides(*_PARTS["margin"]),
    "padding": _sides(*_PARTS["padding"]),
    "inset": _sides(*_PARTS["inset"]),
    "overflow": _overflow,
    "overflow-x": _overflow_side,
    "overflow-y": _overflow_side,
    "background-image": _checked(
        lambda value: _FOREIGN_IMAGE.search(value) is None and (value == "none" or "(" in value)
    ),
    "overflow-block": _renamed(_overflow_side),
    "overflow-inline": _renamed(_overflow_side),
    "flex": _flex,
    "flex-grow": _number,
    "flex-basis": _length,
    "font-size-adjust": _number,
    "line-height": _line_height,
    "contain": _checked(lambda value: _CONTAINED.issuperset(value.split())),
    "backface-visibility": _one_of("visible", "hidden"),
    "-webkit-backface-visibility": _checked(lambda value: value in ("visible", "hidden")),
    "-webkit-text-security": _one_of("none", "disc", "circle", "square"),
    "clip": _checked(lambda value: value == "auto" or value.startswith("rect(")),
    "filter": _checked(_is_filter),
    "-webkit-filter": _checked(_is_filter),
    "transform": _checked(_is_transform),
    "-webkit-transform": _checked(_is_transform),
    "clip-path": _checked(_is_shape),
    "-webkit-clip-path": _checked(_is_shape),
    "scale": _checked(lambda value: are_amounts(value, _NONE)),
    "translate": _checked(lambda value: are_amounts(value, _NONE)),
    "rotate": _checked(lambda value: are_amounts(value, _AXES)),
    **{name: _pair(*_PARTS[name]) for name in _PARTS if name.endswith(("-inline", "-block"))},
    "zoom": _number,
    "z-index": _number,
    **dict.fromkeys(
        [
            "height",
            "max-height",
            "min-height",
            "width",
            "max-width",
            "min-width",
            "top",
            "right",
            "bottom",
            "left",
            "margin-left",
            "margin-top",
            "margin-right",
            "margin-bottom",
            "padding-bottom",
            "padding-top",
            "padding-left",
            "padding-right",
            "text-indent",
            "letter-spacing",
        ],
        _length,
    ),
    **dict.fromkeys(
        (
            name
            for name in _SAME
            if _SAME[name]
            in (
                "left",
                "right",
                "top",
                "bottom",
                "margin-left",
                "margin-right",
                "margin-top",
                "padding-left",
                "padding-top",
                "height",
                "width",
                "max-height",
                "max-width",
            )
        ),
        _renamed(_length),
    ),
    **dict.fromkeys(
        [
            "background-clip",
            "-webkit-background-clip",
            "mask",
            "-webkit-mask",
            "mask-image",
            "-webkit-mask-image",
            "mix-blend-mode",
            "white-space",
            "animation",
            "-webkit-animation",
            "animation-name",
            "-webkit-animation-name",
            "text-shadow",
            "-webkit-text-stroke",
            "-webkit-line-clamp",
            "offset-path",
            "offset",
            "columns",
            "column-width",
            "column-count",
            "contain-intrinsic-size",
            "contain-intrinsic-height",
            "contain-intrinsic-block-size",
            "transform-origin",
            "-webkit-transform-origin",
            "color-scheme",
            "border",
            "border-width",
            "border-top",
            "border-top-width",
            "outline-width",
            "grid-template",
            "grid-template-rows",
            "grid-template-columns",
            "grid-auto-rows",
            "box-shadow",
            "outline",
            "outline-offset",
            OVERLAID,
        ],
        _as_is,
    ),
}
