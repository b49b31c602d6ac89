"""XML of office documents: read as a stream, without entities of its own.

A document type declaration is refused: the format forbids it, and entities that expand to millions are declared in one.
Names come without their namespace: the two editions of the format differ in these alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn
from xml.parsers import expat

from postroom.mime.documents.archive import Archive, target_of
from postroom.mime.documents.document import NotReadable

Attributes = dict[str, str]


class Handler:
    """Receives what stands in a document, in order; `is_done` ends the reading early."""

    is_done = False

    def start(self, name: str, attributes: Attributes) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, data: str) -> None: ...


def walk(pieces: Iterable[bytes], handler: Handler) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = lambda name, given: handler.start(_local(name), _locals(given))
    parser.EndElementHandler = lambda name: handler.end(_local(name))
    parser.CharacterDataHandler = handler.text
    try:
        for piece in pieces:
            parser.Parse(piece, False)
            if handler.is_done:
                return
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise NotReadable("The document is damaged and cannot be read.") from None


class _Relations(Handler):
    def __init__(self, source: str) -> None:
        self._source = source
        self.targets: dict[str, str] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            self.targets[attributes.get("Id", "")] = target_of(self._source, attributes.get("Target", ""))


def relations(archive: Archive, source: str) -> dict[str, str]:
    """The parts that a part refers to, by the ids under which it does. Those outside the document are left out."""
    folder, _, name = source.rpartition("/")
    handler, listed = _Relations(source), f"{folder}/_rels/{name}.rels"
    if archive.has(listed):
        walk(archive.pieces(listed), handler)
    return handler.targets


def _refuse(*_declared: object) -> NoReturn:
    raise NotReadable("The document declares XML entities, as attacks do, and is not read.")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _locals(given: Attributes) -> Attributes:
    """Of two that share a name, like `id` and `r:id`, the one with a namespace."""
    ordered = sorted(given.items(), key=lambda item: " " in item[0])
    return {_local(name): value for name, value in ordered}
