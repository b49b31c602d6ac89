"""What a style does to the text beneath it: gone altogether, or of another colour, ground, size or visibility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.mime.css import Colour, Style, colour, numbers, pixels

_UNREADABLE: Final = 2.0  # pixels: no reader sees letters, or a box, of this size
_OFF_SCREEN: Final = -300.0  # pixels
_TOO_FAINT: Final = 0.05
_TOO_CLOSE: Final = 24  # sum of the channels' differences below which a colour melts into its background
_OVERFLOWS: Final = ("overflow", "overflow-x", "overflow-y")
_SIZES: Final = ("max-height", "height", "max-width", "width")
_EDGES: Final = ("left", "top", "right", "bottom")


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """How text appears. `ground` is None where it cannot be known (an image)."""

    ink: Colour = (0, 0, 0, 1.0)
    ground: Colour | None = (255, 255, 255, 1.0)
    font: float = 16.0
    visible: bool = True
    is_seen: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """A style, understood. Compared by identity: one style text mostly has one effect."""

    is_gone: bool = False
    ink: Colour | None = None
    ground: Colour | None = None
    ground_is_image: bool = False
    font_size: str = ""
    visible: bool | None = None


def effect_of(style: Style) -> Effect | None:
    """None where the style does nothing to the text."""
    if is_gone(style):
        return Effect(is_gone=True)
    grounds = [style[name] for name in ("background", "background-color", "background-image") if name in style]
    painted = [found for value in grounds if (found := colour(value)) and found[3] > 0.5]
    inks = [found for name in ("color", "-webkit-text-fill-color") if (found := colour(style.get(name, "")))]
    effect = Effect(
        ink=inks[-1] if inks else None,
        ground=painted[-1] if painted else None,
        ground_is_image=any("url(" in value or "gradient" in value for value in grounds),
        font_size=style.get("font-size") or _size_of_font(style.get("font", "")),
        visible=style["visibility"] not in ("hidden", "collapse") if "visibility" in style else None,
    )
    says_nothing = not (inks or painted or effect.ground_is_image or effect.font_size) and effect.visible is None
    return None if says_nothing else effect


def changed(look: Look, effect: Effect) -> Look:
    """The look inside an element with this effect."""
    length = pixels(effect.font_size, relative_to=look.font) if effect.font_size else None
    ink = effect.ink or look.ink
    ground = None if effect.ground_is_image else effect.ground or look.ground
    font = look.font if length is None else length
    visible = look.visible if effect.visible is None else effect.visible
    is_seen = visible and font > _UNREADABLE and ink[3] > _TOO_FAINT and not _melts(ink, ground)
    return Look(ink, ground, font, visible, is_seen)


def _melts(ink: Colour, ground: Colour | None) -> bool:
    if ground is None:
        return False
    return abs(ink[0] - ground[0]) + abs(ink[1] - ground[1]) + abs(ink[2] - ground[2]) < _TOO_CLOSE


def is_gone(style: Style) -> bool:
    """Whether nothing inside can be seen, whatever it says about itself."""
    return (
        style.get("display") == "none"
        or style.get("mso-hide") == "all"
        or style.get("content-visibility") == "hidden"
        or _is_transparent(style)
        or _has_no_room(style)
        or _is_off_screen(style)
        or _is_clipped(style)
    )


def _is_transparent(style: Style) -> bool:
    amount = numbers(style.get("opacity", ""))
    if amount and amount[0] / (100 if "%" in style["opacity"] else 1) <= _TOO_FAINT:
        return True
    filtered = style.get("filter", "")
    return "opacity" in filtered and min(numbers(filtered), default=1.0) <= _TOO_FAINT


def _has_no_room(style: Style) -> bool:
    hides_rest = any(word in style.get(name, "") for name in _OVERFLOWS for word in ("hidden", "clip"))
    return hides_rest and any(_at_most(style, name, _UNREADABLE) for name in _SIZES)


def _is_off_screen(style: Style) -> bool:
    if any(_at_most(style, name, _OFF_SCREEN) for name in ("text-indent", "margin-left", "margin-top", "margin")):
        return True
    is_placed = style.get("position") in ("absolute", "fixed", "relative")
    if is_placed and any(_at_most(style, name, _OFF_SCREEN) for name in _EDGES):
        return True
    moved = style.get("transform", "")
    if "scale" in moved:
        return any(number == 0 for number in numbers(moved.partition("scale")[2]))
    return "translate" in moved and min(numbers(moved), default=0.0) <= _OFF_SCREEN


def _is_clipped(style: Style) -> bool:
    rectangle = numbers(style.get("clip", ""))
    if rectangle and max(rectangle) <= 1:
        return True
    path = style.get("clip-path", "")
    if path.startswith("inset"):
        return max(numbers(path), default=0.0) >= 50
    return path.startswith(("circle", "polygon", "ellipse")) and not any(numbers(path))


def _at_most(style: Style, name: str, limit: float) -> bool:
    length = pixels(style[name]) if name in style else None
    return length is not None and length <= limit


def _size_of_font(shorthand: str) -> str:
    """``bold 0/0 a`` -> ``0``: the first length with a unit, or a bare zero."""
    for word in shorthand.split():
        size = word.partition("/")[0]
        if not size.strip("0.") or (size[:1].isdigit() and not size.isdigit()):
            return size
    return ""
