"""What a reader sees of form fields and image maps, as text and links of the document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turbohtml import Document, Element

_SILENT: Final = frozenset({"hidden", "password", "checkbox", "radio", "file", "color", "range"})
_NUMERIC: Final = frozenset({"number", "date", "month", "week", "time", "datetime-local"})  # any other value is ignored
_NUMBER = re.compile(r"[\d.:+TWe -]+", re.ASCII)
_MAX_LABEL: Final = 300  # characters
_MAX_MAPS: Final = 50  # pictures with an image map
_MAX_AREAS: Final = 100  # of one map


def label_fields(document: Document) -> list[Element]:
    """Put the words that an input shows inside it, so that they are judged as text is; those that have any."""
    from turbohtml import Text

    labelled: list[Element] = []
    for field in document.select("input"):
        if words := _words_of(field):
            field.append(Text(f" {words} "))
            labelled.append(field)
    return labelled


def _words_of(field: Element) -> str:
    kind = (field.attr("type") or "text").lower()
    if kind in _SILENT:
        return ""
    names: tuple[str, ...] = ("alt",) if kind == "image" else ("value", "placeholder")
    if kind in _NUMERIC and not _NUMBER.fullmatch(field.attr("value") or ""):
        names = ("placeholder",) if kind == "number" else ()
    return next((said.strip()[:_MAX_LABEL] for name in names if (said := field.attr(name))), "")


def link_areas(document: Document) -> None:
    """The areas of a visible picture that lead somewhere become links after it; a map is shown once."""
    pictures = document.select("img[usemap]")[:_MAX_MAPS]
    maps = {one.attr("name"): one for one in document.select("map[name]")[:_MAX_MAPS]} if pictures else {}
    for picture in pictures:
        found = maps.pop((picture.attr("usemap") or "").removeprefix("#"), None)
        for area in reversed(found.select("area[href]")[:_MAX_AREAS] if found is not None else []):
            if words := (area.attr("alt") or area.attr("title") or "").strip()[:_MAX_LABEL]:
                picture.insert_after(_link(area.attr("href") or "", words))


def _link(address: str, words: str) -> Element:
    from turbohtml import Element, Text

    link = Element("a", {"href": address})
    link.append(Text(f" {words} "))
    return link
