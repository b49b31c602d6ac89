"""Where a style moves a box, how it scales it, and what it clips."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from postroom.mime.css.screen import HEIGHT, WIDTH, number
from postroom.mime.css.sight import DOUBTFUL, HIDDEN, SEEN, Sight
from postroom.mime.css.syntax import split_outside
from postroom.mime.css.values import Style, lengths, numbers, pixels

_FUNCTION = re.compile(r"(?<![a-z0-9])([a-z0-9]++)\(([^()]*+(?:\([^()]*+\)[^()]*+)*+)\)")
_WORDS = re.compile(r"(?:[^\s()]++|\([^()]*+\))++")
_ANGLE = re.compile(r"([+-]?(?:\d++(?:\.\d*+)?+|\.\d++))(deg|turn|rad|grad)?")
_DEGREES: Final = {"deg": 1.0, "turn": 360.0, "rad": 57.29578, "grad": 0.9}
_MOVING: Final = frozenset({"position", "margin-left", "margin-top", "padding-left", "transform", "translate"})
_FAR: Final = 5_000.0  # pixels: no message is that long


@dataclass(frozen=True, slots=True)
class Shift:
    """Pixels to the right and down. `is_from_page`: from the page's corner, not from where the box would be."""

    right: float = 0.0
    down: float = 0.0
    is_from_page: bool = False
    is_fixed: bool = False


def shift_of(style: Style) -> Shift | None:
    if _MOVING.isdisjoint(style):
        return None
    position = style.get("position", "static")
    right = _length(style, "margin-left", WIDTH)
    down = _length(style, "margin-top", WIDTH)
    if position != "static":
        right += _length(style, "left", WIDTH) if _says(style, "left") else -_length(style, "right", WIDTH)
        down += _length(style, "top", HEIGHT) if _says(style, "top") else -_length(style, "bottom", HEIGHT)
    if position == "fixed":
        right, down = _below_the_window(style, right, down)
    indented = _length(style, "padding-left", WIDTH)
    right += indented if indented >= WIDTH else 0.0
    moved_right, moved_down = translated(style)
    right, down = right + moved_right, down + moved_down
    is_placed = position in ("absolute", "fixed")
    if not is_placed and abs(right) < 40 and abs(down) < 40:
        return None
    return Shift(right, down, is_placed, position == "fixed")


def _below_the_window(style: Style, right: float, down: float) -> tuple[float, float]:
    """A fixed box that is measured from the other edges is outside of any window, however large."""
    if not _says(style, "top") and _length(style, "bottom", HEIGHT) <= -40:
        down = 2.0 * HEIGHT
    if not _says(style, "left") and _length(style, "right", WIDTH) <= -WIDTH / 2:
        right = float(WIDTH)
    return right, down


def _says(style: Style, name: str) -> bool:
    return style.get(name, "auto") not in ("auto", "inherit", "initial", "unset", "revert")


def _length(style: Style, name: str, whole: float) -> float:
    return (pixels(style[name], whole=whole) or 0.0) if name in style else 0.0


def translated(style: Style) -> tuple[float, float]:
    """A percentage is of the box itself: as wide as the page, and of unknown height."""
    right = down = 0.0
    pairs = [
        (name, arguments)
        for name, arguments in _FUNCTION.findall(style.get("transform", ""))
        if "translate" in name or name == "matrix"
    ]
    if style.get("translate", "none") != "none":
        pairs.append(("translate", style["translate"].replace(" ", ",")))
    for name, arguments in pairs:
        values = [pixels(part.strip(), whole=WIDTH) or 0.0 for part in split_outside(arguments, ",")]
        if name == "matrix":
            right, down = right + (values[4] if len(values) > 4 else 0), down + (values[5] if len(values) > 5 else 0)
        elif name == "translatey":
            down += 0.0 if "%" in arguments else values[0]
        else:
            right += values[0] if name != "translatez" else 0.0
            down += (
                values[1] if name in ("translate", "translate3d") and len(values) > 1 and "%" not in arguments else 0.0
            )
    return right, down


def place_state(right: float, down: float, *, is_from_page: bool, is_fixed: bool) -> Sight:
    """Of a box that was moved this far. Nobody can scroll left of the page or above it."""
    if right <= -WIDTH + 20 or down <= -_FAR or right >= 4 * WIDTH:
        return HIDDEN
    if is_fixed and (down <= -100 or down >= 2 * HEIGHT or right >= WIDTH):
        return HIDDEN
    if is_from_page and down <= -150:
        return HIDDEN if down <= -1_000 else DOUBTFUL
    if right <= -200 or down <= -400 or right >= WIDTH or down >= _FAR:
        return DOUBTFUL
    return SEEN


def scale_of(style: Style) -> float:
    """How much letters shrink, in the direction in which they shrink most."""
    factor = 1.0
    for name, arguments in _FUNCTION.findall(style.get("transform", "")):
        values = [abs(value) for value in numbers(arguments)]
        if name.startswith("scale") and name != "scalez" and values:
            factor *= min(values[:2])
        elif name in ("rotatex", "rotatey"):
            factor *= 0.0 if abs(_degrees(arguments) % 180 - 90) < 1 else 1.0
        elif name == "matrix" and len(values) == 6:
            factor *= abs(values[0] * values[3] - values[1] * values[2])
    if style.get("scale", "none") != "none" and (values := numbers(style["scale"])):
        factor *= min(abs(value) for value in values[:2])
    if (zoom := numbers(style.get("zoom", ""))) and zoom[0] > 0:
        factor *= zoom[0]
    return factor


def _degrees(angle: str) -> float:
    found = _ANGLE.match(angle.strip())
    return number(found[1]) * _DEGREES.get(found[2], 1.0) if found else 0.0


def turned_state(style: Style) -> Sight:
    """Of a box that is rotated in 3D. Seen from behind it may show nothing; the rest would need a real rendering."""
    behind = style.get("backface-visibility") == "hidden"
    for name, arguments in _FUNCTION.findall(style.get("transform", "")):
        if name in ("rotatex", "rotatey") and behind and 90 < _degrees(arguments) % 360 < 270:
            return HIDDEN
        angles = [abs(_degrees(part)) % 180 for part in arguments.split(",")]
        is_flat = all(value == 0 for value in numbers(arguments.rpartition(",")[2]))
        if name in ("rotate3d", "matrix3d", "perspective") or (name in ("translatez", "translate3d") and not is_flat):
            return DOUBTFUL
        if name.startswith("skew") and any(60 < angle < 120 for angle in angles):
            return DOUBTFUL
    return DOUBTFUL if len(style.get("rotate", "none").split()) > 1 else SEEN


def clip_state(style: Style) -> Sight:
    rectangle = style.get("clip", "")
    is_placed = style.get("position") in ("absolute", "fixed")
    if is_placed and rectangle.startswith("rect(") and _empty_rectangle(rectangle):
        return HIDDEN
    path = style.get("clip-path", "none")
    return SEEN if path in ("none", "inherit", "initial", "unset", "revert") else _path_state(path)


def _empty_rectangle(rectangle: str) -> bool:
    words = rectangle[5:].rstrip(")").replace(",", " ").split()
    edges = [pixels(word) for word in words]
    if len(edges) != 4:
        return False
    top, right, bottom, left = edges
    return (bottom is not None and bottom - (top or 0.0) <= 2) or (right is not None and right - (left or 0.0) <= 2)


def _path_state(path: str) -> Sight:
    found = _FUNCTION.match(path)
    if found is None:
        return DOUBTFUL
    name, arguments = found.groups()
    if name == "inset":
        return _inset_state(arguments.partition("round")[0])
    if name in ("circle", "ellipse"):
        radii = lengths(arguments.partition("at")[0])
        return HIDDEN if radii and min(radii) <= 2 else DOUBTFUL if "at" in arguments else SEEN
    if name == "polygon":
        points = [lengths(point) for point in split_outside(arguments, ",")]
        corners = [(point[0], point[1]) for point in points if len(point) == 2]
        return HIDDEN if _area(corners) <= 4 else SEEN if "%" in arguments else DOUBTFUL
    if name in ("rect", "xywh"):
        return DOUBTFUL if max(lengths(arguments), default=0.0) > 2 else HIDDEN
    return DOUBTFUL


def _inset_state(arguments: str) -> Sight:
    words = _WORDS.findall(arguments)
    if not words:
        return SEEN
    top = words[0]
    right = words[1] if len(words) > 1 else top
    bottom = words[2] if len(words) > 2 else top
    left = words[3] if len(words) > 3 else right
    for pair in ((top, bottom), (left, right)):
        values = [pixels(word, whole=100.0) or 0.0 for word in pair]
        if sum(values) >= 98 and all("%" in word or word == "0" for word in pair):
            return HIDDEN
        if sum(values) >= 12 and not all("%" in word for word in pair):
            return HIDDEN if sum(values) >= WIDTH else DOUBTFUL
    return SEEN


def _area(corners: list[tuple[float, float]]) -> float:
    twice = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(corners, corners[1:] + corners[:1], strict=True))
    return abs(twice) / 2
