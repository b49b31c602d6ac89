"""Rare styles that may hide text by how boxes are laid out or painted. What they do is doubtful, never certain."""

from __future__ import annotations

import re
from typing import Final

from postroom.mime.css.geometry import translated
from postroom.mime.css.sight import DOUBTFUL, SEEN, Sight
from postroom.mime.css.values import Style, lengths, numbers, pixels

_NAMES: Final = frozenset({"content", "-webkit-text-stroke", "-webkit-text-stroke-width", "aspect-ratio", "flex-basis"})
_STROKE: Final = 3.0  # pixels: a line around letters that covers them
_FLAT: Final = 8.0  # times as wide as high
_REACH: Final = 30.0  # pixels that the background of a line extends over the lines before it
_PULLED: Final = 40.0
_OUTSIDE: Final = 16.0  # pixels: a line of text and no more
_FAR: Final = 10_000.0
_PICTURED = re.compile(r"\b(?:url|image-set|\w+-gradient|cross-fade|element)\(")


def sight_of(style: Style, *, cuts: bool) -> Sight:
    return SEEN if _NAMES.isdisjoint(style) or not _may_hide(style, cuts=cuts) else DOUBTFUL


def _may_hide(style: Style, *, cuts: bool) -> bool:
    """A picture in place of the content, letters under their own outline, boxes that are flat or without a width."""
    if _PICTURED.search(style.get("content", "")[:200]):
        return True
    strokes = (style.get(name, "")[:100] for name in ("-webkit-text-stroke", "-webkit-text-stroke-width"))
    if any(length >= _STROKE for stroke in strokes for length in lengths(stroke)):
        return True
    if not cuts:
        return False
    ratio = numbers(style.get("aspect-ratio", "").replace("/", " "))[:2]
    is_flat = bool(ratio) and ratio[0] >= _FLAT * (ratio[1] if len(ratio) > 1 else 1.0)
    return is_flat or (
        _length(style, "flex-basis", "auto") == 0 and next(iter(numbers(style.get("flex-grow", ""))), 0) <= 0
    )


def is_pushed_out(style: Style, side: str, length: float | None) -> bool:
    """A box of a given size whose padding and border, if they are part of it, leave no room before the content."""
    near = "top" if side == "height" else "left"
    before = (_length(style, f"padding-{near}") or 0.0) + _border(style, near)
    return length is not None and before > 0 and before >= length - 2


def reaches_over(style: Style, *, painted: bool) -> bool:
    """Whether a line's own background or border may be painted over the lines before it."""
    return max((_length(style, "padding-top") or 0.0) if painted else 0.0, _border(style, "top")) >= _REACH


def is_pulled_over(style: Style, position: str) -> bool:
    """A box moved over what is before it, beside it or above it."""
    if (_length(style, "margin-left") or 0.0) <= -_PULLED and (_length(style, "width", "auto") or 0.0) >= _PULLED:
        return True
    if "transform" in style or "translate" in style:
        return min(translated(style)) <= -_REACH
    if position != "relative":
        return False
    moved = [_length(style, name) or 0.0 for name in ("top", "left", "bottom", "right")]
    return min(moved[:2]) <= -_REACH or max(moved[2:]) >= _REACH


def beyond(style: Style, side: str, position: str) -> float:
    """How far a box is moved past the far side of the one around it: entirely, if it is placed by that side."""
    outside = -(_length(style, side) or 0.0)
    return _FAR if outside >= _OUTSIDE and position in ("absolute", "fixed") else max(0.0, outside)


def _length(style: Style, name: str, otherwise: str = "0") -> float | None:
    return pixels(style.get(name, "") or otherwise)


def _border(style: Style, side: str) -> float:
    names = ("border", "border-width", f"border-{side}", f"border-{side}-width")
    return max((length for name in names if name in style for length in lengths(style[name][:100])), default=0.0)
