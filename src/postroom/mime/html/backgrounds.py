"""Links without words over a background picture: a person sees the picture and clicks on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turbohtml import Document, Element

_PAINTED = re.compile(r"background(?:-image)?\s*+:[^;]{0,500}\burl\(", re.IGNORECASE)
_MAX_LINKS: Final = 50
_AROUND: Final = 4  # elements around a link, or within it, that may have the picture


def pictured_links(document: Document) -> list[Element]:
    """Of several to one place the first: a picture may be cut into pieces."""
    wordless = (link for link in document.select("a[href]") if not _says(link) and link.select_one("img") is None)
    found: dict[str, Element] = {}
    for link in islice(wordless, _MAX_LINKS):
        target = link.attr("href") or ""
        if target not in found and any(map(_is_painted, _boxes(link))):
            found[target] = link
    return list(found.values())


def _boxes(link: Element) -> Iterator[Element]:
    """The link, what is within it, and what is around it with nothing else in it."""
    from turbohtml import Element as ElementType

    yield from islice(link.iter_elements(include_self=True), 2 * _AROUND)
    for around in islice(link.ancestors, _AROUND):
        if not isinstance(around, ElementType) or _says(around) or len(around.select("a[href]")) > 1:
            return
        yield around


def _is_painted(box: Element) -> bool:
    return bool(box.attr("background")) or _PAINTED.search((box.attr("style") or "")[:2_000]) is not None


def _says(element: Element) -> bool:
    return any(map(str.isalnum, element.text))
