"""Values made of functions: ``scale(2) rotate(1deg)``. One that no browser accepts does not replace one before it."""

from __future__ import annotations

import re
from typing import Final

_CALL = re.compile(r"(?<![a-z0-9-])([a-z0-9-]++)\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\)")
_IDENTIFIER = re.compile(r"(?<![\w.#%-])-?[a-z][a-z-]*+(?!\()")
_AMOUNT = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?\d++)?+(?:[a-z]++|%)?+")
_OPAQUE: Final = ('"', "'", "url(", "unknown(")  # not looked into

TRANSFORMS: Final = frozenset(
    {
        *("translate", "translatex", "translatey", "translatez", "translate3d", "matrix", "matrix3d", "perspective"),
        *("scale", "scalex", "scaley", "scalez", "scale3d", "skew", "skewx", "skewy"),
        *("rotate", "rotatex", "rotatey", "rotatez", "rotate3d"),
    }
)
FILTERS: Final = frozenset(
    {
        *("blur", "brightness", "contrast", "drop-shadow", "grayscale", "hue-rotate", "invert", "opacity", "saturate"),
        *("sepia", "url", "alpha"),
    }
)
SHAPES: Final = frozenset({"inset", "circle", "ellipse", "polygon", "path", "rect", "xywh", "shape", "url"})
_SHAPE_WORDS: Final = frozenset(
    {
        *(
            "at",
            "round",
            "center",
            "left",
            "right",
            "top",
            "bottom",
            "closest-side",
            "farthest-side",
            "evenodd",
            "auto",
        ),
        *("closest-corner", "farthest-corner", "nonzero"),
    }
)
BOXES: Final = frozenset(
    {*("border-box", "padding-box", "content-box", "margin-box", "fill-box", "stroke-box", "view-box")}
)


def is_made_of(value: str, functions: frozenset[str], words: frozenset[str] = frozenset()) -> bool:
    """Only of these functions, and these words outside of them."""
    if any(sign in value for sign in _OPAQUE):
        return True
    calls = _CALL.findall(value)
    bare = _CALL.sub(" ", value).split()
    is_known = all(name in functions and _are_plain(name, arguments) for name, arguments in calls)
    return bool(calls or bare) and is_known and all(word in words for word in bare)


def _are_plain(name: str, arguments: str) -> bool:
    if name == "shape" or name in FILTERS:  # colours and commands
        return True
    return all(word in _SHAPE_WORDS and name in SHAPES for word in _IDENTIFIER.findall(arguments))


def are_amounts(value: str, words: frozenset[str]) -> bool:
    """Of ``scale``, ``rotate`` and ``translate``: numbers, and these words."""
    return "(" in value or all(word in words or _AMOUNT.fullmatch(word) for word in value.split())
