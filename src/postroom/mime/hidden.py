"""Text that a reader could not have seen, taken out of an HTML document and counted.

Two kinds: elements that are gone with all they hold (display, opacity, size, position, ...), and looks that children
inherit but may change again (colour, background, font size, visibility), which are judged where the words stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.mime.limits import MAX_ELEMENTS
from postroom.mime.looks import Effect, Look, changed
from postroom.mime.stylesheet import Stylesheet

if TYPE_CHECKING:
    from turbohtml import Document, Node

_NEVER_SHOWN: Final = (
    "script,noscript,template,style,head,title,object,embed,applet,iframe,audio,video,canvas,svg,datalist,"
    "dialog:not([open]),[hidden]"
)
_SPEECHLESS: Final = frozenset({"style", "head", "title"})  # dropped like the others, but no hiding place worth a count


@dataclass(frozen=True, slots=True)
class Removal:
    pieces: int  # elements and stretches of text that had words in them
    was_cut: bool  # the document had more elements than are looked at


def drop_hidden(document: Document) -> Removal:
    """Change the document in place."""
    sheet = Stylesheet(document)
    pieces = _drop_never_shown(document)
    gone, was_cut = _find_hidden(document, sheet)
    for node in gone:
        pieces += not node.text.isspace() and node.text != ""
        node.decompose()
    return Removal(pieces, was_cut)


def _drop_never_shown(document: Document) -> int:
    from turbohtml import Comment

    pieces = 0
    for element in reversed(document.select(_NEVER_SHOWN)):  # the inner ones first: no text is looked at twice
        words = element.inner_html if element.tag == "template" else element.text
        pieces += element.tag not in _SPEECHLESS and any(map(str.isalnum, words))
        element.decompose()
    for node in [node for node in document.descendants if isinstance(node, Comment)]:
        pieces += any(map(str.isalnum, node.data))
        node.decompose()
    return pieces


def _find_hidden(document: Document, sheet: Stylesheet) -> tuple[list[Node], bool]:
    """The outermost nodes to drop. Parents come before their children, so every look is known when it is needed."""
    from turbohtml import Element

    gone: list[Node] = []
    root = Look()
    looks: dict[Node | None, Look | None] = {}  # None: within something gone
    known: dict[tuple[Look, Effect], Look] = {}
    count = 0
    for count, element in enumerate(document.iter_elements(), 1):
        around = looks.get(element.parent, root)
        if around is None:
            looks[element] = None
            continue
        effect = sheet.effect(element) if count <= MAX_ELEMENTS else _CUT
        if effect is not None and effect.is_gone:
            looks[element] = None
            gone.append(element)
            continue
        look = around if effect is None else _known(known, around, effect)
        if look is not root:
            looks[element] = look
        if not look.is_seen:
            gone.extend(child for child in element.children if not isinstance(child, Element))
    return gone, count > MAX_ELEMENTS


_CUT: Final = Effect(is_gone=True)


def _known(known: dict[tuple[Look, Effect], Look], around: Look, effect: Effect) -> Look:
    look = known.get((around, effect))
    if look is None:
        look = known[around, effect] = changed(around, effect)
    return look
