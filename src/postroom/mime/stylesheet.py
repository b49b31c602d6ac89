"""The cascade of one document: presentational attributes, rules of style elements, style attributes, `!important`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from postroom.mime.css import Rule, Style, read_rules, read_style
from postroom.mime.limits import MAX_STYLE_WORK
from postroom.mime.looks import Effect, effect_of

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

_INKS: Final = {"font": "color", "body": "text"}
_BOXES: Final = frozenset({"body", "table", "tbody", "thead", "tfoot", "tr", "td", "th"})
_OLD_ATTRIBUTES: Final = "[bgcolor],[background],font[color],body[text]"
_SHORT: Final = 300  # characters of a style that is worth remembering beyond its document


class Stylesheet:
    """Read it before the style elements are dropped. Elements of one spelling share one `Effect`."""

    def __init__(self, document: Document) -> None:
        sheet = "\n".join(element.text for element in document.select("style"))
        self._rules = sorted(read_rules(sheet), key=_weight) if sheet.strip() else []
        self._presented = {element: _presented(element) for element in document.select(_OLD_ATTRIBUTES)}
        self._matched: dict[Node, list[int]] = {}
        self._effects: dict[tuple[str, str, tuple[int, ...]], Effect | None] = {}
        if self._rules:
            elements = sum(1 for _ in document.iter_elements())
            for number in range(len(self._rules))[-max(1, MAX_STYLE_WORK // max(1, elements)) :]:
                self._match(document, number)

    def effect(self, element: Element) -> Effect | None:
        """None where nothing that matters is said about this element."""
        inline = element.attr("style") or ""
        presented = self._presented.get(element, "")
        matched = self._matched.get(element)
        if not inline and not presented and not matched:
            return None
        if not matched and len(presented) + len(inline) <= _SHORT:
            return _usual_effect(presented, inline)
        key = presented, inline, tuple(matched or ())
        if key not in self._effects:
            self._effects[key] = effect_of(_cascaded(presented, inline, [self._rules[number] for number in key[2]]))
        return self._effects[key]

    def _match(self, document: Document, number: int) -> None:
        selector = self._rules[number].selector
        if ":has" in selector or len(selector) > 1_000:
            return  # the one selector that is not linear
        try:
            found = document.select(selector)
        except ValueError:
            return
        for element in found:
            self._matched.setdefault(element, []).append(number)


def _cascaded(presented: str, inline: str, rules: Sequence[Rule] = ()) -> Style:
    style = dict(read_style(presented)[0])
    for rule in rules:
        style.update(rule.normal)
    normal, important = read_style(inline)
    style.update(normal)
    for rule in rules:
        style.update(rule.important)
    return {**style, **important}


@lru_cache(maxsize=2048)  # the mails of one sender are all styled alike
def _usual_effect(presented: str, inline: str) -> Effect | None:
    return effect_of(_cascaded(presented, inline))


def _presented(element: Element) -> str:
    """The old colour attributes, as the style they stand for."""
    tag = element.tag
    style = ""
    if tag in _INKS and (ink := element.attr(_INKS[tag])):
        style += f"color:{ink};"
    if tag in _BOXES:
        if ground := element.attr("bgcolor"):
            style += f"background-color:{ground};"
        if element.attr("background"):
            style += "background-image:url();"
    return style


def _weight(rule: Rule) -> tuple[int, int, int]:
    from turbohtml.convert import css_specificity

    try:
        return max(css_specificity(rule.selector), default=(0, 0, 0))
    except ValueError:
        return (0, 0, 0)
