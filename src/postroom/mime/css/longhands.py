"""The declarations that decide whether text is visible: shorthands expanded, values that no browser accepts dropped."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from postroom.mime.css.functions import BOXES, FILTERS, SHAPES, TRANSFORMS, are_amounts, is_made_of
from postroom.mime.css.properties import (
    FOREIGN_IMAGE,
    PARTS,
    SAME,
    Reader,
    as_is,
    checked,
    one_of,
    pair,
    read_background,
    read_colour,
    read_display,
    read_flex,
    read_font,
    read_font_size,
    read_length,
    read_line_height,
    read_number,
    read_opacity,
    read_overflow,
    read_overflow_side,
    renamed,
    sides,
)
from postroom.mime.css.values import UNKNOWN, Style

WIDE: Final = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
OVERLAID: Final = "-overlaid"  # our own property: something that is not an element may cover the text
UNDECIDED: Final = "-undecided"  # our own property: only a browser knows what a value stands for
_LONGEST: Final = 4_000  # characters of a value
_SHORT: Final = 200  # of one that is worth caching
_STANDS_FOR = re.compile(r"(?<![\w-])(?:if|attr|env(?!\(\s*+safe-area-inset-)|--[\w-]++)\(")
BACKWARDS: Final = frozenset({"bidi-override", "isolate-override"})  # letters in the order that `direction` says
_POSITIONS: Final = frozenset({"static", "relative", "absolute", "fixed", "sticky"})
_NONE: Final = frozenset({"none"})
_AXES: Final = frozenset({"none", "x", "y", "z"})
_CONTAINED: Final = frozenset({"none", "strict", "content", "size", "inline-size", "layout", "style", "paint"})


def longhands(name: str, value: str, quirks: bool) -> Style:
    """What a declaration sets; empty if that is irrelevant or invalid."""
    if name not in _READERS or not value:
        return {}
    value = value if len(value) <= _LONGEST else UNKNOWN
    if "(" in value:
        if _STANDS_FOR.search(value):
            return undecided(name, quirks)
        value += ")" * (value.count("(") - value.count(")"))  # the end of a style closes what is open
    return (_usual_longhands if len(value) <= _SHORT else _longhands)(name, value, quirks)


def undecided(name: str, quirks: bool) -> Style:
    """Of a value that only a browser knows. What the property was set to before may no longer hold."""
    return {**longhands(name, "unset", quirks), UNDECIDED: "yes"}


def _longhands(name: str, value: str, quirks: bool) -> Style:
    if value in WIDE:
        return dict.fromkeys(PARTS.get(name, (SAME.get(name, name),)), value)
    return _READERS[name](name, value, quirks) or {}


_usual_longhands = lru_cache(maxsize=8192)(_longhands)


def is_relevant(name: str) -> bool:
    """Whether a declaration may affect what is visible."""
    return name in _READERS or name == "all" or name.startswith("--")


def is_checked(name: str) -> bool:
    """Whether values of this property are examined closely enough to know which are valid."""
    return name in _READERS and _READERS[name] is not as_is


def _is_filter(value: str) -> bool:
    return value == "none" or "progid" in value or is_made_of(value, FILTERS)


def _is_transform(value: str) -> bool:
    return value == "none" or is_made_of(value, TRANSFORMS)


def _is_shape(value: str) -> bool:
    return value == "none" or is_made_of(value, SHAPES, BOXES)


_READERS: Final[dict[str, Reader]] = {
    "display": read_display,
    "visibility": one_of("visible", "hidden", "collapse"),
    "content-visibility": one_of("visible", "hidden", "auto"),
    "position": one_of(*_POSITIONS),
    "float": one_of("none", "left", "right", "inline-start", "inline-end"),
    "opacity": read_opacity,
    "-webkit-opacity": renamed(read_opacity),
    "color": read_colour,
    "background-color": read_colour,
    "-webkit-text-fill-color": read_colour,
    "background": read_background,
    "font": read_font,
    "font-size": read_font_size,
    "margin": sides(*PARTS["margin"]),
    "padding": sides(*PARTS["padding"]),
    "inset": sides(*PARTS["inset"]),
    "overflow": read_overflow,
    "overflow-x": read_overflow_side,
    "overflow-y": read_overflow_side,
    "background-image": checked(
        lambda value: FOREIGN_IMAGE.search(value) is None and (value == "none" or "(" in value)
    ),
    "overflow-block": renamed(read_overflow_side),
    "overflow-inline": renamed(read_overflow_side),
    "flex": read_flex,
    "flex-grow": read_number,
    "flex-basis": read_length,
    "font-size-adjust": read_number,
    "line-height": read_line_height,
    "contain": checked(lambda value: _CONTAINED.issuperset(value.split())),
    "direction": one_of("ltr", "rtl"),
    "unicode-bidi": one_of("normal", "embed", "isolate", "plaintext", *BACKWARDS),
    "backface-visibility": one_of("visible", "hidden"),
    "-webkit-backface-visibility": checked(lambda value: value in ("visible", "hidden")),
    "-webkit-text-security": one_of("none", "disc", "circle", "square"),
    "clip": checked(lambda value: value == "auto" or value.startswith("rect(")),
    "filter": checked(_is_filter),
    "-webkit-filter": checked(_is_filter),
    "transform": checked(_is_transform),
    "-webkit-transform": checked(_is_transform),
    "clip-path": checked(_is_shape),
    "-webkit-clip-path": checked(_is_shape),
    "scale": checked(lambda value: are_amounts(value, _NONE)),
    "translate": checked(lambda value: are_amounts(value, _NONE)),
    "rotate": checked(lambda value: are_amounts(value, _AXES)),
    **{name: pair(*PARTS[name]) for name in PARTS if name.endswith(("-inline", "-block"))},
    "zoom": read_number,
    "z-index": read_number,
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
            "word-spacing",
        ],
        read_length,
    ),
    **dict.fromkeys(
        (
            name
            for name in SAME
            if SAME[name]
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
        renamed(read_length),
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
            "-webkit-text-stroke-width",
            "aspect-ratio",
            "content",
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
        as_is,
    ),
}
