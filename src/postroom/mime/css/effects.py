"""A style, understood: what it does to the text beneath it, as far as that can be said without laying out the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.mime.css.geometry import Shift, clip_state, scale_of, shift_of
from postroom.mime.css.longhands import WIDE
from postroom.mime.css.sight import DOUBTFUL, HIDDEN, SEEN, Sight
from postroom.mime.css.syntax import split_outside
from postroom.mime.css.values import Colour, Style, colour, is_unknown_colour, lengths, numbers, pixels

_TINY: Final = 2.0  # pixels: nobody reads through a box of this height or width
_COLOURS_IN = re.compile(r"#[0-9a-f]{3,8}\b|(?<![a-z-])[a-z-]++\([^()]*+\)|[a-z]++")
_OPACITY = re.compile(r"opacity\(\s*+([\d.]++%?)")
_BLUR = re.compile(r"blur\(\s*+([\d.]++)(px|em|rem)?")
_ODD_FILTER = re.compile(r"brightness\(|contrast\(|invert\(|url\(|alpha\(opacity")
_INHERITED: Final = frozenset({"inherit", "unset", "revert", "revert-layer"})


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """Compared by identity: one style text mostly has one effect."""

    sight: Sight = SEEN  # of everything inside, whatever it says about itself
    clip: Sight = SEEN  # of everything inside that is not placed elsewhere
    room: tuple[float, float] | None = None  # width and height of a box that hides what does not fit
    ink: Colour | str | None = None  # a word: "inherit", "unknown"
    fill: Colour | str | None = None  # takes the place of the ink; a word: "ink", "unknown"
    grounds: tuple[Colour, ...] | None = None  # those the text may stand on
    has_image: bool = False
    font_size: str = ""
    visible: bool | None = None
    opacity: float = 1.0
    scale: float = 1.0
    shift: Shift | None = None
    position: str = ""
    indent: float | None = None
    is_block: bool | None = None  # None: as its element is by itself
    outlined: bool = False  # drawn by a shadow, a stroke or its background
    covers: bool = False  # an opaque box that may lie over other text
    variables: Mapping[str, str] | None = None


UNKNOWN_EFFECT: Final = Effect(sight=DOUBTFUL)  # of a style that was not worked out


def effect_of(style: Style, *, animations: frozenset[str] = frozenset()) -> Effect | None:
    """None where the style does nothing to the text."""
    if not style:
        return None
    custom = {name: value for name, value in style.items() if name.startswith("--")}
    grounds, has_image = _grounds(style)
    position = style.get("position", "")
    is_placed = position in ("absolute", "fixed")
    return Effect(
        sight=max(_own_sight(style, animations), clip_state(style)),
        clip=_room_state(style),
        room=_room(style),
        ink=_ink(style.get("color", "")),
        fill=_fill(style.get("-webkit-text-fill-color", "")),
        grounds=grounds,
        has_image=has_image,
        font_size=style.get("font-size", ""),
        visible=_visible(style.get("visibility", "")),
        opacity=_opacity(style),
        scale=scale_of(style),
        shift=shift_of(style),
        position=position,
        indent=_indent(style),
        is_block=True if is_placed or style.get("float", "none") != "none" else _is_block(style.get("display", "")),
        outlined=_is_outlined(style),
        covers=bool(grounds or has_image) and _may_cover(style, position),
        variables=custom or None,
    )


def _own_sight(style: Style, animations: frozenset[str]) -> Sight:
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return HIDDEN
    if style.get("-webkit-text-security", "none") not in ("none", *WIDE):
        return HIDDEN
    filtered = style.get("filter", "")
    blur = _BLUR.search(filtered)
    radius = _first(blur[1], 0.0) if blur else 0.0
    if blur and radius * (16 if blur[2] in ("em", "rem") else 1) >= 4:
        return HIDDEN if radius >= 12 else DOUBTFUL
    is_odd = (
        _ODD_FILTER.search(filtered) is not None
        or style.get("mask-image", "none") not in ("none", *WIDE)
        or style.get("mix-blend-mode", "normal") not in ("normal", *WIDE)
        or (style.get("z-index", "").startswith("-") and style.get("position", "static") != "static")
        or (pixels(style.get("letter-spacing", "0")) or 0) <= -8
        or any(name in animations for name in style.get("animation-name", "").replace(",", " ").split())
    )
    return DOUBTFUL if is_odd else SEEN


def _opacity(style: Style) -> float:
    own = _first(style.get("opacity", ""), 1.0)
    found = _OPACITY.search(style.get("filter", ""))
    filtered = _first(found[1], 1.0) if found else 1.0
    return min(1.0, max(0.0, own)) * min(1.0, filtered)


def _first(value: str, otherwise: float) -> float:
    return next(iter(numbers(value)), otherwise)


def _visible(value: str) -> bool | None:
    return None if not value or value in _INHERITED else value in ("visible", "initial")


def _ink(value: str) -> Colour | str | None:
    if not value:
        return None
    if value in _INHERITED or value == "currentcolor":
        return "inherit"
    if value == "initial":
        return (0, 0, 0, 1.0)
    return colour(value) or "unknown"


def _fill(value: str) -> Colour | str | None:
    if not value or value in _INHERITED:
        return None
    return "ink" if value in ("currentcolor", "initial") else colour(value) or "unknown"


def _grounds(style: Style) -> tuple[tuple[Colour, ...] | None, bool]:
    """(the colours that may lie behind the text, whether a picture may)."""
    image = style.get("background-image", "none")
    has_picture = "url(" in image or "image-set(" in image
    flat = colour(style.get("background-color", "") or "transparent")
    if flat is None and is_unknown_colour(style.get("background-color", "")):
        has_picture = True
    found: tuple[Colour, ...] = (flat,) if flat and flat[3] > 0 else ()
    if "gradient(" in image:
        stops = _stops(image)
        found = stops if all(stop[3] > 0.9 for stop in stops) else found + stops
    return (tuple(found) or None), has_picture


def _stops(image: str) -> tuple[Colour, ...]:
    inner = image.partition("gradient(")[2]
    words = [word for part in split_outside(inner, ",") for word in _COLOURS_IN.findall(part)[:3]]
    return tuple(found for word in words if (found := colour(word)) is not None)[:6]


def _indent(style: Style) -> float | None:
    value = style.get("text-indent", "")
    if not value or value in _INHERITED:
        return None
    return pixels(value)


_BLOCKS: Final = frozenset(
    {
        "block",
        "inline-block",
        "flex",
        "inline-flex",
        "grid",
        "inline-grid",
        "flow-root",
        "list-item",
        "-webkit-box",
        "-webkit-inline-box",
        "-webkit-flex",
    }
)


def _is_block(display: str) -> bool | None:
    """None where the style leaves it open."""
    return None if not display or display in WIDE else display in _BLOCKS


def _hides_rest(style: Style) -> bool:
    return any(style.get(name, "visible") not in ("visible", *WIDE) for name in ("overflow-x", "overflow-y"))


def _side(style: Style, side: str) -> float | None:
    """The size of a box, if it is said; a part of an unknown height says nothing."""
    found: list[float] = []
    for name in (side, f"max-{side}"):
        value = style.get(name, "")
        length = None if not value or (side == "height" and "%" in value) else pixels(value)
        if length is not None:
            found.append(length)
    least = pixels(style.get(f"min-{side}", "") or "auto")
    return max(min(found), least or 0.0) if found else None


def _room_state(style: Style) -> Sight:
    """A box without room for a line, which hides what does not fit. Room may yet come from its padding."""
    if not _hides_rest(style):
        return SEEN
    for side, padding in (("height", "padding-bottom"), ("width", "padding-right")):
        length = _side(style, side)
        if length is not None and length <= _TINY:
            padded = pixels(style.get(padding, "") or "0") or 0.0
            return DOUBTFUL if padded > _TINY else HIDDEN
        if side == "height" and any(
            numbers(style.get(name, "") or "1")[:1] == [0.0] and "%" in style[name]
            for name in ("height", "max-height")
            if name in style
        ):
            return DOUBTFUL
    return SEEN


def _room(style: Style) -> tuple[float, float] | None:
    if not _hides_rest(style):
        return None
    width, height = _side(style, "width"), _side(style, "height")
    if style.get("white-space", "").startswith(("nowrap", "pre")) and width is not None:
        return width, min(height or 20.0, 20.0)
    return (width or 800.0, height) if height is not None and height < 120 else None


def _is_outlined(style: Style) -> bool:
    return (
        style.get("text-shadow", "none") not in ("none", *WIDE)
        or "text" in style.get("background-clip", "")
        or any(lengths(style.get("-webkit-text-stroke", "")))
    )


def _may_cover(style: Style, position: str) -> bool:
    """Placed over others, and of a size of its own."""
    sizes = [_side(style, side) or 0.0 for side in ("width", "height")]
    is_large = min(sizes) >= 8 or sum(name in style for name in ("top", "right", "bottom", "left")) >= 3
    is_large = is_large or "100%" in (style.get("width"), style.get("height"))
    pulled = any((pixels(style.get(name, "") or "0") or 0.0) <= -8 for name in ("margin-top", "margin-left"))
    return is_large and (position in ("absolute", "fixed") or pulled)
