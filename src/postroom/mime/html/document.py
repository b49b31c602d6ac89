"""A message's HTML: bounded, parsed, stripped of what no reader could have seen.

It is parsed as it came: an invisible character may end a tag, a comment or a value that would go on without it. What is
made of the document is cleaned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from postroom.mime.clean import hidden_runs
from postroom.mime.css.matching import count_elements
from postroom.mime.html.hidden import drop_hidden
from postroom.mime.html.hidden_words import DoubtfulText, HiddenText
from postroom.mime.html.tags import Tags
from postroom.mime.limits import MAX_ATTRIBUTES, MAX_ELEMENTS, MAX_HTML_DEPTH, MAX_TAGS, MAX_TEXT
from postroom.model.quickly_built import quickly_built

if TYPE_CHECKING:
    from turbohtml import Document, Node

# Elements that the HTML standard reopens in every block after the one they were left open in: with n of them open,
# n blocks make n x n elements.
_FORMATTING = re.compile(r"<(?:[abisu]|big|code|em|font|nobr|small|strike|strong|tt)[\s/>]", re.IGNORECASE)
_REOPENED: Final = "a,b,i,s,u,big,code,em,font,nobr,small,strike,strong,tt"
_BLANK: Final = r"[ \t\n\f\r]"
# Up to 63 attributes and the end of their tag, as the HTML standard reads them.
_FEW_ATTRIBUTES = re.compile(
    rf"""(?:(?:{_BLANK}|/)*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+
      (?:{_BLANK}*+=(?:{_BLANK}*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+))?+)?+
    ){{0,63}}+(?:{_BLANK}|/)*+(?:>|\Z)""",
    re.VERBOSE,
)
_TAG = re.compile("<")
_CLOSING = re.compile("</")
_FEW_TAGS: Final = 400  # whose elements need not be counted
_SOME_TAGS: Final = 800  # which make as many elements at most as are
_AT_ONCE: Final = 160_000  # parsed before they are counted; that takes 14 ms
_AT_ONCE_LONG: Final = 40_000  # the same of longer sources, whose elements may have thousands of attributes each
_LONG: Final = 65_536  # characters
_LIGHT: Final = 20_000_000  # tags times characters: all attributes, repeated by every tag, are less than is too much
_READ_AGAIN: Final = 8  # times the source
_ATTRIBUTE: Final = 32  # characters that take as much memory as an attribute without any
_FIRST_STEP, _STEP = 1_000, 4_000  # tags that are parsed before the resulting elements are counted


@quickly_built
@dataclass(frozen=True, slots=True)
class OpenedHtml:
    document: Document
    hidden: tuple[HiddenText, ...]
    doubtful: tuple[DoubtfulText, ...]  # marked as possibly invisible
    is_judged: bool  # the whole style sheet was applied
    was_cut: bool
    tags: Tags  # that were in it, before links and paragraphs were added

    @property
    def hidden_removed(self) -> int:
        return len(self.hidden)


def open_html(html: str) -> OpenedHtml:
    source = html[:MAX_TEXT]
    document, was_cut = parsed(source)
    removal = drop_hidden(document)
    spelt = tuple(HiddenText("characters", run) for run in hidden_runs(source))
    was_cut = was_cut or removal.was_cut or len(html) > MAX_TEXT
    return OpenedHtml(document, removal.texts + spelt, removal.doubtful, removal.is_whole, was_cut, removal.tags)


def parsed(source: str) -> tuple[Document, bool]:
    """The document with as many elements, and as deep, as can be processed in reasonable time; and whether that is less
    than all of it."""
    tags = source.count("<")
    if tags <= _FEW_TAGS and tags * len(source) <= _LIGHT:
        return _parse(source), False
    within = source if tags <= MAX_TAGS else source[: _start_of_tag(source, MAX_TAGS)]
    if tags * len(within) > _LIGHT:
        within = within[: _start_of_overloaded(within)]
    document, is_whole = _parsed_within_limits(within, tags)
    is_whole = is_whole and len(within) == len(source)
    if count_elements(document) <= MAX_HTML_DEPTH:  # as most have
        return document, not is_whole
    opening = tags - len(_CLOSING.findall(source))  # twice as fast as count
    was_flattened = opening > MAX_HTML_DEPTH and _drop_deep(document)
    was_shortened = opening > MAX_ELEMENTS // 2 and drop_late(document)  # a table may have twice as many as its tags
    return document, not is_whole or was_flattened or was_shortened


def _parse(source: str) -> Document:
    import turbohtml

    return turbohtml.parse(source, positions=False, allow_declarative_shadow_roots=False)


def _parsed_within_limits(source: str, tags: int) -> tuple[Document, bool]:
    is_long = len(source) > _LONG
    if tags > _SOME_TAGS or is_long:
        formatting = len(_FORMATTING.findall(source))
        if formatting * (tags - formatting) > (_AT_ONCE_LONG if is_long else _AT_ONCE):
            return _parsed_by_steps(source)
    document = _parse(source)
    return (document, True) if not _is_too_much(document, tags * len(source)) else _parsed_by_steps(source)


def _is_too_much(document: Document, most: int) -> bool:
    """`most`: tags times characters of its source."""
    return count_elements(document) > MAX_ELEMENTS or (most > _LIGHT and _is_heavy(document))


def _is_heavy(document: Document) -> bool:
    """An element that is reopened has all its attributes again: a long one and many blocks make gigabytes."""
    left = MAX_ATTRIBUTES
    for element in document.select(_REOPENED):
        for value in element.attrs.values():
            left -= _ATTRIBUTE + len(str(value))
            if left < 0:
                return True
    return False


def _parsed_by_steps(source: str) -> tuple[Document, bool]:
    """A few more tags each time, until there is too much; and whether that was the whole source. What a step can add is
    bounded by the number of its tags."""
    starts = [tag.start() for tag in _TAG.finditer(source)]
    ends = [250, 500, *range(_FIRST_STEP, len(starts), _STEP)]
    document = _parse("")
    for end in [*(starts[end] for end in ends if end < len(starts)), len(source)]:
        longer = _parse(source[:end])
        if _is_too_much(longer, len(starts) * end):
            return document, False
        document = longer
    return document, True


def _start_of_tag(source: str, number: int) -> int:
    return next(islice(_TAG.finditer(source), number, None)).start()


def _start_of_overloaded(source: str) -> int:
    """Of the first tag that can be reopened and has more attributes than anybody writes: each block after it would have
    them all again. The end, if there is none. Wherever a tag may begin is looked at, as only the parser knows which do:
    they may overlap, but not for long."""
    left = _READ_AGAIN * len(source)
    for tag in _FORMATTING.finditer(source):
        start = tag.end() - 1
        attributes = _FEW_ATTRIBUTES.match(source, start)
        left -= attributes.end() - start if attributes else left
        if left <= 0:
            return tag.start()
    return len(source)


def drop_late(document: Document, most: int = MAX_ELEMENTS) -> bool:
    """Drop the elements beyond the limit before they are processed."""
    late = list(islice(document.iter_elements(), most, None))
    outside = set(late)
    for element in late:
        if element.parent not in outside:
            element.decompose()
    return bool(late)


def _drop_deep(document: Document) -> bool:
    """Drop what is too deep. It is not shown flat: then nobody would know whether it was meant to be visible."""
    depths: dict[Node | None, int] = {}
    deep: list[Node] = []
    for element in document.iter_elements():
        depth = depths[element] = depths.get(element.parent, 0) + 1
        if depth == MAX_HTML_DEPTH + 1:
            deep.append(element)
    for node in deep:
        node.decompose()
    return bool(deep)
