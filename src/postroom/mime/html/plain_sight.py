"""A proof for a whole document at once: that its styles, nested in any way, hide nothing but what one of them hides by
itself (``display:none`` and the like).

Most messages have few different styles, the same as others of their sender: the outcome is remembered for them. Where
the proof fails nothing is said, and every element has to be looked at (`looks.Walk`). The two never disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.effects import Effect
from postroom.mime.css.matching import has_more_elements
from postroom.mime.css.rules import Sheet
from postroom.mime.css.sight import HIDDEN, SEEN
from postroom.mime.css.stylesheet import Said, Stylesheet, effect_of_style, work_of_style
from postroom.mime.css.values import Colour
from postroom.mime.css.visibility import ROOT, Look, changed, font_in
from postroom.mime.html.looks import LOOK_WORK, link_ink, may_lie_over, usual_look
from postroom.mime.limits import MAX_CASCADE_WORK

if TYPE_CHECKING:
    from turbohtml import Document, Element

# Tags whose look, or effect on others, depends on more than their style and what is around them.
OTHER_TAGS: Final = (
    *("button", "select", "textarea", "input", "mark", "details", "summary", "option", "svg", "canvas", "object"),
    *("col", "colgroup", "math"),
)
_MAX_STYLES: Final = 48  # different ones of a document
_MAX_EFFECTS: Final = 16  # of these: most styles have none
_MAX_LOOKS: Final = 32
_MAX_HIDDEN: Final = 50  # elements that are hidden by themselves
_LONGEST_SIZE: Final = 40  # characters of a font size
_LONGEST: Final = 8_000  # characters of all styles for which the outcome is remembered
_USUAL_FONT: Final = 16.0
_NARROW_LINE: Final = 2.0
_PLAIN_STYLE = re.compile(r"[\w :;,.#%()!-]{1,200}", re.ASCII)  # needs no escape in a selector
_KINDS: Final = ("span", "div", "td")  # one of each: in a line, a block, a cell

_Wrapping = tuple[Effect | None, bool]  # and whether other elements are within one that it has effect on


@dataclass(frozen=True, slots=True)
class _Proof:
    """That everything is seen but what has one of these styles."""

    hidden: frozenset[Said]
    work: int  # units that the styles took


def hidden_alone(document: Document, styles: Stylesheet, *, quirks: bool) -> list[Element] | None:
    """The elements that hide themselves with all that is in them, in order, if everything else is seen. None: it takes
    a closer look."""
    page = _page(document) if styles.is_sure else None
    if page is None:
        return None
    ruled = styles.said()
    wraps = _wrapping(document, ruled)
    if len(wraps) > _MAX_STYLES:
        return None
    is_short = styles.sheet.is_small and sum([len(one[0] or "") + len(one[1] or "") for one in wraps]) <= _LONGEST
    prove = _proof if is_short else _proof.__wrapped__
    said = [ruled.get(one) or (one.attr("style"), None, ()) for one in page]
    proof = prove(styles.sheet, frozenset(wraps.items()), said[0], said[1], link_ink(page[1]), quirks)
    if proof is None or has_more_elements(document, (MAX_CASCADE_WORK - proof.work) // LOOK_WORK, styles.most):
        return None
    return _outermost(document, ruled, proof.hidden) if proof.hidden else []


def _wrapping(document: Document, ruled: dict[Element, Said]) -> dict[Said, bool]:
    """All styles of the document, and whether any element that has them contains others."""
    around = {element.attr("style") for element in document.select("[style]:has(*)")}
    wraps: dict[Said, bool] = {(style, None, ()): style in around for style in around.union(_styles()(document))}
    for element, said in ruled.items():
        if not wraps.get(said):
            wraps[said] = element.select_one("*") is not None
    wraps[None, None, ()] = True
    return wraps


@cache
def _styles() -> Callable[[Document], list[str]]:
    """The style attributes of all elements."""
    from turbohtml import XPath

    return cast("Callable[[Document], list[str]]", XPath("//*/@style"))


def _page(document: Document) -> tuple[Element, Element] | None:
    """The outermost element and the body, if all there is to see is in it."""
    import turbohtml

    bodies = document.select("body")
    around = bodies[0].parent if len(bodies) == 1 else None
    if not isinstance(around, turbohtml.Element) or around.tag != "html" or around.parent is not document:
        return None
    elements = [child for child in (*around.children, *document.children) if isinstance(child, turbohtml.Element)]
    return (around, bodies[0]) if len(elements) == 2 else None


@lru_cache(maxsize=128)  # messages of one sender have the same styles
def _proof(
    sheet: Sheet, wraps: frozenset[tuple[Said, bool]], around: Said, body: Said, link: Colour, quirks: bool
) -> _Proof | None:
    """From all that it depends on, but for the number of elements."""
    effects: dict[Said, Effect | None] = {}
    work = 0
    for (own, old, numbers), _ in wraps:
        work += work_of_style(sheet, old or "", own or "", numbers)
        if work > MAX_CASCADE_WORK:
            return None
        effects[own, old, numbers] = effect_of_style(sheet, old or "", own or "", numbers, quirks=quirks)
    found = frozenset([(effects[said], is_around) for said, is_around in wraps])
    if len(found) > _MAX_EFFECTS or not all(_is_small(effect) for effect, _ in found):
        return None
    page = _look_of_page(effects[around], effects[body])
    if page is None or not _is_all_seen(page, found, link, page if quirks else None):
        return None
    hidden = [said for said, effect in effects.items() if effect is not None and effect.sight is HIDDEN]
    return _Proof(frozenset(hidden), work)


def _look_of_page(*effects: Effect | None) -> Look | None:
    look = ROOT
    for effect in effects:
        if effect is not None and effect.sight is HIDDEN:
            return None
        look = look if effect is None else changed(look, effect, is_block=False, is_cell=True)
    return look


def _is_small(effect: Effect | None) -> bool:
    """Whether its size is bounded: the outcome is remembered with it."""
    return effect is None or (effect.variables is None and len(effect.font_size) <= _LONGEST_SIZE)


def _is_tame(effect: Effect) -> bool:
    """Whether what it does to the look inside is all that it does, and sizes stay readable however they are nested."""
    if effect.covers or effect.reaches_over or may_lie_over(effect):
        return False
    if effect.sight is HIDDEN:
        return True
    if effect.sight is not SEEN or effect.room is not None or effect.scale != 1.0:
        return False
    if "(" in effect.font_size:
        return False
    size, of_larger = (font_in(font, effect.font_size) for font in (_USUAL_FONT, 2 * _USUAL_FONT))
    is_fixed = size == of_larger  # then the look with it tells
    return is_fixed or (size >= _USUAL_FONT and of_larger >= 2 * _USUAL_FONT)


@lru_cache(maxsize=1024)
def _is_all_seen(page: Look, effects: frozenset[_Wrapping], link: Colour, quirky: Look | None) -> bool:
    """Whether each look is one of something seen that these effects can have on top of one another, in any order, but
    for those that hide everything inside."""
    if page.sight is not SEEN or not all(effect is None or _is_tame(effect) for effect, _ in effects):
        return False
    effects = frozenset((effect, wraps) for effect, wraps in effects if effect is None or effect.sight is SEEN)
    known = {_distinction(page)}
    waiting = [page]  # each once
    while waiting and len(known) <= _MAX_LOOKS:
        for look, wraps in _looks_inside(waiting.pop(), effects, link, quirky):
            if look.sight is not SEEN:
                return False
            usual = _with_usual_letters(look)
            if wraps and (distinction := _distinction(usual)) not in known:
                known.add(distinction)
                waiting.append(usual)
    return not waiting


def _looks_inside(
    around: Look, effects: Iterable[_Wrapping], link: Colour, quirky: Look | None
) -> Iterator[tuple[Look, bool]]:
    for effect, wraps in effects:
        for kind in _KINDS:
            yield usual_look(around, effect, kind, None, None), wraps
        yield usual_look(around, effect, "a", link, None), wraps
        yield usual_look(around, effect, "table", None, quirky), wraps


def _with_usual_letters(look: Look) -> Look:
    """Sizes that can be read do not matter, nor does the height of lines that have any."""
    line = look.line if look.line is not None and look.line <= _NARROW_LINE else None
    if look.font == _USUAL_FONT and look.line == line:
        return look
    return replace(look, font=_USUAL_FONT, line=line)


_distinction = attrgetter(*(one.name for one in fields(Look) if one.name != "variables"))


def _outermost(document: Document, ruled: dict[Element, Said], hidden: frozenset[Said]) -> list[Element] | None:
    """Those with such styles that are not within another."""
    elements = document.select(",".join({_selector(style) for style, *_ in hidden}))
    found = [one for one in elements if (ruled.get(one) or (one.attr("style"), None, ())) in hidden]
    if len(found) > _MAX_HIDDEN:
        return None
    inside = set(found)
    return [one for one in found if inside.isdisjoint(one.ancestors)]


def _selector(style: str | None) -> str:
    """Of all elements with that style, and maybe others."""
    if style is None:
        return "*"
    return f'[style="{style}"]' if _PLAIN_STYLE.fullmatch(style) else "[style]"
