"""The rules of a mail's style elements that hold on a reader's screen, flat: nesting and conditions resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from postroom.mime.css.longhands import is_relevant
from postroom.mime.css.media import media_holds, supports_holds
from postroom.mime.css.syntax import Declaration, blocks, declaration, split_outside, without_comments, work_of
from postroom.mime.limits import MAX_STYLE, MAX_STYLE_DECLARATIONS, MAX_STYLE_DEPTH, MAX_STYLE_RULES

_MAX_LIST: Final = 100_000  # characters of the selectors of one rule
_MAX_NESTED: Final = 4_000  # characters of those of a rule within a rule, written out
_SMALL: Final = 40_000  # characters: larger ones are not kept in memory
# What stands before, after or in the first line of an element is no text of ours; yet such a selector is a valid one.
_PSEUDO_ELEMENT = re.compile(
    r"::?(?:before|after|first-line|first-letter)\b"
    r"|::(?:selection|placeholder|marker|backdrop|cue|file-selector-button|part\(|-webkit-)",
    re.IGNORECASE,
)
_HIDING: Final = ("opacity", "visibility", "transform", "color", "size", "display", "height", "clip", "left", "top")


@dataclass(frozen=True, slots=True)
class Rule:
    """`selector` is one of a list's: each has a weight of its own."""

    selector: str
    declarations: tuple[Declaration, ...]
    weight: tuple[int, ...]
    work: int = 1  # units, to work out its declarations


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Compared by identity: one text mostly has one sheet."""

    rules: tuple[Rule, ...] = ()
    is_whole: bool = True  # no bound was hit
    animations: frozenset[str] = frozenset()  # names of those that may hide what they move
    is_small: bool = True  # worth remembering with what it does


@dataclass(slots=True)
class _Reader:
    rules: list[Rule] = field(default_factory=list)
    animations: set[str] = field(default_factory=set)
    is_whole: bool = True
    room: int = 0  # characters of selectors that may still be written out

    def read(self, text: str, parents: tuple[str, ...], *, layered: bool, depth: int) -> None:
        """`parents` are the selectors of the rule around; none at the top."""
        around = parents[0] if len(parents) == 1 else f":is({','.join(parents)})" if parents else ""
        own: list[Declaration] = []
        for block in blocks(text, is_sheet=depth == 0):
            if len(self.rules) >= MAX_STYLE_RULES:
                self.is_whole = False
                break
            if block.body is None or block.prelude.startswith("--"):
                statement = block.prelude if block.body is None else f"{block.prelude}{{{block.body}}}"
                found = declaration(statement)
                own += [found] if found is not None and is_relevant(found.name) else []
            else:
                self._read_block(block.prelude, block.body, parents, around, layered=layered, depth=depth)
        if own:
            self.is_whole = self.is_whole and len(own) <= MAX_STYLE_DECLARATIONS
            kept = tuple(own[-MAX_STYLE_DECLARATIONS:])  # the last ones win
            weighed = ((selector, _weight(selector)) for selector in parents)
            work = sum(work_of(one.value) for one in kept)
            self.rules += [Rule(one, kept, (not layered, *weight), work) for one, weight in weighed if weight]

    def _read_block(
        self, prelude: str, body: str, parents: tuple[str, ...], around: str, *, layered: bool, depth: int
    ) -> None:
        if depth >= MAX_STYLE_DEPTH or len(prelude) > _MAX_LIST:
            self.is_whole = False
        elif prelude.startswith("@"):
            self._read_conditional(prelude, body, parents, layered=layered, depth=depth)
        elif selectors := self._selectors(prelude, around):
            self.read(body, selectors, layered=layered, depth=depth + 1)
        elif parents:
            self.is_whole = False

    def _selectors(self, prelude: str, around: str) -> tuple[str, ...]:
        found = _selectors(prelude, around)
        self.room -= sum(map(len, found)) if around else 0
        return found if self.room >= 0 else ()

    def _read_conditional(
        self, prelude: str, body: str, parents: tuple[str, ...], *, layered: bool, depth: int
    ) -> None:
        name, _, condition = prelude.partition(" ") if " " in prelude else (*_at_name(prelude),)
        name = name.lower()
        if name == "@keyframes" or name.endswith("-keyframes"):
            if any(word in body for word in _HIDING):
                self.animations.add(condition.strip())
        elif name == "@layer":
            self.read(body, parents, layered=True, depth=depth + 1)
        elif (name == "@media" and media_holds(condition)) or (name == "@supports" and supports_holds(condition)):
            self.read(body, parents, layered=layered, depth=depth + 1)
        elif name == "@scope":
            within = _selectors(condition.partition(" to ")[0].strip().strip("()"), "")
            self.read(body, (f":is({','.join(within)})",) if within else parents, layered=layered, depth=depth + 1)


def _at_name(prelude: str) -> tuple[str, str, str]:
    name, bracket, rest = prelude.partition("(")
    return name, "", bracket + rest


def _selectors(prelude: str, around: str) -> tuple[str, ...]:
    """The selectors of a list, each as it reads at the top of a sheet. Empty where one of them is none."""
    if len(around) > _MAX_NESTED:
        return ()
    found = tuple(selector.strip() for selector in split_outside(prelude, ","))
    if not around:
        return found if all(_weight(one) is not None or _PSEUDO_ELEMENT.search(one) for one in found) else ()
    size = len(prelude) + len(around) * max(len(found), prelude.count("&"))
    if size > _MAX_NESTED:
        return ()
    return tuple(one.replace("&", f":is({around})") if "&" in one else f":is({around}) {one}" for one in found)


def read_sheet(text: str) -> Sheet:
    return _usual_sheet(text) if len(text) <= _SMALL else _read_sheet(text)


@lru_cache(maxsize=64)  # the mails of one sender mostly come with the same sheet
def _usual_sheet(text: str) -> Sheet:
    return _read_sheet(text)


def _read_sheet(text: str) -> Sheet:
    reader = _Reader(is_whole=len(text) <= MAX_STYLE, room=10_000 + 10 * min(len(text), MAX_STYLE))
    reader.read(without_comments(text[:MAX_STYLE]), (), layered=False, depth=0)
    return Sheet(tuple(reader.rules), reader.is_whole, frozenset(reader.animations), len(text) <= _SMALL)


def _weight(selector: str) -> tuple[int, int, int] | None:
    """None where the selector is none, or one that selects no element."""
    from turbohtml.convert import css_specificity

    try:
        return css_specificity(selector)[0]
    except ValueError:
        return None
