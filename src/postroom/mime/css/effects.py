"""What a style does to the text inside an element, as far as can be known without laying out the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, prod
from typing import Final

from postroom.mime.css import tricks
from postroom.mime.css.geometry import Shift, clip_state, scale_of, shift_of, translated, turned_state
from postroom.mime.css.longhands import BACKWARDS, OVERLAID, UNDECIDED, WIDE
from postroom.mime.css.screen import WIDTH
from postroom.mime.css.sight import DOUBTFUL, HIDDEN, SEEN, Sight
from postroom.mime.css.syntax import split_outside, words_of_names
from postroom.mime.css.values import Colour, Style, colour, is_uncertain, is_unknown_colour, lengths, numbers, pixels

_TALL: Final = 600.0  # pixels: a box of this height shows more or less all of its content
_LINE: Final = 20.0
_NARROW: Final = 400.0  # pixels: margins may push words out of such a box
_DARK: Final[Colour] = (18, 18, 18, 1.0)  # a page in a dark colour scheme
_FRAME: Final = 40.0  # pixels: a border, outline or shadow of this width may cover text
_REACHING: Final = 8.0  # pixels from the edge of a box to its words, at least
_FAR_ORIGIN: Final = 100.0
_SHRINKING: Final = frozenset({"size", "strict"})
_UNSEEN_DISPLAYS: Final = frozenset({"none", "table-column", "table-column-group"})
_CONTAINED: Final = frozenset({"paint", "strict", "content"})
_SIGHT_NAMES: Final = frozenset(
    {
        *("display", "content-visibility", "-webkit-text-security", "filter", "mask-image"),
        *("mix-blend-mode", "z-index"),
        *("letter-spacing", "word-spacing", "animation-name", "font-size", "opacity", "offset-path"),
        *("grid-template-rows", "outline-offset", OVERLAID, UNDECIDED, "font-size-adjust", "margin-right"),
        *("transform-origin", "transform"),
        *("rotate", "backface-visibility", "unicode-bidi"),
    }
)
_EMPTY_TRACK = re.compile(r"(?<![\w.])0(?:fr|px|%)?(?![\w.])")
_TINY: Final = 2.0  # pixels: nothing can be read in a box of this height or width
_COLOURS_IN = re.compile(r"#[0-9a-f]{3,8}\b|(?<![a-z-])[a-z-]++\([^()]*+\)|[a-z]++")
_BRACKETED = re.compile(r"(?<![a-z])[a-z]++\([^()]*+\)")
_OPACITY = re.compile(r"opacity\(\s*+([\d.]++%?)")
_BLUR = re.compile(r"blur\(\s*+([\d.]++)(px|em|rem)?")
_ODD_FILTER = re.compile(r"brightness\(|contrast\(|invert\(|url\(|alpha\(opacity")
_INHERITED: Final = frozenset({"inherit", "unset", "revert", "revert-layer"})


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """Compared by identity: equal style texts mostly share one effect."""

    sight: Sight = SEEN  # of everything inside, whatever its own style
    clip: Sight = SEEN  # of everything inside that is not positioned elsewhere
    room: tuple[float, float] | None = None  # width and height of a box that hides what does not fit
    ink: Colour | str | None = None  # or one of "inherit", "unknown"
    fill: Colour | str | None = None  # replaces the ink; or one of "ink", "unknown"
    grounds: tuple[Colour, ...] | None = None  # possible backgrounds of the text
    has_image: bool = False
    is_inked: bool = False  # the background has the colour of the text
    font_size: str = ""
    visible: bool | None = None
    opacity: float = 1.0
    scale: float = 1.0
    shift: Shift | None = None
    position: str = ""
    indent: float | None = None
    is_block: bool | None = None  # None: the element's default
    outlined: bool = False  # drawn by a shadow, a stroke or its background
    covers: bool = False  # an opaque box that may cover other text
    reaches_over: bool = False  # of a line: painted over the lines before it
    cell: Sight = SEEN  # of everything inside, if this is a cell of a table
    cuts: bool = False  # what does not fit into the box is not shown
    size: tuple[float | None, float | None] = (None, None)  # width and height, as far as given in pixels
    is_share: bool = False  # the height is given as a share of the box around
    line: float | None = None  # height of a line in pixels, if given
    takes: tuple[float, float] = (0.0, 0.0)  # pixels to the right and down, before the text in it
    leading: float = 0.0  # pixels between the top of a line and its letters
    height: float = 0.0  # its own
    variables: Mapping[str, str] | None = None


UNKNOWN_EFFECT: Final = Effect(sight=DOUBTFUL)  # of a style that was not computed


def effect_of(style: Style, *, animations: frozenset[str] = frozenset()) -> Effect | None:
    """None if the style has no effect on the text."""
    if not style:
        return None
    custom = {name: value for name, value in style.items() if name.startswith("--")}
    grounds, has_image = _grounds(style)
    position = style.get("position", "")
    is_placed = position in ("absolute", "fixed")
    cuts = _hides_rest(style)
    return Effect(
        sight=max(_own_sight(style, animations), clip_state(style), tricks.sight_of(style, cuts=cuts)),
        clip=_room_state(style) if cuts else SEEN,
        room=_room(style) if cuts else None,
        ink="unknown" if _is_dark(style) and "canvas" in style.get("color", "") else _ink(style.get("color", "")),
        fill=_fill(style.get("-webkit-text-fill-color", "")),
        grounds=grounds,
        has_image=has_image,
        is_inked=style.get("background-color") == "currentcolor",
        font_size=style.get("font-size", ""),
        visible=_visible(style.get("visibility", "")),
        opacity=_opacity(style),
        scale=scale_of(style),
        shift=shift_of(style),
        position=position,
        indent=_indent(style),
        is_block=True if is_placed or style.get("float", "none") != "none" else _is_block(style.get("display", "")),
        outlined=_is_outlined(style),
        reaches_over=tricks.reaches_over(style, painted=bool(grounds)),
        covers=(bool(grounds or has_image) and _may_cover(style, position)) or _has_covering_frame(style, position),
        cell=_cell_state(style) if cuts else SEEN,
        cuts=cuts,
        size=(_side(style, "width"), _side(style, "height")),
        is_share=any("%" in style.get(name, "") for name in ("height", "max-height")),
        line=_line(style.get("line-height", "")),
        takes=_taken(style, position),
        leading=_leading(style.get("line-height", "")),
        height=_side(style, "height") or 0.0,
        variables=custom or None,
    )


def _own_sight(style: Style, animations: frozenset[str]) -> Sight:
    if _SIGHT_NAMES.isdisjoint(style):
        return SEEN
    if style.get("display") in _UNSEEN_DISPLAYS or style.get("content-visibility") == "hidden":
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
        or any((pixels(style.get(name, "0")) or 0) <= -8 for name in ("letter-spacing", "word-spacing"))
        or not animations.isdisjoint(words_of_names(style.get("animation-name", "")))
        or any(is_uncertain(style.get(name, "")) for name in ("font-size", "opacity"))
        or style.get("offset-path", "none") not in ("none", *WIDE)
        or _EMPTY_TRACK.search(style.get("grid-template-rows", "")) is not None
        or (pixels(style.get("outline-offset", "0")) or 0) <= -8
        or OVERLAID in style
        or UNDECIDED in style
        or _first(style.get("font-size-adjust", ""), 1.0) < 0.2
        or (pixels(style.get("margin-right", "0")) or 0) <= -_TALL
        or (style.get("unicode-bidi") in BACKWARDS and style.get("direction") != "ltr")
        or _swings(style)
    )
    return DOUBTFUL if is_odd else turned_state(style)


def _swings(style: Style) -> bool:
    """Turned or scaled around a point far away, a box ends somewhere else."""
    origin = lengths(style.get("transform-origin", "")[:100])
    return any(abs(length) > 2 * WIDTH or length < -_FAR_ORIGIN for length in origin) and "transform" in style


def _opacity(style: Style) -> float:
    own = _first(style.get("opacity", ""), 1.0)
    filtered = (min(1.0, _first(amount, 1.0)) for amount in _OPACITY.findall(style.get("filter", "")))
    return prod(filtered, start=min(1.0, max(0.0, own)))


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
    """(the colours that may be behind the text, whether a picture may be)."""
    if style.get("display") == "contents":  # no box, so nothing is painted
        return None, False
    image = style.get("background-image", "none")
    if "text" in style.get("background-clip", ""):  # painted within the letters, not behind them
        return None, "(" in image
    has_picture = "url(" in image or "image-set(" in image or _is_dark(style)
    flat = colour(style.get("background-color", "") or "transparent")
    if flat is None and is_unknown_colour(style.get("background-color", "")):
        has_picture = True
    found: tuple[Colour, ...] = (flat,) if flat and flat[3] > 0 else (_DARK,) if _is_dark(style) else ()
    if "inset" in style.get("box-shadow", ""):  # it is painted over them
        found += _painted_inside(style["box-shadow"])
    if "gradient(" in image:
        stops = _stops(image)
        found = stops if all(stop[3] > 0.9 for stop in stops) else found + stops
    return (tuple(found) or None), has_picture


def _painted_inside(shadows: str) -> tuple[Colour, ...]:
    """The colours of shadows that reach the words; a line at the edge of a button does not."""
    reaching = (
        shadow
        for shadow in split_outside(shadows[:1_000], ",")
        if "inset" in shadow and sum(map(abs, lengths(_BRACKETED.sub("", shadow))[:4])) >= _REACHING
    )
    return tuple(found for shadow in reaching for found in _colours_in(shadow))[:6]


def _is_dark(style: Style) -> bool:
    """The page, and the colours named after its parts, are dark instead of light."""
    scheme = style.get("color-scheme", "").split()
    return "dark" in scheme and "light" not in scheme


def _stops(image: str) -> tuple[Colour, ...]:
    inner = image.partition("gradient(")[2]
    return _colours_in(",".join(split_outside(inner, ",")[:20]))


def _colours_in(value: str) -> tuple[Colour, ...]:
    words = [word for part in split_outside(value, ",") for word in _COLOURS_IN.findall(part)[:3]]
    return tuple(found for word in words if (found := colour(word)) is not None)[:6]


def _indent(style: Style) -> float | None:
    value = style.get("text-indent", "")
    if not value or value in _INHERITED:
        return None
    return pixels(value)


_BLOCKS: Final = frozenset(
    {
        *("block", "inline-block", "flex", "inline-flex", "grid", "inline-grid", "flow-root", "list-item"),
        *("-webkit-box", "-webkit-inline-box", "-webkit-flex"),
    }
)


def _is_block(display: str) -> bool | None:
    """None if the style does not say."""
    return None if not display or display in WIDE else not _BLOCKS.isdisjoint(display.split())


def _hides_rest(style: Style) -> bool:
    is_cut = any(style.get(name, "visible") not in ("visible", *WIDE) for name in ("overflow-x", "overflow-y"))
    return is_cut or not _CONTAINED.isdisjoint(style.get("contain", "").split())


def _side(style: Style, side: str) -> float | None:
    """The size of a box, if given; a percentage of an unknown height is not."""
    found: list[float] = []
    for name in (side, f"max-{side}"):
        value = style.get(name, "")
        length = None if not value or (side == "height" and "%" in value) else pixels(value)
        if length is not None:
            found.append(length)
    least = pixels(style.get(f"min-{side}", "") or "auto")
    return max(min(found), least or 0.0) if found else None


def _room_state(style: Style) -> Sight:
    """A box with no room for a line that hides what does not fit. Its padding may still provide room."""
    if _may_be_empty(style):
        return DOUBTFUL
    for side, padding in (("height", "padding-bottom"), ("width", "padding-right")):
        length = _side(style, side)
        if any(is_uncertain(style.get(name, "")) for name in (side, f"max-{side}")):
            return DOUBTFUL
        if length is not None and length <= _TINY:
            padded = pixels(style.get(padding, "") or "0") or 0.0
            return DOUBTFUL if padded > _TINY or _first(style.get("flex-grow", ""), 0.0) > 0 else HIDDEN
        if tricks.is_pushed_out(style, side, length):
            return DOUBTFUL
        if side == "height" and any(
            numbers(style.get(name, "") or "1")[:1] == [0.0] and "%" in style[name]
            for name in ("height", "max-height")
            if name in style
        ):
            return DOUBTFUL
    return SEEN


def _may_be_empty(style: Style) -> bool:
    """Boxes whose size does not depend on what is in them: contained ones, and columns beside one another."""
    has_height = (_side(style, "height") or 0.0) > _TINY
    if not _SHRINKING.isdisjoint(style.get("contain", "").split()) and not has_height:
        return True
    return style.get("columns", "auto") not in ("auto", *WIDE) and has_height


def _cell_state(style: Style) -> Sight:
    """A cell grows with its content, unless its greatest width is nothing and the table gives it no other."""
    widest = pixels(style.get("max-width", "") or "none")
    if widest is None and style.get("width", "") and style.get("white-space") == "nowrap":
        widest = pixels(style["width"])  # all that a table of fixed layout gives it
    if widest is None or widest > _TINY:
        return SEEN
    return SEEN if (pixels(style.get("width", "") or "none") or 0.0) >= 100 else DOUBTFUL


def _room(style: Style) -> tuple[float, float] | None:
    width, height = _side(style, "width"), _side(style, "height")
    if (clamp := style.get("-webkit-line-clamp", "")[:3]).isdecimal():
        height = min(height or _TALL, _LINE * int(clamp))
    if style.get("white-space", "").startswith(("nowrap", "pre")) and width is not None:
        return width, min(height or 20.0, 20.0)
    if height is None and width is not None and width <= _NARROW:
        return width, inf
    return (width or 800.0, height) if height is not None and height < _TALL else None


def _taken(style: Style, position: str) -> tuple[float, float]:
    right = sum(pixels(style[name]) or 0.0 for name in ("padding-left", "margin-left", "text-indent") if name in style)
    down = sum(pixels(style[name]) or 0.0 for name in ("padding-top", "margin-top") if name in style)
    down += _thickest(style, "border", "border-width", "border-top", "border-top-width")
    if "transform" in style or "translate" in style:
        moved = translated(style)
        right, down = right + max(0.0, moved[0]), down + max(0.0, moved[1])
    if position and position != "static":
        right += (pixels(style.get("left", "")) or 0.0) + tricks.beyond(style, "right", position)
        down += (pixels(style.get("top", "")) or 0.0) + tricks.beyond(style, "bottom", position)
    return right, down


def _leading(line: str) -> float:
    """In a tall line the letters are in the middle."""
    is_factor = line[:8].replace(".", "", 1).isdecimal()
    high = _LINE * float(line[:8]) if is_factor else pixels(line, whole=_LINE) or 0.0
    return max(0.0, high / 2 - _LINE)


def _line(value: str) -> float | None:
    """The height of a line, for letters of the usual size."""
    if not value or value == "normal" or value in WIDE:
        return None
    return _first(value, 1.0) * 16 if value.replace(".", "", 1).isdecimal() else pixels(value, whole=16.0)


def _thickest(style: Style, *names: str) -> float:
    return max((length for name in names if name in style for length in lengths(style[name][:100])), default=0.0)


def _has_covering_frame(style: Style, position: str) -> bool:
    """Borders and shadows of positioned boxes, and every outline, are painted over text."""
    frame = _thickest(style, "outline", "outline-width")
    if position not in ("", "static"):
        shadows = (lengths(_BRACKETED.sub("", shadow))[3:4] for shadow in style.get("box-shadow", "")[:200].split(","))
        spread = max((found[0] for found in shadows if found), default=0.0)
        frame = max(frame, _thickest(style, "border", "border-width"), spread)
    return frame >= _FRAME


def _is_outlined(style: Style) -> bool:
    return (
        style.get("text-shadow", "none") not in ("none", *WIDE)
        or "text" in style.get("background-clip", "")
        or any(lengths(style.get("-webkit-text-stroke", "")))
    )


def _may_cover(style: Style, position: str) -> bool:
    """Positioned over others, with its own size."""
    sizes = [_side(style, side) or 0.0 for side in ("width", "height")]
    is_large = min(sizes) >= 8 or sum(name in style for name in ("top", "right", "bottom", "left")) >= 3
    is_large = is_large or "100%" in (style.get("width"), style.get("height"))
    pulled = any((pixels(style.get(name, "") or "0") or 0.0) <= -8 for name in ("margin-top", "margin-left"))
    is_large = is_large or ("width" not in style and "margin-left" not in style and sizes[1] >= _LINE)
    pulls = position == "relative" and (pixels(style.get("margin-bottom", "") or "0") or 0.0) <= -8
    # What a margin pulls up from below is under a positioned box, however narrow that is.
    is_moved = (is_large or "margin-left" in style) and tricks.is_pulled_over(style, position)
    return (is_large and (position in ("absolute", "fixed") or pulled)) or pulls or is_moved


def overlays(style: Style) -> bool:
    """Whether a box before or after the words of an element may cover them: a bullet does not."""
    sizes = [_side(style, side) or 0.0 for side in ("width", "height")]
    is_wide = sum(name in style for name in ("top", "right", "bottom", "left")) >= 3 or min(sizes) >= 40
    effect = effect_of(style)
    is_wide = is_wide or "100%" in (style.get("width"), style.get("height"))
    return effect is not None and effect.covers and (is_wide or _has_covering_frame(style, effect.position))
