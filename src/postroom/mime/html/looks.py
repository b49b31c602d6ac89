"""How each element of a document looks, and what of it no reader sees: from its parent's look and its own style.

Parents come before their children, so each is visited once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.effects import Effect
from postroom.mime.css.room import BLOCKS, CELLS, fits
from postroom.mime.css.sight import DOUBTFUL, HIDDEN, SEEN
from postroom.mime.css.stylesheet import Stylesheet
from postroom.mime.css.values import BLACK, Colour, legacy_colour
from postroom.mime.css.visibility import LINK, ROOT, Look, changed, doubted, drawn, hides_pictures, in_block, judged
from postroom.mime.limits import MAX_ELEMENTS

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

_SMALL_PICTURE: Final = 60  # pixels
_PULLED: Final = 24.0  # pixels by which a margin pulls a picture over others
_LINES: Final = frozenset({"a", "b", "code", "em", "font", "i", "label", "mark", "small", "span", "strong", "u"})
LOOK_WORK: Final = 4  # units of work for the look of an element, when its style is known
_FIELDS: Final = frozenset({"select", "textarea", "input"})
_NO_WIDTH = re.compile(r"(?:^|(?<![\w-])width\s*+:)\s*+[01](?:px|%)?\s*+(?:;|!|\Z)", re.IGNORECASE)
_CONTROLS: Final = frozenset({"button", "select", "textarea", "input"})
_COLUMNS: Final = frozenset({"col", "colgroup"})
_ODD: Final = frozenset({"svg", "canvas", "object"})  # some clients show the text inside, others do not
_ALONE: Final = frozenset({"body", "details", "summary", "option"}) | _ODD  # processed one by one
_SPECIAL: Final = frozenset({"a", "table", "mark"}) | _CONTROLS | _ALONE  # shown differently from what is around them
_SINGULAR: Final = _ALONE | _FIELDS  # their look depends on more than their style
_JUDGED: Final = _SPECIAL | _COLUMNS | {"img"}  # not only by what is around them

_Key = tuple[Look, object, str]  # the look around, what is said about the element, its kind
_Found = tuple[Look, Effect | None]


@dataclass(slots=True)
class Walk:
    sheet: Stylesheet
    quirks: bool
    gone: list[Node] = field(default_factory=list)
    doubtful: list[Element] = field(default_factory=list)
    covers: list[tuple[Element, Effect]] = field(default_factory=list)
    hosts: list[Node] = field(default_factory=list)  # a browser may show something else in their place
    count: int = 0
    _body: Look = ROOT
    _looks: dict[Node | None, Look | None] = field(default_factory=dict)  # None: inside something removed
    _closed: dict[Node | None, Look] = field(default_factory=dict)  # details, with the look of their summary
    _known: dict[_Key, _Found] = field(default_factory=dict)
    _quiet: dict[_Key, Look] = field(default_factory=dict)  # of those known, what is seen and does nothing to others
    _chosen: dict[Node, Node] = field(default_factory=dict)  # select elements, with the option they show
    _link: Colour | None = None

    def over(self, document: Document) -> None:
        """The loop over every element of every message: equal cases are looked up, not computed again."""
        looks, root, quiet, own = self._looks, ROOT, self._quiet, self._own(document)
        elements = document.select("*")  # one call: an iterator takes four times as long
        self.count = len(elements)
        for element in elements[:MAX_ELEMENTS]:
            around = looks.get(element.parent, root)
            if around is None:
                looks[element] = None
                continue
            tag, said = element.tag, own(element)
            if said is None and around.is_passed_on and tag not in _JUDGED:
                if around is not root:
                    looks[element] = around
                continue
            key = around, said, "link" if tag == "a" and element.attr("href") is not None else tag
            look = quiet.get(key)
            if look is None:
                self._visit(element, tag, around, key)
            else:
                looks[element] = look
        self._drop_late(elements[MAX_ELEMENTS:])

    def _own(self, document: Document) -> Callable[[Element], object]:
        """What is said about an element: the same for all with the same styles. None: nothing."""
        own: dict[Element, object] = {element: element.attr("style") for element in document.select("[style]")}
        matched, presented = self.sheet.matched, self.sheet.presented
        for element in cast("Iterable[Element]", (matched.keys() | presented.keys()) if presented else matched):
            own[element] = own.get(element), matched.get(element, 0), presented.get(element)
        return own.get

    def _visit(self, element: Element, tag: str, around: Look, key: _Key) -> None:
        look, effect = self._found(element, tag, around, key)
        covers = effect is not None and (
            effect.covers
            or (tag == "img" and _is_laid_over(element, effect))
            or (effect.reaches_over and effect.is_block is None and tag in _LINES)
        )
        if covers and effect is not None:
            self.covers.append((element, effect))
        if look.fate is HIDDEN:
            self._looks[element] = None
            self.gone.append(element)
            return
        self._looks[element] = look
        if look is not ROOT and (look.sight is not SEEN or tag in _COLUMNS or (tag == "img" and hides_pictures(look))):
            self._judge(element, tag, look)
        elif not covers and _is_settled(tag, effect):
            self._quiet[key] = look

    def _found(self, element: Element, tag: str, around: Look, key: _Key) -> _Found:
        if key[1] is None and tag not in _SPECIAL and around.behind is None:
            return around, None
        found = self._known.get(key)
        if found is None or tag in _ALONE or (found[1] is not None and found[1].room is not None):
            found = self._known[key] = self._look(element, around)
        return found

    def _drop_late(self, elements: Iterable[Element]) -> None:
        """Those beyond the limit."""
        for element in elements:
            if self._looks.get(element.parent, ROOT) is not None:
                self.gone.append(element)
            self._looks[element] = None

    def _judge(self, element: Element, tag: str, look: Look) -> None:
        if tag == "img" and hides_pictures(look):
            self.gone.append(element)
        elif tag in _COLUMNS and not look.visible:
            self.doubtful += _table_of(element)
        elif tag in _COLUMNS:
            self._paint(element.closest("table"), look)
            self.doubtful += _table_of(element) if _is_shut(element) else ()
        if look.sight is HIDDEN:
            self.gone.extend(texts_in(element))
        elif look.sight is DOUBTFUL:
            self.doubtful.append(element)

    def _paint(self, table: Element | None, column: Look) -> None:
        """The background of a column may be behind every cell of the table."""
        around = self._looks.get(table, ROOT)
        if around is not None and not set(column.grounds) <= set(around.grounds):
            grounds = tuple(dict.fromkeys((*around.grounds, *column.grounds)))[:8]
            self._looks[table] = judged(replace(around, grounds=grounds))

    def _look(self, element: Element, around: Look) -> _Found:
        tag, inline = element.tag, element.attr("style")
        rules, old = self.sheet.matched.get(element, 0), self.sheet.presented.get(element)
        if not self.sheet.spend(LOOK_WORK):
            return doubted(around), None
        if tag not in _SINGULAR and around.variables is None and (self.sheet.is_sure or not rules):
            effect = self.sheet.effect(inline, old, rules, None)
            if effect is None or (effect.room is None and effect.variables is None):
                return usual_look(around, effect, tag, *self._default(element, tag)), effect
        look, effect = self._unusual_look(element, around, inline, rules, old)
        if tag == "body":
            self._body = look
        elif self._is_odd(element, tag, effect):
            if tag == "details":
                self._closed[element] = look
            look = doubted(look)
        return look, effect

    def _unusual_look(self, element: Element, around: Look, inline: str | None, rules: int, old: str | None) -> _Found:
        tag = element.tag
        if tag == "summary" and element.parent in self._closed:
            around = self._closed[element.parent]
        if around.behind is not None and (tag in BLOCKS or tag in CELLS):
            around = in_block(around)
        around = _by_itself(around, tag, *self._default(element, tag))
        effect = self.sheet.effect(inline, old, rules, around.variables)
        is_cell, is_block = _is_cell(tag, effect), tag in BLOCKS
        look = around if effect is None else changed(around, effect, is_block=is_block, is_cell=is_cell)
        if not self.sheet.is_sure and rules:
            perhaps = self.sheet.effect(inline, old, rules, around.variables, is_sure=False)
            other = around if perhaps is None else changed(around, perhaps, is_block=is_block, is_cell=is_cell)
            if other.sight is not look.sight:
                look = doubted(min(look, other, key=lambda one: one.sight))
        if (
            effect is not None
            and effect.room is not None
            and look.sight is SEEN
            and not fits(element, look, effect, tag, self.sheet)
        ):
            look = judged(replace(look, clip=DOUBTFUL))
        return look, effect

    def _is_odd(self, element: Element, tag: str, effect: Effect | None) -> bool:
        """Shown by some readers, or only after a click; a field with `display: contents` is not shown at all."""
        if tag in _ODD or (tag == "details" and element.attr("open") is None):
            return True
        return self._is_folded(element, tag) or (tag in _FIELDS and effect is not None and effect.is_block is False)

    def _is_folded(self, element: Element, tag: str) -> bool:
        """An option that is seen only after a click: of a list that shows one, which is the selected or the first."""
        owner = element.closest("select") if tag == "option" else None
        if owner is None or owner.attr("multiple") is not None or owner.attr("size") is not None:
            return False
        if owner not in self._chosen:
            self._chosen[owner] = owner.select_one("option[selected]") or element
        return self._chosen[owner] is not element

    def _default(self, element: Element, tag: str) -> tuple[Colour | None, Look | None]:
        """What the page says of such elements: the ink of a link; whose ink a table has that does not take the one
        around it. None of others."""
        if tag == "a":
            return (self._link_ink(element) if element.attr("href") is not None else None), None
        return None, (self._body if tag == "table" and self.quirks else None)

    def _link_ink(self, element: Element) -> Colour:
        if self._link is None:
            self._link = link_ink(element.closest("body"))
        return self._link


def link_ink(body: Element | None) -> Colour:
    return legacy_colour((body.attr("link") if body is not None else None) or "") or LINK


@lru_cache(maxsize=4096)  # most messages start alike and continue alike
def usual_look(around: Look, effect: Effect | None, tag: str, link: Colour | None, page: Look | None) -> Look:
    """The look of an element that only its tag and its effect make different from what is around it."""
    if around.behind is not None and (tag in BLOCKS or tag in CELLS):
        around = in_block(around)
    around = _by_itself(around, tag, link, page)
    is_cell = _is_cell(tag, effect)
    return around if effect is None else changed(around, effect, is_block=tag in BLOCKS, is_cell=is_cell)


def _is_cell(tag: str, effect: Effect | None) -> bool:
    return (tag in CELLS and (effect is None or not effect.is_block)) or tag in ("body", "html")


def _by_itself(around: Look, tag: str, link: Colour | None, page: Look | None) -> Look:
    """As the browser shows such an element before any style."""
    if link is not None:
        return drawn(around, link)
    if page is not None and (around.font != 16.0 or around.ink != page.ink):
        return drawn(around, page.ink, 16.0)
    if tag in _CONTROLS:
        return drawn(around, BLACK, 13.3, (239, 239, 239, 1.0))
    return drawn(around, BLACK, None, (255, 255, 0, 1.0)) if tag == "mark" else around


def _is_settled(tag: str, effect: Effect | None) -> bool:
    """Whether another element of this kind with the same styles, in the same place, is no other case."""
    if tag in _ALONE or tag in _COLUMNS:
        return False
    return effect is None or (effect.room is None and not (tag == "img" and may_lie_over(effect)))


def _is_laid_over(picture: Element, effect: Effect) -> bool:
    """A picture that is not certainly small, displayed over others."""
    if not may_lie_over(effect):
        return False
    said = [effect.size[0] or _said(picture, "width"), effect.size[1] or _said(picture, "height")]
    return not any(length is not None and length < _SMALL_PICTURE for length in said)


def may_lie_over(effect: Effect) -> bool:
    return effect.position in ("absolute", "fixed") or min(effect.takes) <= -_PULLED


def _said(picture: Element, side: str) -> float | None:
    value = (picture.attr(side) or "").strip(" px")[:5]
    return float(value) if value.isdecimal() else None


def _is_shut(column: Element) -> bool:
    """A column without width, in a table whose columns do not grow with their content."""
    table = column.closest("table")
    is_fixed = table is not None and "fixed" in (table.attr("style") or "")
    return is_fixed and _NO_WIDTH.search(f"{column.attr('width') or ''};{column.attr('style') or ''}"[:500]) is not None


def _table_of(column: Element) -> Iterable[Element]:
    """Which cells a hidden column hides depends on the layout."""
    table = column.closest("table")
    return () if table is None else table.iter_elements()


def texts_in(element: Element) -> list[Node]:
    """Its own, without those of the elements in it."""
    from turbohtml import Element as ElementType

    return [child for child in element.children if not isinstance(child, ElementType)]
