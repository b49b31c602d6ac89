"""The cascade of one document: what old attributes, style elements and style attributes say of an element."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from postroom.mime.css.effects import Effect, effect_of
from postroom.mime.css.longhands import longhands
from postroom.mime.css.media import media_holds
from postroom.mime.css.rules import Rule, Sheet, read_sheet
from postroom.mime.css.syntax import Declaration, declarations
from postroom.mime.css.values import Style, legacy_colour
from postroom.mime.limits import MAX_MATCHES, MAX_STYLE_WORK, MAX_VARIABLES

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

_OLD: Final = "[bgcolor],[background],font[color],font[size],body[text],[hidden],[popover]"
_BOXES: Final = frozenset({"body", "table", "tbody", "thead", "tfoot", "tr", "td", "th"})
_FONT_SIZES: Final = ("x-small", "small", "medium", "large", "x-large", "xx-large", "48px")
_SHORT: Final = 300  # characters of a style that is worth remembering beyond its document
_NEEDS = re.compile(r"[.#]((?:[\w-]|[^\x00-\x7f])++)")
_DEAR: Final = (":has(", ":lang(", ":dir(", ":nth-", "~")  # selectors that look beyond an element and those around it
_LONGEST: Final = 1_000  # characters of a variable's value
_VALUES: Final = 10  # variables of one value
_RESOLVING: Final = 20  # times the work of a declaration that names no variable
_STEP: Final = 50  # characters of a selector that are matched in one step
_MANY: Final = 24  # rules from which it pays to know the document's names
_VARIABLE = re.compile(r"var\(\s*+(--[^\s,()]++)\s*+(?:,((?:[^()]++|\([^()]*+\))*+))?+\)")


class Stylesheet:
    """Read it before the style elements are dropped."""

    def __init__(self, document: Document, *, quirks: bool) -> None:
        self._quirks = quirks
        self._sheet = _sheet_of(document)
        self.presented: dict[Node, str] = {element: _presented(element) for element in document.select(_OLD)}
        self.matched: dict[Node, int] = {}  # to a number that stands for the rules: elements of one kind share it
        self._groups: list[tuple[int, int]] = [(0, 0)]  # (the group before, the rule that was added)
        self._numbers: dict[tuple[int, int], int] = {}
        self.is_whole = self._sheet.is_whole
        if self._sheet.rules:
            self._match_all(document)

    def effect(
        self, inline: str | None, presented: str | None, matched: int, variables: Mapping[str, str] | None
    ) -> Effect | None:
        """What a style attribute, old attributes and matching rules do together; None where that is nothing."""
        own, old = inline or "", presented or ""
        if not matched and variables is None and len(old) + len(own) <= _SHORT:
            return _usual_effect(old, own, self._quirks)
        numbers = self._rules_of(matched)
        if variables is None and self._sheet.is_small and len(old) + len(own) + len(numbers) <= _SHORT:
            return _known_effect(self._sheet, numbers, old, own, self._quirks)
        return _effect(self._sheet, numbers, old, own, variables or {}, quirks=self._quirks)

    def _rules_of(self, group: int) -> tuple[int, ...]:
        found: list[int] = []
        while group:
            group, number = self._groups[group]
            found.append(number)
        return tuple(reversed(found))

    def effect_on(self, element: Element) -> Effect | None:
        """Without what it inherits."""
        return self.effect(element.attr("style"), self.presented.get(element), self.matched.get(element, 0), None)

    def _match_all(self, document: Document) -> None:
        elements = sum(1 for _ in document.iter_elements())
        names = _names(document) if len(self._sheet.rules) >= _MANY else None
        work, self._left = MAX_STYLE_WORK, MAX_MATCHES
        for number, rule in enumerate(self._sheet.rules):
            if names is not None and not _can_match(rule.selector, names):
                continue
            is_dear = any(sign in rule.selector for sign in _DEAR)
            cost = elements * (max(40, elements) if is_dear else 1) * (1 + len(rule.selector) // _STEP)
            if cost > work:  # a dear one is left out, plain ones go on
                self.is_whole = False
                if not is_dear:
                    return
                continue
            work -= cost
            self._match(document, number, rule)

    def _match(self, document: Document, number: int, rule: Rule) -> None:
        found = document.select(rule.selector)
        each = sum(_RESOLVING if "var(" in value else 1 for _, value, _ in rule.declarations)
        if len(found) * each > self._left:
            self.is_whole = False
            return
        self._left -= len(found) * each
        for element in found:
            before = self.matched.get(element, 0)
            group = self._numbers.get((before, number))
            if group is None:
                group = self._numbers[before, number] = len(self._groups)
                self._groups.append((before, number))
            self.matched[element] = group


def _sheet_of(document: Document) -> Sheet:
    texts = [
        element.text
        for element in document.select("style")
        if media_holds(element.attr("media") or "") and (element.attr("type") or "text/css").lower() == "text/css"
    ]
    return read_sheet("\n".join(texts)) if any(map(str.strip, texts)) else Sheet()


def _names(document: Document) -> frozenset[str]:
    """The classes and ids that occur; lower-case, since old documents compare them so."""
    found = " ".join(
        f"{element.attr('class') or ''} {element.attr('id') or ''}" for element in document.select("[class],[id]")
    )
    return frozenset(found.lower().split())


def _can_match(selector: str, names: frozenset[str]) -> bool:
    if ":" in selector or "[" in selector or "\\" in selector:
        return True
    return all(name.lower() in names for name in _NEEDS.findall(selector))


def _cascaded(
    presented: str, inline: str, rules: Sequence[Rule], variables: Mapping[str, str], *, quirks: bool
) -> Style:
    """The winning declarations, shorthands taken apart. One that no browser understands does not count."""
    ordered: list[Iterable[Declaration]] = [declarations(presented), *(rule.declarations for rule in rules)]
    ordered.append(declarations(inline))
    winning = [one for important in (False, True) for group in ordered for one in group if one.important is important]
    custom = {name: value[:_LONGEST] for name, value, _ in winning if name.startswith("--")}
    custom = dict(islice(custom.items(), MAX_VARIABLES))
    known = {**variables, **custom} if custom else variables
    custom = {name: _resolved(value, known) for name, value in custom.items()}
    style: Style = {}
    for name, value, _ in winning:
        if not name.startswith("--"):
            style.update(longhands(name, _resolved(value, known) if "var(" in value else value, quirks))
    return {**style, **custom}


def _resolved(value: str, variables: Mapping[str, str]) -> str:
    for _ in range(5):  # a variable may name another
        if "var(" not in value or len(value) > _LONGEST:
            break
        value = _VARIABLE.sub(lambda found: variables.get(found[1], found[2] or "").strip(), value, count=_VALUES)
    return value.lower()


@lru_cache(maxsize=4096)  # the mails of one sender are all styled alike
def _usual_effect(presented: str, inline: str, quirks: bool) -> Effect | None:
    return effect_of(_cascaded(presented, inline, (), {}, quirks=quirks))


@lru_cache(maxsize=4096)
def _known_effect(sheet: Sheet, numbers: tuple[int, ...], presented: str, inline: str, quirks: bool) -> Effect | None:
    return _effect(sheet, numbers, presented, inline, {}, quirks=quirks)


def _effect(
    sheet: Sheet, numbers: tuple[int, ...], presented: str, inline: str, variables: Mapping[str, str], *, quirks: bool
) -> Effect | None:
    rules = sorted((sheet.rules[number] for number in numbers), key=lambda rule: rule.weight)  # in order, where alike
    return effect_of(_cascaded(presented, inline, rules, variables, quirks=quirks), animations=sheet.animations)


def _presented(element: Element) -> str:
    """The old attributes, as the style they stand for."""
    tag = element.tag
    style = ""
    if element.attr("hidden") is not None or element.attr("popover") is not None:
        style += "display:none;"
    ink = element.attr("color") if tag == "font" else element.attr("text") if tag == "body" else None
    if ink and (found := legacy_colour(ink)):
        style += f"color:rgb({found[0]},{found[1]},{found[2]});"
    if tag == "font" and (size := (element.attr("size") or "").strip()):
        style += f"font-size:{_font_size(size)};"
    if tag in _BOXES:
        if (ground := element.attr("bgcolor")) and (found := legacy_colour(ground)):
            style += f"background-color:rgb({found[0]},{found[1]},{found[2]});"
        if element.attr("background"):
            style += "background-image:url(x);"
    return style


def _font_size(size: str) -> str:
    digits = size.lstrip("+-")[:2]
    if not digits.isdecimal():
        return "medium"
    step = 3 + int(digits) * (1 if size[0] == "+" else -1) if size[0] in "+-" else int(digits)
    return _FONT_SIZES[min(7, max(1, step)) - 1]
