"""Which tags a document has: most questions about it concern tags that few documents have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turbohtml import Document

Tags = frozenset[str]


def tags_in(document: Document) -> Tags:
    """In the time that asking for forty of them takes."""
    return frozenset({element.tag for element in document.select("*")})
