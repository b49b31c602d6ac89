"""The rules of a message's style elements that apply on a reader's screen, with nesting and conditions resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from postroom.mime.css.effects import overlays
from postroom.mime.css.longhands import OVERLAID, is_relevant, longhands
from postroom.mime.css.media import media_holds
from postroom.mime.css.selectors import Shape, for_library, shape_of, weight_of
from postroom.mime.css.supports import supports_holds
from postroom.mime.css.syntax import (
    BLANKS,
    Declaration,
    at_rule,
    blocks,
    declaration,
    declarations,
    preprocessed,
    sheet_in,
    split_outside,
    unescaped,
    without_comments,
    words_of_names,
    work_of,
)
from postroom.mime.limits import MAX_STYLE, MAX_STYLE_DECLARATIONS, MAX_STYLE_DEPTH, MAX_STYLE_RULES

END_OF_SHEET: Final = "\0"  # what one style element leaves open ends with it
_MAX_LIST: Final = 100_000  # characters of the selectors of one rule
_MAX_NESTED: Final = 4_000  # characters of those of a nested rule, written out
_SMALL: Final = 40_000  # characters: larger ones are not cached
# What is before, after or in the first line of an element is not text of the message; such selectors are still valid.
_PSEUDO_ELEMENT = re.compile(
    r"::?(?:before|after|first-line|first-letter)\b"
    r"|::(?:selection|placeholder|marker|backdrop|cue|details-content|file-selector-button|part\(|-webkit-)",
    re.IGNORECASE,
)
_PART = re.compile(r"::?(first-line|details-content|before|after)\s*+\Z", re.IGNORECASE)
_OVERLAY: Final = (Declaration(OVERLAID, "yes", important=False),)
_CONTAINER = re.compile(r"container(?:-type)?\s*+:", re.IGNORECASE)
_NO_LAYER: Final = 1_000_000  # more than there are layers
_PROPERTY = re.compile(r"(?<![a-z-])([a-z-]++)\s*+:", re.IGNORECASE)
_HARMLESS: Final = frozenset({"box-shadow", "text-shadow", "z-index"})


@dataclass(frozen=True, slots=True)
class Rule:
    """`selector` is one of a list: each has its own weight."""

    selector: str
    declarations: tuple[Declaration, ...]
    weight: tuple[int, ...]
    work: int = 1  # units, to compute its declarations
    is_sure: bool = True  # False: may apply, or applies to part of the element's text


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Compared by identity: equal texts mostly share one sheet."""

    rules: tuple[Rule, ...] = ()
    is_whole: bool = True  # no limit was hit
    animations: frozenset[str] = frozenset()  # names of those that may hide what they animate
    variables: Mapping[str, str] = field(default_factory=dict)  # with initial values
    is_small: bool = True  # worth caching with its effects
    is_sure: bool = True  # every rule is
    shapes: tuple[Shape, ...] = ()  # of the rules' selectors


@dataclass(frozen=True, slots=True)
class _Where:
    """What applies to all rules of a block."""

    depth: int = 0
    layer: int = 0  # later layers win; rules outside of all layers win over them
    path: str = ""
    is_sure: bool = True

    def deeper(self) -> _Where:
        return replace(self, depth=self.depth + 1)


@dataclass(slots=True)
class _Reader:
    rules: list[Rule] = field(default_factory=list)
    animations: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)
    layers: dict[str, int] = field(default_factory=dict)  # their order is that of their first mention
    is_whole: bool = True
    room: int = 0  # characters of selectors that may still be written out
    has_containers: bool = False

    def read(self, text: str, parents: tuple[str, ...], where: _Where) -> None:
        """`parents` are the selectors of the rule around; none at the top."""
        depth = where.depth
        around = parents[0] if len(parents) == 1 else f":is({','.join(parents)})" if parents else ""
        own: list[Declaration] = []
        for block in blocks(text, is_sheet=depth == 0):
            if len(self.rules) >= MAX_STYLE_RULES:
                self.is_whole = False
                break
            if block.body is None and block.prelude.startswith("@"):
                self._read_statement(block.prelude, where)
            elif block.body is None or block.prelude.startswith("--"):
                statement = block.prelude if block.body is None else f"{block.prelude}{{{block.body}}}"
                found = declaration(statement)
                own += [found] if found is not None and is_relevant(found.name) else []
            else:
                self._read_block(block.prelude, block.body, parents, around, where)
        if own:
            self.is_whole = self.is_whole and len(own) <= MAX_STYLE_DECLARATIONS
            kept = tuple(own[-MAX_STYLE_DECLARATIONS:])  # the last ones win
            self._add(parents, kept, where)

    def _add(self, selectors: tuple[str, ...], kept: tuple[Declaration, ...], where: _Where) -> None:
        work = sum(work_of(one.value) for one in kept)
        for selector in selectors:
            if weight := weight_of(selector):
                self.rules.append(Rule(selector, kept, (where.layer, *weight), work, where.is_sure))
            elif (part := _PART.search(selector)) and (weight := weight_of(selector[: part.start()] or "*")):
                whole = selector[: part.start()] or "*"
                if part[1].lower() in ("first-line", "details-content"):
                    self.rules.append(Rule(whole, kept, (where.layer, *weight), work, is_sure=False))
                elif overlays(_style(kept)):
                    self.rules.append(Rule(whole, _OVERLAY, (where.layer, *weight), 1, where.is_sure))

    def _read_statement(self, statement: str, where: _Where) -> None:
        name, rest = at_rule(statement)
        if name == "@layer":
            for layer in rest.split(","):
                self._layer(layer, where)
        elif name == "@import" and (sheet := sheet_in(statement)) and where.depth < MAX_STYLE_DEPTH:
            self.read(without_comments(preprocessed(sheet)), (), where.deeper())

    def _layer(self, name: str, where: _Where) -> _Where:
        path = f"{where.path}.{name.strip(BLANKS) or len(self.layers)}"
        return replace(where.deeper(), path=path, layer=self.layers.setdefault(path, len(self.layers) - _NO_LAYER))

    def _read_block(self, prelude: str, body: str, parents: tuple[str, ...], around: str, where: _Where) -> None:
        if where.depth >= MAX_STYLE_DEPTH or len(prelude) > _MAX_LIST:
            self.is_whole = False
        elif prelude.startswith("@"):
            self._read_conditional(prelude, body, parents, where)
        elif selectors := self._selectors(prelude, around):
            self.read(body, selectors, where.deeper())
        elif parents:
            self.is_whole = False

    def _selectors(self, prelude: str, around: str) -> tuple[str, ...]:
        found = _selectors(prelude, around)
        self.room -= sum(map(len, found)) if around else 0
        return found if self.room >= 0 else ()

    def _read_conditional(self, prelude: str, body: str, parents: tuple[str, ...], where: _Where) -> None:
        name, condition = at_rule(prelude)
        if name == "@keyframes" or name.endswith("-keyframes"):
            properties = set(map(str.lower, _PROPERTY.findall(unescaped(body))))
            if any(is_relevant(one) for one in properties - _HARMLESS):
                self.animations.update(words_of_names(unescaped(condition)))
        elif name == "@layer":
            self.read(body, parents, self._layer(condition, where))
        elif name == "@media" and media_holds(condition):
            self.read(body, parents, where.deeper())
        elif name == "@supports" and (is_met := supports_holds(condition)) is not False:
            self.read(body, parents, replace(where.deeper(), is_sure=where.is_sure and is_met is True))
        elif name == "@container" and self.has_containers:
            self.read(body, parents, replace(where.deeper(), is_sure=False))
        elif name == "@property":
            self.variables |= {
                unescaped(condition): one.value for one in declarations(body) if one.name == "initial-value"
            }
        elif name == "@scope":
            self._read_scope(condition, body.replace(":scope", "&"), parents, where.deeper())

    def _read_scope(self, condition: str, body: str, parents: tuple[str, ...], where: _Where) -> None:
        """What is within certain elements; what is these elements themselves, or beyond its other end, is not sure."""
        start, has_end, _ = condition.partition(" to ")
        within = _selectors(start.strip(BLANKS).strip("()"), "")
        if not has_end:
            self.read(body, (f":is({','.join(within)})",) if within else parents, where)
        self.read(body, ("*",), replace(where, is_sure=False))


def _selectors(prelude: str, around: str) -> tuple[str, ...]:
    """The selectors of a list, each as it would be written at the top level. Empty if one of them is invalid."""
    if len(around) > _MAX_NESTED or not prelude:
        return ()
    found = tuple(selector.strip(BLANKS) for selector in split_outside(for_library(prelude), ","))
    if not around:
        return found if all(weight_of(one) is not None or _PSEUDO_ELEMENT.search(one) for one in found) else ()
    size = len(prelude) + len(around) * max(len(found), prelude.count("&"))
    if size > _MAX_NESTED:
        return ()
    return tuple(one.replace("&", f":is({around})") if "&" in one else f":is({around}) {one}" for one in found)


def read_sheet(text: str, *, has_containers: bool = False) -> Sheet:
    """`has_containers`: some element is declared a container whose size rules may test."""
    return (_usual_sheet if len(text) <= _SMALL else _read_sheet)(text, has_containers)


@lru_cache(maxsize=64)  # messages of one sender mostly have the same sheet
def _usual_sheet(text: str, has_containers: bool) -> Sheet:
    return _read_sheet(text, has_containers)


def _read_sheet(text: str, has_containers: bool) -> Sheet:
    reader = _Reader(is_whole=len(text) <= MAX_STYLE, room=10_000 + 10 * min(len(text), MAX_STYLE))
    reader.has_containers = has_containers or _CONTAINER.search(text) is not None
    for one in text[:MAX_STYLE].split(END_OF_SHEET):
        reader.read(without_comments(preprocessed(one)), (), _Where())
    return Sheet(
        tuple(reader.rules),
        reader.is_whole,
        frozenset(reader.animations),
        reader.variables,
        is_small=len(text) <= _SMALL,
        is_sure=all(rule.is_sure for rule in reader.rules),
        shapes=tuple(shape_of(rule.selector) for rule in reader.rules),
    )


def _style(kept: Iterable[Declaration]) -> dict[str, str]:
    style: dict[str, str] = {}
    for name, value, _ in kept:
        style.update(longhands(name, value, False))
    return style
