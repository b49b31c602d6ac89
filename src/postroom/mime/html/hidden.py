"""Removes text that a reader could not have seen from an HTML document; marks text that may be invisible.

Every element's look is computed from its parent's: parents come before their children, so each is visited once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.effects import Effect
from postroom.mime.css.room import BLOCKS, CELLS, fits
from postroom.mime.css.sight import DOUBTFUL, HIDDEN, SEEN
from postroom.mime.css.stylesheet import Stylesheet
from postroom.mime.css.values import BLACK, Colour, legacy_colour
from postroom.mime.css.visibility import LINK, ROOT, Look, changed, doubted, drawn, hides_pictures, in_block, judged
from postroom.mime.html.controls import label_fields, link_areas
from postroom.mime.html.hidden_words import DoubtfulText, HiddenText
from postroom.mime.limits import MAX_ELEMENTS

if TYPE_CHECKING:
    from turbohtml import Comment, Document, Element, Node

_OVERRIDE: Final = "\u202e"
DOUBT_OPENS, DOUBT_CLOSES = "[hidden? ", "]"
_BRACKETS: Final = str.maketrans("[]", "()")
_MAX_LABEL: Final = 300  # characters
_MAX_COVERS: Final = 20  # beyond that everything is doubtful
_SMALL_PICTURE: Final = 60  # pixels
_PULLED: Final = 24.0  # pixels by which a margin pulls a picture over others
_LINES: Final = frozenset({"a", "b", "code", "em", "font", "i", "label", "mark", "small", "span", "strong", "u"})
_LOOK: Final = 4  # units of work for the look of an element, when its style is known
_UNSHOWN_TAGS: Final = (
    *("script", "template", "style", "head", "title", "embed", "applet", "iframe", "audio", "video", "datalist"),
    *("noframes", "noembed", "rp", "progress", "meter"),
)
_WITH_UNSHOWN_PARTS: Final = frozenset({"dialog", "svg", "math"})
_UNSHOWN_PARTS: Final = (
    "dialog:not([open]),svg title,svg desc,svg defs,svg metadata,math annotation,math annotation-xml,math mphantom,"
    "math maction > * + *"
)
_SPEECHLESS: Final = frozenset({"style", "head", "title"})  # dropped like the others, but not worth reporting
_LABELLED: Final = "a[href],button"
_FIELDS: Final = frozenset({"select", "textarea", "input"})
_NO_WIDTH = re.compile(r"(?:^|(?<![\w-])width\s*+:)\s*+[01](?:px|%)?\s*+(?:;|!|\Z)", re.IGNORECASE)
_CONTROLS: Final = frozenset({"button", "select", "textarea", "input"})
_COLUMNS: Final = frozenset({"col", "colgroup"})
_ODD: Final = frozenset({"svg", "canvas", "object"})  # some clients show the text inside, others do not
_ALONE: Final = frozenset({"body", "details", "summary", "option"}) | _ODD  # processed one by one
_SPECIAL: Final = frozenset({"a", "table", "mark"}) | _CONTROLS | _ALONE  # shown differently from what is around them


@dataclass(frozen=True, slots=True)
class Removal:
    texts: tuple[HiddenText, ...]  # each a run that had words in it
    doubtful: tuple[DoubtfulText, ...]  # runs that were marked
    is_whole: bool  # every rule of the style sheet was applied
    was_cut: bool  # the document had more elements than are examined


def drop_hidden(document: Document, *, may_reverse: bool = True) -> Removal:
    """Change the document in place. `may_reverse`: it may contain the character that reverses letters."""
    quirks = _is_quirky(document)
    sheet = Stylesheet(document, quirks=quirks)
    label_fields(document)
    walk = _Walk(sheet, quirks=quirks)
    texts = _drop_never_shown(document, walk)
    walk.over(document)
    for node in walk.gone:
        if any(map(str.isalnum, node.text)):
            texts.append(HiddenText("text", node.text[:4_000]))
        node.decompose()
    if may_reverse and _OVERRIDE in document.text:
        walk.doubtful += _overridden(document)
    link_areas(document)
    return Removal(tuple(texts), tuple(_mark(walk)), sheet.is_whole, walk.count > MAX_ELEMENTS)


def _is_quirky(document: Document) -> bool:
    """Pages without a proper doctype are shown in quirks mode."""
    from turbohtml import Doctype

    doctype = next((node for node in document.children if isinstance(node, Doctype)), None)
    if doctype is None or (doctype.name or "").lower() != "html":
        return True
    public = (doctype.public_id or "").lower()
    is_old = public.startswith(("-//w3c//dtd html 4.0 ", "-//w3c//dtd html 3", "-//ietf//dtd html", "html"))
    is_loose = public.startswith(("-//w3c//dtd html 4.01 transitional", "-//w3c//dtd html 4.01 frameset"))
    return is_old or (is_loose and not doctype.system_id)


def _drop_never_shown(document: Document, walk: _Walk) -> list[HiddenText]:
    texts: list[HiddenText] = []
    for element in reversed(_never_shown(document)):  # inner ones first: no text is examined twice
        words = element.inner_html if element.tag == "template" else element.text
        if element.tag not in _SPEECHLESS and any(map(str.isalnum, words)):
            texts.append(HiddenText("element", words[:4_000]))
        if element.tag == "template" and element.attr("shadowrootmode") is not None and element.parent is not None:
            walk.hosts.append(element.parent)
        element.decompose()
    for choice in document.select("select,optgroup") if _has_choices(document) else ():
        for text in _texts(choice):  # only options are shown
            if any(map(str.isalnum, text.text)):
                texts.append(HiddenText("element", text.text[:4_000]))
            text.decompose()
        texts += _labelled(choice)
    for node in cast("list[Comment]", _comments()(document)):
        if any(map(str.isalnum, node.data)):
            texts.append(HiddenText("comment", node.data[:4_000]))
        node.decompose()
    return texts


@cache
def _comments() -> Callable[[Document], object]:
    """Compiled once: that takes longer than searching most documents."""
    from turbohtml import XPath

    return XPath("//comment()")


def _has_choices(document: Document) -> bool:
    return document.select_one("select") is not None or document.select_one("optgroup") is not None


def _labelled(choice: Element) -> list[HiddenText]:
    """An option shows its label instead of its text."""
    found: list[HiddenText] = []
    for option in choice.select("option[label]") if choice.tag == "select" else ():
        words, label = option.text, (option.attr("label") or "").strip()
        if label and words.strip() != label:
            found += [HiddenText("element", words[:4_000])] if any(map(str.isalnum, words)) else []
            option.set_text(label[:_MAX_LABEL])
    return found


def _never_shown(document: Document) -> list[Element]:
    """Each alternative of a selector takes time on every element: only those that the document has are tried. Whether
    it has a tag the library knows without searching."""
    wanted: list[str] = [tag for tag in _UNSHOWN_TAGS if document.select_one(tag) is not None]
    if any(document.select_one(tag) is not None for tag in _WITH_UNSHOWN_PARTS):
        wanted.append(_UNSHOWN_PARTS)
    return document.select(",".join(wanted)) if wanted else []


@dataclass(slots=True)
class _Walk:
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
    _known: dict[tuple[object, ...], tuple[Look, Effect | None]] = field(default_factory=dict)
    _chosen: dict[Node, Node] = field(default_factory=dict)  # select elements, with the option they show
    _link: Colour | None = None

    def over(self, document: Document) -> None:
        """The loop over every element of every message: equal cases are looked up, not computed again."""
        looks, root, known = self._looks, ROOT, self._known
        matched, presented = self.sheet.matched.get, self.sheet.presented.get
        elements = document.select("*")  # one call: an iterator takes four times as long
        self.count = len(elements)
        for number, element in enumerate(elements, 1):
            around = looks.get(element.parent, root)
            if around is None:
                looks[element] = None
                continue
            tag, inline, rules, old = element.tag, element.attr("style"), matched(element, 0), presented(element)
            if inline is None and not rules and old is None and tag not in _SPECIAL and around.behind is None:
                look = around
            else:
                key = around, inline, rules, old, "link" if tag == "a" and element.attr("href") is not None else tag
                found = known.get(key)
                if found is None or tag in _ALONE or (found[1] is not None and found[1].room is not None):
                    found = known[key] = self._look(element, around, inline, rules, old)
                look, effect = found
                if effect is not None and (
                    effect.covers
                    or (tag == "img" and _is_laid_over(element, effect))
                    or (effect.reaches_over and effect.is_block is None and tag in _LINES)
                ):
                    self.covers.append((element, effect))
            if look.fate is HIDDEN or number > MAX_ELEMENTS:
                looks[element] = None
                self.gone.append(element)
                continue
            if look is not root:
                looks[element] = look
                if look.sight is not SEEN or tag in _COLUMNS or (tag == "img" and hides_pictures(look)):
                    self._judge(element, tag, look)

    def _judge(self, element: Element, tag: str, look: Look) -> None:
        if tag == "img" and hides_pictures(look):
            self.gone.append(element)
        elif tag in _COLUMNS and not look.visible:
            self.doubtful += _table_of(element)
        elif tag in _COLUMNS:
            self._paint(element.closest("table"), look)
            self.doubtful += _table_of(element) if _is_shut(element) else ()
        if look.sight is HIDDEN:
            self.gone.extend(_texts(element))
        elif look.sight is DOUBTFUL:
            self.doubtful.append(element)

    def _paint(self, table: Element | None, column: Look) -> None:
        """The background of a column may be behind every cell of the table."""
        around = self._looks.get(table, ROOT)
        if around is not None and not set(column.grounds) <= set(around.grounds):
            grounds = tuple(dict.fromkeys((*around.grounds, *column.grounds)))[:8]
            self._looks[table] = judged(replace(around, grounds=grounds))

    def _look(
        self, element: Element, around: Look, inline: str | None, rules: int, old: str | None
    ) -> tuple[Look, Effect | None]:
        tag = element.tag
        if not self.sheet.spend(_LOOK):
            return doubted(around), None
        if tag == "summary" and element.parent in self._closed:
            around = self._closed[element.parent]
        if around.behind is not None and (tag in BLOCKS or tag in CELLS):
            around = in_block(around)
        around = self._by_itself(element, tag, around)
        effect = self.sheet.effect(inline, old, rules, around.variables)
        is_cell = (tag in CELLS and (effect is None or not effect.is_block)) or tag in ("body", "html")
        is_block = tag in BLOCKS
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
        if tag == "body":
            self._body = look
        elif self._is_odd(element, tag, effect):
            if tag == "details":
                self._closed[element] = look
            look = doubted(look)
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

    def _by_itself(self, element: Element, tag: str, around: Look) -> Look:
        """As the browser shows such an element before any style."""
        if tag == "a" and element.attr("href") is not None:
            return drawn(around, self._link_ink(element))
        if tag == "table" and self.quirks and (around.font != 16.0 or around.ink != self._body.ink):
            return drawn(around, self._body.ink, 16.0)
        if tag in _CONTROLS:
            return drawn(around, BLACK, 13.3, (239, 239, 239, 1.0))
        return drawn(around, BLACK, None, (255, 255, 0, 1.0)) if tag == "mark" else around

    def _link_ink(self, element: Element) -> Colour:
        if self._link is None:
            body = element.closest("body")
            named = legacy_colour((body.attr("link") if body is not None else None) or "")
            self._link = named or LINK
        return self._link


def _is_laid_over(picture: Element, effect: Effect) -> bool:
    """A picture that is not certainly small, displayed over others."""
    if effect.position not in ("absolute", "fixed") and min(effect.takes) > -_PULLED:
        return False
    said = [effect.size[0] or _said(picture, "width"), effect.size[1] or _said(picture, "height")]
    return not any(length is not None and length < _SMALL_PICTURE for length in said)


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


def _texts(element: Element) -> list[Node]:
    from turbohtml import Element as ElementType

    return [child for child in element.children if not isinstance(child, ElementType)]


def _overridden(document: Document) -> list[Element]:
    """What is within an element whose text shows letters from right to left that are written from left to right."""
    found: list[Element] = []
    for element in document.iter_elements():
        if any(_OVERRIDE in child.text for child in _texts(element)):
            found += element.iter_elements(include_self=True)
            if len(found) > MAX_ELEMENTS:
                break
    return found


def _mark(walk: _Walk) -> list[DoubtfulText]:
    from turbohtml import Text

    found: list[DoubtfulText] = []
    hosted = [element for host in walk.hosts for element in _elements(host)]
    for element in dict.fromkeys([*walk.doubtful, *_covered(walk), *hosted]):
        for child in _texts(element):
            words = child.text
            if not any(map(str.isalnum, words)):
                continue
            found.append(DoubtfulText(words[:4_000], is_label=element.closest(_LABELLED) is not None))
            start = len(words) - len(words.lstrip())
            end = len(words.rstrip())
            child.replace_with(Text(f"{words[:start]}{in_doubt(words[start:end])}{words[end:]}"))
    return found


def in_doubt(words: str) -> str:
    """Marked, to their end: brackets of a stranger's could end the mark before that."""
    return f"{DOUBT_OPENS}{words.translate(_BRACKETS)}{DOUBT_CLOSES}"


def _elements(host: Node) -> Iterable[Element]:
    from turbohtml import Element as ElementType

    return host.iter_elements(include_self=True) if isinstance(host, ElementType) else ()


def _covered(walk: _Walk) -> list[Element]:
    """The elements beside a box that may cover them."""
    found: list[Element] = []
    for cover, effect in walk.covers[:_MAX_COVERS]:
        container = cover.parent if effect.position == "relative" or not effect.position else _positioned(walk, cover)
        if container is None:
            continue
        inside = set(cover.iter_elements(include_self=True))
        found += [element for element in container.iter_elements(include_self=True) if element not in inside]
        if len(found) > MAX_ELEMENTS:
            break
    body = walk.covers[0][0].closest("body") if len(walk.covers) > _MAX_COVERS else None
    if body is not None:
        found += body.iter_elements(include_self=True)
    return found


def _positioned(walk: _Walk, cover: Element) -> Element | None:
    """What a positioned box is relative to: the nearest positioned ancestor, or the page."""
    from turbohtml import Element as ElementType

    around = [one for one in cover.ancestors if isinstance(one, ElementType)]
    effects = ((one, walk.sheet.effect_on(one)) for one in around)
    positioned = (one for one, effect in effects if effect is not None and effect.position not in ("", "static"))
    return next(positioned, around[-1] if around else None)
