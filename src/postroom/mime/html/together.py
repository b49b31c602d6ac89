"""Several parts of a message that are shown one below the other, on one page.

Each is a document of its own: what it leaves open, and its style sheet, end with it, as in Apple Mail and on the web.
Thunderbird completes each part as well, but then applies every style sheet to all of them: what that hides is doubtful.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Final

from postroom.mime.clean import hidden_runs
from postroom.mime.css.matching import allowed_work, count_elements
from postroom.mime.html.document import OpenedHtml, drop_late, parsed
from postroom.mime.html.hidden import drop_hidden, mark_hidden
from postroom.mime.html.hidden_words import HiddenText
from postroom.mime.limits import MAX_DOCUMENTS, MAX_ELEMENTS, MAX_TEXT
from postroom.mime.quotes.html import PART

if TYPE_CHECKING:
    from turbohtml import Document, Element

_SHEETS: Final = "style,link"


def open_together(sources: Sequence[str]) -> OpenedHtml:
    """As `open_html`, within the limits of a single document."""
    documents, was_cut = _within_limits(sources)
    page = _page_for(documents)
    work = allowed_work()
    removals = [drop_hidden(document, work) for document in documents]
    parts = [_put_on(page, document) for document in documents]
    removals.append(mark_hidden(page))
    for part in parts:
        part.tag = "div"
    spelt = (HiddenText("characters", run) for source in sources for run in hidden_runs(source[:MAX_TEXT]))
    return OpenedHtml(
        page,
        (*chain.from_iterable(removal.texts for removal in removals), *spelt),
        tuple(chain.from_iterable(removal.doubtful for removal in removals)),
        all(removal.is_whole for removal in removals),
        was_cut or any(removal.was_cut for removal in removals),
        frozenset({"div"}).union(*(removal.tags for removal in removals)),
    )


def _within_limits(sources: Sequence[str]) -> tuple[list[Document], bool]:
    """The documents, and whether that is less than all of it."""
    found: list[Document] = []
    characters, elements, is_cut = MAX_TEXT, MAX_ELEMENTS, len(sources) > MAX_DOCUMENTS
    for source in sources[:MAX_DOCUMENTS]:
        if characters <= 0 or elements <= 0:
            return found, True
        document, was_cut = parsed(source[:characters])
        count = count_elements(document)
        is_late = count > elements and drop_late(document, elements)
        is_cut = is_cut or was_cut or is_late or len(source) > characters
        characters, elements = characters - len(source), elements - count
        found.append(document)
    return found, is_cut


def _page_for(documents: Sequence[Document]) -> Document:
    """With the style sheets of all, and the attributes of their pages: the first of a name counts."""
    page, _ = parsed("<head></head><body></body>")
    for tag in ("html", "body"):
        for ours in page.select(tag):
            ours.attrs.update(_attributes(chain.from_iterable(document.select(tag) for document in documents)))
    for head in page.select("head"):
        head.extend([deepcopy(sheet) for document in documents for sheet in document.select(_SHEETS)])
    return page


def _attributes(elements: Iterable[Element]) -> dict[str, str | list[str] | None]:
    found: dict[str, str | list[str] | None] = {}
    for element in elements:
        found = {**element.attrs, **found}
    return found


def _put_on(page: Document, document: Document) -> Element:
    """The document as a part of the page, of a kind that no style sheet names."""
    from turbohtml import Element as NewElement

    part = NewElement(PART)
    part.attrs[PART] = ""
    for ours, theirs in ((ours, theirs) for ours in page.select("body") for theirs in document.select("body")):
        part.extend(list(theirs.children))
        ours.append(part)
    return part
