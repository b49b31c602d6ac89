"""A proof for a whole document at once: that its styles, nested in any way, hide nothing but what one of them hides by
itself (``display:none`` and the like).

Most messages have few different styles, the same as others of their sender: the outcome is remembered for them. Where
the proof fails nothing is said, and every element has to be looked at (`looks.Walk`). The two never disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.effects import Effect
from postroom.mime.css.matching import count_elements
from postroom.mime.css.sight import HIDDEN, SEEN
from postroom.mime.css.stylesheet import Stylesheet
from postroom.mime.css.values import Colour
from postroom.mime.css.visibility import ROOT, Look, changed, font_in
from postroom.mime.html.looks import LOOK_WORK, link_ink, may_lie_over, usual_look

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
_USUAL_FONT: Final = 16.0
_NARROW_LINE: Final = 2.0
_PLAIN_STYLE = re.compile(r"[\w :;,.#%()!-]{1,200}", re.ASCII)  # needs no escape in a selector
_KINDS: Final = ("span", "div", "td")  # one of each: in a line, a block, a cell

_Styles = tuple[str | None, str | None, int]  # a style attribute, legacy attributes, the group of matching rules

_Wrapping = tuple[Effect | None, bool]  # and whether other elements are within one that it has effect on


def hidden_alone(document: Document, sheet: Stylesheet, *, quirks: bool) -> list[Element] | None:
    """The elements that hide themselves with all that is in them, in order, if everything else is seen. None: it takes
    a closer look; the sheet is as it was then."""
    found = _hidden_alone(document, sheet, quirks=quirks) if sheet.is_sure else None
    if found is None:
        sheet.start_over()
    return found


def _hidden_alone(document: Document, sheet: Stylesheet, *, quirks: bool) -> list[Element] | None:
    ruled = _ruled(sheet)
    wraps = _wrapping(document, ruled)
    if len(wraps) > _MAX_STYLES:
        return None
    effects = {one: sheet.effect(one[0], one[1], one[2], None) for one in wraps}
    hidden = {one for one, effect in effects.items() if effect is not None and effect.sight is HIDDEN}
    found = frozenset([(effect, wraps[one]) for one, effect in effects.items()])
    if len(found) > _MAX_EFFECTS or not all(_is_small(effect) for effect, _ in found):
        return None
    if not sheet.can_spend(LOOK_WORK * count_elements(document)):
        return None
    page = _page(document, sheet)
    if page is None or not _is_all_seen(page[1], found, link_ink(page[0]), page[1] if quirks else None):
        return None
    return _outermost(document, ruled, hidden) if hidden else []


def _wrapping(document: Document, ruled: dict[Element, _Styles]) -> dict[_Styles, bool]:
    """All styles of the document, and whether any element that has them contains others."""
    wraps: dict[_Styles, bool] = {(style, None, 0): False for style in set(_styles()(document))}
    wraps.update({(element.attr("style"), None, 0): True for element in document.select("[style]:has(*)")})
    for element, styles in ruled.items():
        wraps[styles] = wraps.get(styles, False) or element.select_one("*") is not None
    wraps[None, None, 0] = True
    return wraps


@cache
def _styles() -> Callable[[Document], list[str]]:
    """The style attributes of all elements."""
    from turbohtml import XPath

    return cast("Callable[[Document], list[str]]", XPath("//*/@style"))


def _ruled(sheet: Stylesheet) -> dict[Element, _Styles]:
    """The elements that more than a style attribute applies to."""
    groups, presented = sheet.matched, sheet.presented
    elements = cast("Iterable[Element]", groups.keys() | presented.keys() if presented else groups)
    return {one: (one.attr("style"), presented.get(one), groups.get(one, 0)) for one in elements}


def _page(document: Document, sheet: Stylesheet) -> tuple[Element, Look] | None:
    """The body and its look, if all there is to see is in it."""
    from turbohtml import Element as ElementType

    bodies = document.select("body")
    around = bodies[0].parent if len(bodies) == 1 else None
    if not isinstance(around, ElementType) or around.tag != "html" or around.parent is not document:
        return None
    if sum(isinstance(child, ElementType) for child in (*around.children, *document.children)) != 2:
        return None
    look = ROOT
    for effect in (sheet.effect_on(around), sheet.effect_on(bodies[0])):
        if effect is not None and effect.sight is HIDDEN:
            return None
        look = look if effect is None else changed(look, effect, is_block=False, is_cell=True)
    return bodies[0], look


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


def _outermost(document: Document, ruled: dict[Element, _Styles], hidden: set[_Styles]) -> list[Element] | None:
    """Those with such styles that are not within another."""
    elements = document.select(",".join({_selector(style) for style, *_ in hidden}))
    found = [one for one in elements if (ruled.get(one) or (one.attr("style"), None, 0)) in hidden]
    if len(found) > _MAX_HIDDEN:
        return None
    inside = set(found)
    return [one for one in found if inside.isdisjoint(one.ancestors)]


def _selector(style: str | None) -> str:
    """Of all elements with that style, and maybe others."""
    if style is None:
        return "*"
    return f'[style="{style}"]' if _PLAIN_STYLE.fullmatch(style) else "[style]"
