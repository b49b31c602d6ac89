"""Which tags a document has: most questions about it concern tags that few documents have."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turbohtml import Document, Element

Tags = frozenset[str]
_tag = attrgetter("tag")


def tags_in(document: Document) -> Tags:
    """In the time that asking for forty of them takes."""
    return tags_of(document.select("*"))


def tags_of(elements: Iterable[Element]) -> Tags:
    return frozenset(map(_tag, elements))
