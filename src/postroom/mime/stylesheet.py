"""The cascade of one document: presentational attributes, rules of style elements, style attributes, `!important`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from postroom.mime.css import Rule, Style, read_rules, read_style
from postroom.mime.limits import MAX_STYLE_WORK
from postroom.mime.looks import Effect, effect_of

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

_INKS: Final = {"font": "color", "body": "text"}
_BOXES: Final = frozenset({"body", "table", "tbody", "thead", "tfoot", "tr", "td", "th"})


class Stylesheet:
    """Read it before the style elements are dropped. Elements of one spelling share one `Effect`."""

    def __init__(self, document: Document) -> None:
        sheet = "\n".join(element.text for element in document.select("style"))
        self._rules = sorted(read_rules(sheet), key=_weight) if sheet.strip() else []
        self._matched: dict[Node, list[int]] = {}
        self._effects: dict[tuple[str, str, tuple[int, ...]], Effect] = {}
        if self._rules:
            elements = sum(1 for _ in document.iter_elements())
            for number in range(len(self._rules))[-max(1, MAX_STYLE_WORK // max(1, elements)) :]:
                self._match(document, number)

    def effect(self, element: Element) -> Effect | None:
        """None where nothing that matters is said about this element."""
        inline = element.attr("style") or ""
        presented = _presented(element)
        matched = self._matched.get(element)
        if not inline and not presented and not matched:
            return None
        key = presented, inline, tuple(matched or ())
        effect = self._effects.get(key)
        if effect is None:
            effect = self._effects[key] = effect_of(self._cascaded(*key))
        return effect

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

    def _cascaded(self, presented: str, inline: str, matched: tuple[int, ...]) -> Style:
        style = dict(read_style(presented)[0])
        for number in matched:
            style.update(self._rules[number].normal)
        normal, important = read_style(inline)
        style.update(normal)
        for number in matched:
            style.update(self._rules[number].important)
        return {**style, **important}


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
