"""The cascade of one document: what legacy attributes, style elements and style attributes set on an element."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.effects import UNKNOWN_EFFECT, Effect, effect_of
from postroom.mime.css.longhands import WIDE, longhands, undecided
from postroom.mime.css.matching import Matches, Work, allowed_work
from postroom.mime.css.media import media_holds
from postroom.mime.css.rules import END_OF_SHEET, Rule, Sheet, read_sheet
from postroom.mime.css.syntax import Declaration, declarations, sheet_in, work_of
from postroom.mime.css.values import Style, legacy_colour
from postroom.mime.limits import MAX_VARIABLES

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

_OLD: Final = "[bgcolor],[background],body[text],[hidden],[popover]"
_OLD_TAGS: Final = {
    "font": "font[color],font[size]",
    "bdo": "bdo",
    "math": "math [mathcolor],math [mathsize],math [mathbackground]",
}
_BOXES: Final = frozenset({"body", "table", "tbody", "thead", "tfoot", "tr", "td", "th", "col", "colgroup"})
_MATH: Final = {"mathcolor": "color", "mathsize": "font-size", "mathbackground": "background-color"}
_LONGEST_WORD: Final = 100  # characters of such an attribute
_FONT_SIZES: Final = ("x-small", "small", "medium", "large", "x-large", "xx-large", "48px")
_INHERITED: Final = ("color", "font-size", "visibility", "text-indent", "-webkit-text-fill-color")
_LINKED_SHEETS: Final = 'style,link[rel~="stylesheet" i][href*="data:" i]:not([rel~="alternate" i],[disabled])'
_DEFAULT_SHEETS: Final = 'meta[http-equiv="default-style" i][content]'
_DARK_PAGE: Final = 'meta[name="color-scheme" i][content~="dark" i]:not([content~="light" i])'
_CONTAINERS: Final = '[style*="container" i]'
_SHORT: Final = 300  # characters of a style that is worth caching beyond its document
_LONGEST: Final = 1_000  # characters of a variable's value
_NO_VALUE: Final = "initial"  # of a variable, as if it had never been set
_VALUES: Final = 10  # variables of one value
_STYLE: Final = 6  # units of work for any style
_VARIABLES: Final = 20  # inherited variables that are processed in one unit
_UNSEEN: Final = Effect()  # of a style that this document did not have yet
_NO_SHEET: Final = Sheet()  # one for all: what is remembered of a sheet is found again
_VARIABLE = re.compile(r"var\(\s*+(--[^\s,()]++)\s*+(?:,((?:[^()]++|\([^()]*+\))*+))?+\)", re.IGNORECASE)


# What is said about an element: its style attribute, legacy attributes, the numbers of the rules that apply to it.
Said = tuple[str | None, str | None, tuple[int, ...]]


class Stylesheet:
    """Create it before the style elements are dropped."""

    def __init__(
        self, document: Document, tags: frozenset[str], *, quirks: bool, most: int, work: Work | None = None
    ) -> None:
        """`tags`: it has no others. `most`: nor more elements."""
        self.most = most
        self._quirks = quirks
        self.sheet = _sheet_of(document, tags)
        self.presented: dict[Node, str] = {element: _presented(element) for element in _old(document, tags)}
        is_dark = "meta" in tags and document.select_one(_DARK_PAGE) is not None
        if is_dark and (page := document.select_one("html")) is not None:
            self.presented[page] = f"color-scheme:dark;{self.presented.get(page, '')}"
        self._work = work or allowed_work()
        self._matches = Matches(document, self.sheet, most, self._work)
        self.matched = self._matches.groups
        self._effects: dict[tuple[str, str, int, bool], Effect | None] = {}  # without inherited variables
        self.is_sure = self.sheet.is_sure
        self.is_whole = self.sheet.is_whole and self._matches.is_whole

    def said(self) -> dict[Element, Said]:
        """Of the elements that more than a style attribute applies to."""
        groups, presented = self.matched, self.presented
        elements = cast("Iterable[Element]", groups.keys() | presented.keys() if presented else groups)
        rules = {group: self._matches.rules_of(group) for group in {0, *groups.values()}}
        return {one: (one.attr("style"), presented.get(one), rules[groups.get(one, 0)]) for one in elements}

    def spend(self, units: int) -> bool:
        """Whether this much more work is allowed. For what is not computed, visibility is unknown."""
        self._work.cascade -= units
        if self._work.cascade < 0:
            self.is_whole = False
        return self._work.cascade >= 0

    def effect(
        self,
        inline: str | None,
        presented: str | None,
        matched: int,
        variables: Mapping[str, str] | None,
        *,
        is_sure: bool = True,
    ) -> Effect | None:
        """What a style attribute, legacy attributes and matching rules do together; None if nothing. With `is_sure`
        False it is what they may do, including rules that may not apply."""
        key = presented or "", inline or "", matched, is_sure
        if variables is not None:
            return self._worked_out(*key, variables)
        effect = self._effects.get(key, _UNSEEN)
        if effect is _UNSEEN:
            effect = self._effects[key] = self._worked_out(*key, None)
        return effect

    def _worked_out(
        self, old: str, own: str, matched: int, is_sure: bool, variables: Mapping[str, str] | None
    ) -> Effect | None:
        if self._work.cascade < _STYLE:
            self.spend(_STYLE)
            return UNKNOWN_EFFECT
        numbers = self._matches.rules_of(matched) if matched else ()
        if numbers and is_sure and not self.is_sure:
            numbers = tuple(number for number in numbers if self.sheet.rules[number].is_sure)
        if not self.spend(work_of_style(self.sheet, old, own, numbers) + len(variables or ()) // _VARIABLES):
            return UNKNOWN_EFFECT
        if variables is not None:
            return _effect(self.sheet, numbers, old, own, variables, quirks=self._quirks)
        return effect_of_style(self.sheet, old, own, numbers, quirks=self._quirks)

    def effect_on(self, element: Element) -> Effect | None:
        """Without what it inherits."""
        return self.effect(element.attr("style"), self.presented.get(element), self.matched.get(element, 0), None)


def work_of_style(sheet: Sheet, old: str, own: str, numbers: tuple[int, ...]) -> int:
    """Units for `effect_of_style`."""
    styles = old + own
    work = _STYLE + (_usual_work(styles) if len(styles) <= _SHORT else work_of(styles))
    return work + sum([sheet.rules[number].work for number in numbers]) if numbers else work


def effect_of_style(sheet: Sheet, old: str, own: str, numbers: tuple[int, ...], *, quirks: bool) -> Effect | None:
    """Of an element that inherits no variables: of legacy attributes, a style attribute and these rules."""
    is_short = len(old) + len(own) + len(numbers) <= _SHORT
    if not numbers and is_short and not sheet.animations and not sheet.variables:
        return _usual_effect(old, own, quirks)
    if sheet.is_small and is_short:
        return _known_effect(sheet, numbers, old, own, quirks)
    return _effect(sheet, numbers, old, own, {}, quirks=quirks)


def _sheet_of(document: Document, tags: frozenset[str]) -> Sheet:
    if tags.isdisjoint(("style", "link")):
        return _NO_SHEET
    elements = list(filter(_is_css, document.select(_LINKED_SHEETS if "link" in tags else "style")))
    titles = {"", _chosen_title(document, elements)}
    texts = [
        element.text if element.tag == "style" else sheet_in(element.attr("href") or "")
        for element in elements
        if media_holds(element.attr("media") or "") and (element.attr("title") or "") in titles
    ]
    if not any(map(str.strip, texts)):
        return _NO_SHEET
    text = END_OF_SHEET.join(one.replace(END_OF_SHEET, "\ufffd") for one in texts)
    return read_sheet(text, has_containers="@container" in text and document.select_one(_CONTAINERS) is not None)


def _is_css(element: Element) -> bool:
    """A style element within a formula is one by name only."""
    import turbohtml

    is_css = (element.attr("type") or "text/css").lower() == "text/css"
    return is_css and element.namespace is not turbohtml.Namespace.MATHML


def _chosen_title(document: Document, sheets: Sequence[Element]) -> str:
    """Of style sheets with different titles a browser applies those of one: which the page names, or the first."""
    titles = [title for sheet in sheets if (title := sheet.attr("title"))]
    if not titles:
        return ""
    named = [meta.attr("content") or "" for meta in document.select(_DEFAULT_SHEETS)]
    return named[-1] if named else titles[0]


def _cascaded(
    presented: str, inline: str, rules: Sequence[Rule], variables: Mapping[str, str], *, quirks: bool
) -> Style:
    """The winning declarations, with shorthands expanded. Those that no browser understands do not count."""
    old, own = declarations(presented), declarations(inline)
    ordered: list[Iterable[Declaration]] = [old, *(rule.declarations for rule in rules), own]
    important = ordered
    if rules and rules[0].weight[0]:  # for !important the first layer wins
        important = [old, *(rule.declarations for rule in sorted(rules, key=_by_layers_backwards)), own]
    winning = [one for group in ordered for one in group if not one.important]
    winning += [one for group in important for one in group if one.important]
    custom = {name: value[:_LONGEST] for name, value, _ in winning if name.startswith("--")}
    custom = dict(islice(custom.items(), MAX_VARIABLES))
    custom = {name: _inherited(name, value, variables) for name, value in custom.items()}
    known = {**variables, **custom} if custom else variables
    if _NO_VALUE in known.values():
        known = {name: value for name, value in known.items() if value != _NO_VALUE}
    custom = {name: _resolved(value, known) for name, value in custom.items()}
    style: Style = {}
    for name, value, _ in winning:
        if name == "all" and value in WIDE:
            style = dict.fromkeys(_INHERITED, value)
        elif not name.startswith("--"):
            style.update(
                _substituted(name, value, known, quirks) if "var(" in value else longhands(name, value, quirks)
            )
    return {**style, **custom}


def _inherited(name: str, value: str, variables: Mapping[str, str]) -> str:
    return variables.get(name, _NO_VALUE) if value in WIDE and value != _NO_VALUE else value


def _by_layers_backwards(rule: Rule) -> tuple[int, ...]:
    return (-rule.weight[0], *rule.weight[1:])


def _substituted(name: str, value: str, variables: Mapping[str, str], quirks: bool) -> Style:
    """A value that turns out invalid only then has still replaced the ones before it (CSS Variables, "invalid at
    computed-value time")."""
    value = _resolved(value, variables)
    if "var(" in value:
        return undecided(name, quirks)
    return longhands(name, value, quirks) or longhands(name, "unset", quirks)


def _resolved(value: str, variables: Mapping[str, str]) -> str:
    for _ in range(5):  # a variable may refer to another
        if "var(" not in value.lower() or len(value) > _LONGEST:
            break
        value = _VARIABLE.sub(lambda found: variables.get(found[1], found[2] or "").strip(), value, count=_VALUES)
    return value.lower()


_usual_work = lru_cache(maxsize=4096)(work_of)


@lru_cache(maxsize=4096)  # messages of one sender are all styled alike
def _usual_effect(presented: str, inline: str, quirks: bool) -> Effect | None:
    return effect_of(_cascaded(presented, inline, (), {}, quirks=quirks))


@lru_cache(maxsize=4096)
def _known_effect(sheet: Sheet, numbers: tuple[int, ...], presented: str, inline: str, quirks: bool) -> Effect | None:
    return _effect(sheet, numbers, presented, inline, {}, quirks=quirks)


def _effect(
    sheet: Sheet, numbers: tuple[int, ...], presented: str, inline: str, variables: Mapping[str, str], *, quirks: bool
) -> Effect | None:
    rules = sorted((sheet.rules[number] for number in numbers), key=lambda rule: rule.weight)  # stable for equal ones
    variables = {**sheet.variables, **variables} if sheet.variables else variables
    return effect_of(_cascaded(presented, inline, rules, variables, quirks=quirks), animations=sheet.animations)


def _old(document: Document, tags: frozenset[str]) -> list[Element]:
    """Elements with legacy attributes. Each alternative of a selector takes time on every element."""
    return document.select(",".join([_OLD, *[old for tag, old in _OLD_TAGS.items() if tag in tags]]))


def _presented(element: Element) -> str:
    """The legacy attributes, as the style they stand for."""
    tag = element.tag
    style = ""
    if element.attr("hidden") is not None or element.attr("popover") is not None:
        style += "display:none;"
    if tag == "bdo":
        is_usual = (element.attr("dir") or "").strip().lower() == "ltr"
        style += f"unicode-bidi:isolate-override;direction:{'ltr' if is_usual else 'rtl'};"
    ink = element.attr("color") if tag == "font" else element.attr("text") if tag == "body" else None
    if ink and (found := legacy_colour(ink)):
        style += f"color:#{found[0]:02x}{found[1]:02x}{found[2]:02x};"
    if tag == "font" and (size := (element.attr("size") or "").strip()):
        style += f"font-size:{_font_size(size)};"
    for name, stands_for in _MATH.items():
        if value := element.attr(name):
            style += f"{stands_for}:{value.split(';')[0][:_LONGEST_WORD]};"
    if tag in _BOXES:
        if (ground := element.attr("bgcolor")) and (found := legacy_colour(ground)):
            style += f"background-color:#{found[0]:02x}{found[1]:02x}{found[2]:02x};"
        if element.attr("background"):
            style += "background-image:url(x);"
    return style


def _font_size(size: str) -> str:
    digits = size.lstrip("+-")[:2]
    if not digits.isdecimal():
        return "medium"
    step = 3 + int(digits) * (1 if size[0] == "+" else -1) if size[0] in "+-" else int(digits)
    return _FONT_SIZES[min(7, max(1, step)) - 1]
