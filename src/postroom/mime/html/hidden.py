"""Removes text that a reader could not have seen from an HTML document; marks text that may be invisible.

Every element's look is computed from its parent's: parents come before their children, so each is visited once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from postroom.mime.css.matching import Work
from postroom.mime.css.stylesheet import Stylesheet
from postroom.mime.html.controls import label_fields, link_areas
from postroom.mime.html.doubts import in_doubt, is_marked
from postroom.mime.html.hidden_words import DoubtfulText, HiddenText
from postroom.mime.html.looks import Walk, texts_in
from postroom.mime.html.plain_sight import OTHER_TAGS, hidden_alone
from postroom.mime.html.tags import Tags, tags_of
from postroom.mime.limits import MAX_ELEMENTS
from postroom.model.quickly_built import quickly_built

if TYPE_CHECKING:
    from turbohtml import Comment, Document, Element, Node

_OVERRIDE: Final = "\u202e"
_MAX_LABEL: Final = 300  # characters
_MAX_COVERS: Final = 20  # beyond that everything is doubtful
_UNSHOWN_TAGS: Final = (
    *("script", "template", "style", "head", "title", "embed", "applet", "iframe", "audio", "video", "datalist"),
    *("noframes", "noembed", "rp", "progress", "meter"),
)
_WITH_UNSHOWN_PARTS: Final = ("dialog", "svg", "math")
_UNSHOWN_PARTS: Final = (
    "dialog:not([open]),svg title,svg desc,svg defs,svg metadata,math annotation,math annotation-xml,math mphantom,"
    "math maction > * + *"
)
_SPEECHLESS: Final = ("head", "style", "title")  # dropped like the others, but not worth reporting
_CHOICES: Final = ("select", "optgroup")
_BESIDE_OPTIONS: Final = "select,optgroup,select :not(option,option *)"
_LABELLED: Final = "a[href],button"


@quickly_built
@dataclass(frozen=True, slots=True)
class Removal:
    texts: tuple[HiddenText, ...]  # each a run that had words in it
    doubtful: tuple[DoubtfulText, ...]  # runs that were marked
    is_whole: bool  # every rule of the style sheet was applied
    was_cut: bool  # the document had more elements than are examined
    tags: Tags  # that the document had before


def drop_hidden(document: Document, work: Work | None = None) -> Removal:
    """Change the document in place."""
    elements = document.select("*")
    quirks, tags = _is_quirky(document), tags_of(elements)
    texts = _empty_templates(document) if "template" in tags else []
    sheet = Stylesheet(document, tags, quirks=quirks, most=len(elements), work=work)
    if "input" in tags:
        label_fields(document)
    walk = Walk(sheet, quirks=quirks)
    texts += _drop_never_shown(document, tags, walk)
    _look_over(document, tags, walk)
    for node in walk.gone:
        if any(map(str.isalnum, node.text)):
            texts.append(HiddenText("text", node.text[:4_000]))
        node.decompose()
    if _OVERRIDE in document.text:
        walk.doubtful += _overridden(document)
    if "map" in tags:
        link_areas(document)
    return Removal(tuple(texts), tuple(_mark(walk)), sheet.is_whole, walk.count > MAX_ELEMENTS, tags)


def mark_hidden(page: Document) -> Removal:
    """Mark what the page hides instead of removing it, where it is not marked already. Its style elements are dropped:
    the document is changed in place."""
    elements = page.select("*")
    quirks, tags = _is_quirky(page), tags_of(elements)
    walk = Walk(Stylesheet(page, tags, quirks=quirks, most=len(elements)), quirks=quirks)
    for head in page.select("head"):
        head.decompose()
    _look_over(page, tags, walk)
    walk.doubtful += [element for node in walk.gone for element in _elements(node) or _elements(node.parent)[:1]]
    return Removal((), tuple(_mark(walk, is_marked)), walk.sheet.is_whole, walk.count > MAX_ELEMENTS, tags)


def _look_over(document: Document, tags: Tags, walk: Walk) -> None:
    hidden = hidden_alone(document, walk.sheet, quirks=walk.quirks) if tags.isdisjoint(OTHER_TAGS) else None
    if hidden is None:
        walk.over(document)
    else:
        walk.gone += hidden


def _is_quirky(document: Document) -> bool:
    """Pages without a proper doctype are shown in quirks mode."""
    import turbohtml

    doctype = next((node for node in document.children if isinstance(node, turbohtml.Doctype)), None)
    if doctype is None or (doctype.name or "").lower() != "html":
        return True
    public = (doctype.public_id or "").lower()
    is_old = public.startswith(("-//w3c//dtd html 4.0 ", "-//w3c//dtd html 3", "-//ietf//dtd html", "html"))
    is_loose = public.startswith(("-//w3c//dtd html 4.01 transitional", "-//w3c//dtd html 4.01 frameset"))
    return is_old or (is_loose and not doctype.system_id)


def _empty_templates(document: Document) -> list[HiddenText]:
    """What is in a template is no part of the page: its styles do not apply, and no selector finds it."""
    from turbohtml import Namespace

    texts: list[HiddenText] = []
    for template in reversed(document.select("template")):  # inner ones first
        if template.namespace is not Namespace.HTML:  # an element without meaning
            continue
        words = template.inner_html
        if any(map(str.isalnum, words)):
            texts.append(HiddenText("element", words[:4_000]))
        template.clear()
    return texts


def _drop_never_shown(document: Document, tags: Tags, walk: Walk) -> list[HiddenText]:
    texts: list[HiddenText] = []
    for element in reversed(_never_shown(document, tags)):  # inner ones first: no text is examined twice
        if element.tag not in _SPEECHLESS and any(map(str.isalnum, words := element.text)):
            texts.append(HiddenText("element", words[:4_000]))
        if element.tag == "template" and element.attr("shadowrootmode") is not None and element.parent is not None:
            walk.hosts.append(element.parent)
        element.decompose()
    for choice in () if tags.isdisjoint(_CHOICES) else document.select(_BESIDE_OPTIONS):
        for text in texts_in(choice):  # only options are shown
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


def _labelled(choice: Element) -> list[HiddenText]:
    """An option shows its label instead of its text."""
    found: list[HiddenText] = []
    for option in choice.select("option[label]") if choice.tag == "select" else ():
        words, label = option.text, (option.attr("label") or "").strip()
        if label and words.strip() != label:
            found += [HiddenText("element", words[:4_000])] if any(map(str.isalnum, words)) else []
            option.set_text(label[:_MAX_LABEL])
    return found


def _never_shown(document: Document, tags: Tags) -> list[Element]:
    """Each alternative of a selector takes time on every element: only those that the document has are tried."""
    wanted: list[str] = [tag for tag in _UNSHOWN_TAGS if tag in tags]
    if not tags.isdisjoint(_WITH_UNSHOWN_PARTS):
        wanted.append(_UNSHOWN_PARTS)
    if set(wanted).issubset(_SPEECHLESS):  # of which only the first has others within it
        return [element for tag in _SPEECHLESS for element in document.select(tag)]  # each of them is found at once
    return document.select(",".join(wanted)) if wanted else []


def _overridden(document: Document) -> list[Element]:
    """What is within an element whose text shows letters from right to left that are written from left to right."""
    found: list[Element] = []
    for element in document.iter_elements():
        if any(_OVERRIDE in child.text for child in texts_in(element)):
            found += element.iter_elements(include_self=True)
            if len(found) > MAX_ELEMENTS:
                break
    return found


def _mark(walk: Walk, is_done: Callable[[str], bool] = lambda words: False) -> list[DoubtfulText]:
    found: list[DoubtfulText] = []
    if not (walk.doubtful or walk.covers or walk.hosts):
        return found
    from turbohtml import Text

    hosted = [element for host in walk.hosts for element in _elements(host)]
    for element in dict.fromkeys([*walk.doubtful, *_covered(walk), *hosted]):
        for child in texts_in(element):
            words = child.text
            if not any(map(str.isalnum, words)) or is_done(words):
                continue
            found.append(DoubtfulText(words[:4_000], is_label=element.closest(_LABELLED) is not None))
            start = len(words) - len(words.lstrip())
            end = len(words.rstrip())
            child.replace_with(Text(f"{words[:start]}{in_doubt(words[start:end])}{words[end:]}"))
    return found


def _elements(host: Node | None) -> list[Element]:
    from turbohtml import Element as ElementType

    return list(host.iter_elements(include_self=True)) if isinstance(host, ElementType) else []


def _covered(walk: Walk) -> list[Element]:
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


def _positioned(walk: Walk, cover: Element) -> Element | None:
    """What a positioned box is relative to: the nearest positioned ancestor, or the page."""
    from turbohtml import Element as ElementType

    around = [one for one in cover.ancestors if isinstance(one, ElementType)]
    effects = ((one, walk.sheet.effect_on(one)) for one in around)
    positioned = (one for one, effect in effects if effect is not None and effect.position not in ("", "static"))
    return next(positioned, around[-1] if around else None)
