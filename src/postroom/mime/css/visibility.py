"""How text looks inside an element, given how it looks around it and what the element's style does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from postroom.mime.css.effects import Effect
from postroom.mime.css.geometry import Shift, place_state
from postroom.mime.css.properties import FONT_SIZES
from postroom.mime.css.sight import DOUBTFUL, HIDDEN, SEEN, Sight
from postroom.mime.css.values import BLACK, WHITE, Colour, pixels
from postroom.mime.limits import MAX_VARIABLES

_UNREADABLE: Final = 2.0  # pixels: no reader sees letters of this size
_HARD_TO_READ: Final = 4.0
_FAINT: Final = 10  # letters whose channels all differ this little from the background are invisible
_PALE: Final = 18
_OUT: Final = 200.0  # pixels of indent that move a line out of its box


@dataclass(slots=True, eq=False)
class Look:
    """`ink` is None if it cannot be known. `sight` is that of the text at this place. Never changed once set."""

    ink: Colour | None = BLACK
    fill: Colour | str | None = None  # replaces the ink; "unknown" is a colour too
    grounds: tuple[Colour, ...] = (WHITE,)
    behind: tuple[Colour, ...] | None = None  # what is behind a line's own background: the background of blocks inside
    has_image: bool = False
    font: float = 16.0
    scale: float = 1.0
    opacity: float = 1.0
    visible: bool = True
    outlined: bool = False
    indent: float = 0.0
    right: float = 0.0
    down: float = 0.0
    is_from_page: bool = False
    is_fixed: bool = False
    is_placed: bool = False  # is displayed elsewhere than its place in the markup
    fate: Sight = SEEN  # of all inside
    clip: Sight = SEEN  # of all inside that is not positioned elsewhere
    variables: Mapping[str, str] | None = None
    is_narrow: bool = False  # the box around has no width
    is_flat: bool = False  # the box around has no height
    line: float | None = None  # height of a line, if given
    is_cut: bool = False  # a box around is as high as its lines, and hides what does not fit
    sight: Sight = SEEN
    is_passed_on: bool = True  # as it is, to every element inside that nothing is said about


_UNMOVED: Final = Shift()
LINK: Final[Colour] = (0, 0, 238, 1.0)
ROOT: Final = Look()


def changed(look: Look, effect: Effect, *, is_block: bool, is_cell: bool) -> Look:
    """The look inside an element with this effect."""
    if effect.variables or look.variables:  # of any length: not to be cached
        return _changed(look, effect, is_block=is_block, is_cell=is_cell)
    return _usually_changed(look, effect, is_block=is_block, is_cell=is_cell)


@lru_cache(maxsize=4096)  # most messages start alike and continue alike
def _usually_changed(look: Look, effect: Effect, *, is_block: bool, is_cell: bool) -> Look:
    return _changed(look, effect, is_block=is_block, is_cell=is_cell)


@lru_cache(maxsize=1024)
def drawn(look: Look, ink: Colour | None, font: float | None = None, ground: Colour | None = None) -> Look:
    """The look of an element with a default style of the browser."""
    grounds = look.grounds if ground is None else (ground,)
    return judged(replace(look, ink=ink, font=look.font if font is None else font, grounds=grounds))


@lru_cache(maxsize=1024)
def in_block(look: Look) -> Look:
    """The look in a block within a line: the line's background is painted only behind its own words."""
    return judged(replace(look, grounds=look.behind or look.grounds, behind=None))


@lru_cache(maxsize=1024)
def doubted(look: Look) -> Look:
    """The look of something whose visibility is unknown."""
    return judged(replace(look, fate=max(look.fate, DOUBTFUL)))


def _changed(look: Look, effect: Effect, *, is_block: bool, is_cell: bool) -> Look:
    boxed = effect.is_block if effect.is_block is not None else is_block
    clip = max(look.clip, effect.cell if is_cell else effect.clip) if boxed or is_cell else look.clip
    if boxed and not is_cell and effect.cuts and _has_no_room(look, effect):
        clip = max(clip, DOUBTFUL)
    if effect.position in ("absolute", "fixed") and look.clip is HIDDEN:
        clip = max(DOUBTFUL, effect.clip)
    grounds, has_image = _grounds(look, effect)
    ink = _ink(look, effect)
    if effect.is_inked:
        grounds, has_image = ((ink,), has_image) if ink is not None else (grounds, True)
    is_line = (effect.grounds is not None or effect.is_inked) and not boxed and not is_cell
    font = font_in(look.font, effect.font_size)
    inner = Look(
        ink=ink,
        fill=look.fill if effect.fill is None else None if effect.fill == "ink" else effect.fill,
        grounds=grounds,
        behind=(look.behind or look.grounds) if is_line else look.behind,
        has_image=has_image,
        font=font,
        scale=look.scale * (effect.scale if boxed or effect.scale > 0.05 else 1.0),
        opacity=look.opacity * effect.opacity,
        visible=look.visible if effect.visible is None else effect.visible,
        outlined=look.outlined or effect.outlined,
        indent=look.indent if effect.indent is None or not (boxed or is_cell) else effect.indent,
        is_placed=look.is_placed or effect.position in ("absolute", "fixed"),
        fate=max(look.fate, effect.sight),
        clip=clip,
        variables=_variables(look, effect),
        line=look.line if effect.line is None else effect.line,
        is_cut=not is_cell and ((look.is_cut and effect.size[1] is None) or (boxed and effect.cuts)),
    )
    if boxed and not is_cell:
        inner.is_narrow, inner.is_flat = _lacks_room(look, effect)
    _place(inner, look, effect)
    return judged(inner)


def _lacks_room(look: Look, effect: Effect) -> tuple[bool, bool]:
    """Whether a box has no width, and whether it has no height."""
    width, height = effect.size
    is_narrow = look.is_narrow if width is None else width <= _UNREADABLE
    is_flat = (look.is_flat and effect.is_share) if height is None else height <= _UNREADABLE
    return is_narrow and effect.position not in ("absolute", "fixed"), is_flat


def _has_no_room(look: Look, effect: Effect) -> bool:
    """A box that hides what does not fit, in one without room."""
    return (look.is_narrow and not effect.size[0]) or (look.is_flat and not effect.size[1])


def _variables(look: Look, effect: Effect) -> Mapping[str, str] | None:
    """If there are too many, the inherited ones stay."""
    if not effect.variables:
        return look.variables
    merged = {**(look.variables or {}), **effect.variables}
    return merged if len(merged) <= MAX_VARIABLES else look.variables or effect.variables


def judged(look: Look) -> Look:
    look.sight = _sight(look)
    look.is_passed_on = look.sight is SEEN and look.behind is None
    return look


def _place(inner: Look, look: Look, effect: Effect) -> None:
    shift = effect.shift or _UNMOVED
    inner.is_fixed = look.is_fixed or shift.is_fixed
    inner.is_from_page = look.is_from_page or shift.is_fixed or (shift.is_from_page and look.down == 0)
    inner.right = shift.right if shift.is_fixed else look.right + shift.right
    inner.down = shift.down if shift.is_fixed else look.down + shift.down


def _ink(look: Look, effect: Effect) -> Colour | None:
    if effect.ink is None or effect.ink == "inherit":
        return look.ink
    return None if isinstance(effect.ink, str) else effect.ink


def _grounds(look: Look, effect: Effect) -> tuple[tuple[Colour, ...], bool]:
    if effect.grounds is None:
        return look.grounds, look.has_image or effect.has_image
    if all(ground[3] >= 1 for ground in effect.grounds):
        return effect.grounds, effect.has_image
    mixed = tuple(blended(ground, under) for ground in effect.grounds for under in look.grounds)
    return mixed[:8], look.has_image or effect.has_image


def blended(over: Colour, under: Colour) -> Colour:
    part = over[3]
    red, green, blue = (round(part * a + (1 - part) * b) for a, b in zip(over[:3], under[:3], strict=True))
    return red, green, blue, 1.0


def font_in(around: float, value: str) -> float:
    """The size of letters with that style, in pixels, within others."""
    if not value or value in ("inherit", "unset"):
        return around
    if value in ("initial", "revert"):
        return 16.0
    if value in FONT_SIZES:
        return FONT_SIZES[value]
    if value in ("smaller", "larger"):
        return around * (1.2 if value == "larger" else 1 / 1.2)
    length = pixels(value, font=around, whole=around)
    if length is None:
        return around
    # Chromium draws no relative size under 6 pixels, others do: the result depends on the reader.
    is_relative = value.endswith(("em", "%")) and around >= _HARD_TO_READ
    return max(length, _UNREADABLE + 1) if is_relative and length > 0 else length


def _sight(look: Look) -> Sight:
    sight = max(look.fate, look.clip, _size_state(look))
    if look.is_cut and look.line is not None and look.line <= _UNREADABLE:
        sight = max(sight, DOUBTFUL)
    if not look.visible or sight is HIDDEN:
        return HIDDEN
    moved = place_state(look.right, look.down, is_from_page=look.is_from_page, is_fixed=look.is_fixed)
    indented = HIDDEN if look.indent <= -700 else DOUBTFUL if abs(look.indent) >= _OUT else SEEN
    return max(sight, moved, indented, _contrast_state(look))


@lru_cache(maxsize=1024)
def hides_pictures(look: Look) -> bool:
    """Whether not even a picture is visible: the colour and size of letters do not affect it."""
    if not look.visible or look.opacity <= 0.03 or look.scale <= 0.02 or look.clip is HIDDEN:
        return True
    moved = place_state(look.right, look.down, is_from_page=look.is_from_page, is_fixed=look.is_fixed)
    return moved is HIDDEN


def _size_state(look: Look) -> Sight:
    size = look.font * look.scale
    return HIDDEN if size <= _UNREADABLE else DOUBTFUL if size < _HARD_TO_READ else SEEN


def _contrast_state(look: Look) -> Sight:
    if look.opacity <= 0.03:
        return HIDDEN
    drawn = look.fill or look.ink
    if drawn is None or isinstance(drawn, str):
        return DOUBTFUL
    ink = (*drawn[:3], drawn[3] * look.opacity)
    states = {_melting(blended(ink, ground), ground) for ground in look.grounds}
    worst, best = max(states), min(states)
    if worst is SEEN:
        return SEEN
    if best is SEEN or look.has_image or look.outlined or look.is_placed:
        # Something else may be behind it, or draw it.
        return DOUBTFUL if ink[3] > 0.03 or look.outlined else worst
    return worst


def _melting(ink: Colour, ground: Colour) -> Sight:
    difference = max(abs(a - b) for a, b in zip(ink[:3], ground[:3], strict=True))
    return HIDDEN if difference <= _FAINT else DOUBTFUL if difference < _PALE else SEEN
