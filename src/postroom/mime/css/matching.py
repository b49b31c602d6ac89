"""Which rules of a style sheet apply to which elements, within the amount of work that `limits` allows.

How long a selector takes depends on the document (its elements, their depth, the length of their attributes) and on
the selector. It is estimated before matching, since both are untrusted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.rules import Sheet
from postroom.mime.css.selectors import Shape
from postroom.mime.limits import MAX_CASCADE_WORK, MAX_MATCHES, MAX_STYLE_WORK

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

_MANY: Final = 24  # rules from which it pays to profile the document
_LARGE: Final = 2_000  # elements, the same
_CLASS = re.compile(r"[^ \t\n\r\f]++")
_CHARACTERS: Final = 16  # of an attribute that are compared in the time of one element


@dataclass(slots=True)
class Work:
    """What may still be done for the styles of a message, however many documents it has."""

    selecting: int
    matches: int
    cascade: int


def allowed_work() -> Work:
    return Work(MAX_STYLE_WORK, MAX_MATCHES, MAX_CASCADE_WORK)


@dataclass(frozen=True, slots=True)
class _Census:
    """What a document consists of, as far as it matters for selectors."""

    elements: int
    names: Counter[str]  # tags, .classes, #ids: elements that have them
    depth: int
    family: int  # the most children of one element
    name_characters: int
    attribute_characters: int

    def can_match(self, shape: Shape) -> bool:
        return all(name in self.names for name in shape.needs)

    def cost(self, shape: Shape) -> int:
        passed = self.elements + self.name_characters // _CHARACTERS
        if shape.reads_attributes:
            passed += self.attribute_characters // _CHARACTERS
        candidates = min((self.names[name] for name in shape.own), default=self.elements)
        reach = max(self.depth, self.family) if shape.beside else self.depth
        return shape.steps * (passed + (candidates * reach ** min(shape.reaches, 4) if shape.reaches else 0))


def _census(document: Document, *, with_attributes: bool) -> _Census:
    depths: dict[Node | None, int] = {}
    parents, tags, classes, ids, attributes = [], [], [], [], 0
    for element in document.iter_elements():
        parent = element.parent
        depths[element] = depths.get(parent, 0) + 1
        parents.append(parent)
        tags.append(element.tag)
        classes.append(element.attr("class"))
        ids.append(element.attr("id"))
        if with_attributes:
            attributes += sum(len(str(value)) for value in element.attrs.values())
    return _Census(
        len(tags),
        _names(tags, classes, ids),
        max(depths.values(), default=1),
        max(Counter(parents).values(), default=1),
        sum(len(value) for value in classes if value),
        attributes,
    )


def _names(tags: Iterable[str], classes: Iterable[str | None], ids: Iterable[str | None]) -> Counter[str]:
    names = Counter({tag.lower(): count for tag, count in Counter(tags).items()})
    for identity, count in Counter(filter(None, ids)).items():
        names[f"#{identity.lower()}"] += count
    for value, count in Counter(filter(None, classes)).items():
        for name in set(_CLASS.findall(value.lower())):
            names[f".{name}"] += count
    return names


class Matches:
    """`groups`: each element's number stands for the rules that apply to it. Elements with the same rules share it."""

    def __init__(self, document: Document, sheet: Sheet, most: int, work: Work | None = None) -> None:
        """`most`: it has no more elements."""
        self.groups: dict[Node, int] = {}
        self.is_whole = True
        self._chain: list[tuple[int, int]] = [(0, 0)]  # (the group before, the rule that was added)
        self._numbers: dict[tuple[int, int], int] = {}
        self._work = work or allowed_work()
        if sheet.rules:
            self._match_all(document, sheet, most)

    def rules_of(self, group: int) -> tuple[int, ...]:
        """In the order of the sheet."""
        found: list[int] = []
        while group:
            group, number = self._chain[group]
            found.append(number)
        return tuple(reversed(found))

    def _match_all(self, document: Document, sheet: Sheet, most: int) -> None:
        census = _needed_census(document, sheet.shapes, most)
        known: dict[str, list[Element]] = {}  # sheets made of many messages repeat themselves
        for number, (rule, shape) in enumerate(zip(sheet.rules, sheet.shapes, strict=True)):
            found = known.get(rule.selector)
            if found is None:
                if census is not None:
                    if not census.can_match(shape):
                        continue
                    cost = census.cost(shape)
                    if cost > self._work.selecting:  # others may cost less
                        self.is_whole = False
                        continue
                    self._work.selecting -= cost
                found = known[rule.selector] = document.select(rule.selector)
            self._add(number, found)

    def _add(self, number: int, found: Sequence[Element]) -> None:
        if len(found) > self._work.matches:
            self.is_whole = False
            return
        self._work.matches -= len(found)
        groups, numbers = self.groups, self._numbers
        if not groups and found:  # nothing to join: most sheets have few rules that matter
            numbers[0, number] = len(self._chain)
            groups.update(dict.fromkeys(found, len(self._chain)))
            self._chain.append((0, number))
            return
        for element in found:
            before = groups.get(element, 0)
            group = numbers.get((before, number))
            if group is None:
                group = numbers[before, number] = len(self._chain)
                self._chain.append((before, number))
            groups[element] = group


def count_elements(document: Document) -> int:
    return int(_count()(document))


@cache
def _count() -> Callable[[Document], float]:
    from turbohtml import XPath

    return cast("Callable[[Document], float]", XPath("count(//*)"))


def has_more_elements(document: Document, limit: int, most: int) -> bool:
    """`most`: how many it has at most. Counting them is rarely needed then."""
    return most > limit and count_elements(document) > limit


def _needed_census(document: Document, shapes: Sequence[Shape], most: int) -> _Census | None:
    """None for few plain rules and a small document: counting it would take longer than matching them."""
    is_plain = len(shapes) < _MANY and all(
        shape.reaches < 2 and not shape.beside and shape.steps < 8 for shape in shapes
    )
    if is_plain and not has_more_elements(document, _LARGE, most):
        return None
    return _census(document, with_attributes=any(shape.reads_attributes for shape in shapes))
