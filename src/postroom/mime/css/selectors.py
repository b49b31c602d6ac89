"""What a selector requires, as far as needed to tell whether it can match at all, and what matching costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from postroom.mime.css.syntax import BLANKS

_ATTRIBUTE = re.compile(r"""\[[^\[\]"']*+(?:"[^"]*+"|'[^']*+')?[^\[\]"']*+\]""")
_STATE = re.compile(r"::?[a-z-]++(?!\()", re.IGNORECASE)
_FUNCTION = re.compile(r":([a-z-]++)\(([^()]*+)\)", re.IGNORECASE)
_COMBINATOR = re.compile(r"[ \t\n]*+[>+~][ \t\n]*+|[ \t\n]++")
_WITHIN = re.compile(r"[>+~]|(?<=[^\s,])\s++(?=[^\s,])")
_NAME = re.compile(r"[.#]?(?:[\w-]|[^\x00-\x7f])++")
_UNKNOWN_STATE = re.compile(
    r"(?<!:):(defined|-webkit-any-link|-webkit-any(?=\()|popover-open|open|-webkit-autofill|-webkit-full-screen|-webkit-drag"
    r"|target-current|active-view-transition|window-inactive|placeholder-shown|indeterminate|in-range|out-of-range|valid"
    r"|invalid|xr-overlay|(?:state|host|host-context)\([^()]*+\)|host)(?![\w-])",
    re.IGNORECASE,
)
_IN_OTHER_WORDS: Final = {
    "defined": ":not(.\u00f8\u00f8)",  # all, with the weight of a class
    "-webkit-any": ":is",
    "-webkit-any-link": ":any-link",
    "open": ":is(details[open],dialog[open])",
    "indeterminate": ":is(progress:not([value]),input[type=radio i]:not([checked]))",
    "placeholder-shown": ":is([placeholder]:not([value]))",
    "invalid": ":is([required]:not([value]))",
    "valid": ":is(input,select,textarea):not([required]:not([value]))",
}
_FAR: Final = frozenset({"has", "lang", "dir", "nth-last-child", "nth-last-of-type"})  # they look at other elements
_DEEPEST: Final = 8  # nested functions; beyond that nothing is known
_STEP: Final = 20  # characters of a selector that amount to about one comparison
_SHORT: Final = 200  # characters of one that is worth caching


@dataclass(frozen=True, slots=True)
class Shape:
    """Names are lower-case (old documents compare them that way): ``td``, ``.class``, ``#id``."""

    needs: tuple[str, ...] = ()  # what must occur somewhere in the document
    own: tuple[str, ...] = ()  # what the element itself must have
    steps: int = 1
    reaches: int = 0  # how many nested scans over all ancestors of an element
    beside: bool = False  # siblings are examined too
    reads_attributes: bool = False


def for_library(selectors: str) -> str:
    """Pseudo-classes that browsers know and the HTML library does not. Most describe states that no text of a message
    is ever in."""
    if ":" not in selectors:
        return selectors
    return _UNKNOWN_STATE.sub(lambda found: _IN_OTHER_WORDS.get(found[1].lower(), ":is()"), selectors)


def weight_of(selector: str) -> tuple[int, int, int] | None:
    """None if the selector is invalid or selects no element."""
    from turbohtml.convert import css_specificity

    try:
        return css_specificity(selector)[0]
    except ValueError:
        return None


def shape_of(selector: str) -> Shape:
    return _usual_shape(selector) if len(selector) <= _SHORT else _shape(selector)


def _shape(selector: str) -> Shape:
    bare, far = _without_functions(_STATE.sub("", _ATTRIBUTE.sub("", selector)))
    steps = 1 + len(selector) // _STEP
    beside, reads = "~" in selector or "nth-" in selector, "[" in selector
    if any(sign in bare for sign in "\\([:|\"'&"):
        return Shape((), (), steps, 2 + selector.count("("), beside=beside, reads_attributes=reads)
    compounds = _COMBINATOR.split(bare.lower().strip(BLANKS))
    reaches = far + (len(compounds) > 1)
    needs = tuple(name for compound in compounds for name in _NAME.findall(compound))
    return Shape(needs, tuple(_NAME.findall(compounds[-1])), steps, reaches, beside=beside, reads_attributes=reads)


_usual_shape = lru_cache(maxsize=4096)(_shape)


def _without_functions(selector: str) -> tuple[str, int]:
    """(the selector without ``:not(…)`` and the like, how many of them examine other elements)."""
    far = 0
    for _ in range(_DEEPEST):
        if "(" not in selector:
            break
        for name, argument in _FUNCTION.findall(selector):
            far += name.lower() in _FAR or _WITHIN.search(argument.strip()) is not None
        selector = _FUNCTION.sub("", selector)
    return selector, far
