"""XML of office documents: read as a stream, without entities of its own.

A document type declaration is refused: the format forbids it, and entities that expand to millions are declared in one.
Names come without their namespace: the two editions of the format differ in these alone.
"""

from __future__ import annotations

from typing import Final, NoReturn
from xml.parsers import expat

from postroom.mime.documents.archive import Archive, target_of
from postroom.mime.documents.document import NotReadable
from postroom.mime.documents.limits import MAX_TOKEN

Attributes = dict[str, str]
_DAMAGED: Final = "The document is damaged and cannot be read."


class Handler:
    """Receives what stands in a document, in order; `is_done` ends the reading early."""

    is_done = False

    def start(self, name: str, attributes: Attributes) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, data: str) -> None: ...

    def cut(self) -> None:
        """The rest is not read: what has begun ends here."""


class _Enough(Exception):
    """The rest of a part is not wanted, or too much work."""


def walk(archive: Archive, name: str, handler: Handler) -> None:
    """Until the part ends, the handler has enough or the archive allows no more work: then it is marked as cut."""
    allowed = left = archive.work_for_part()
    if not allowed:
        archive.is_cut = True
        return

    def start(tag: str, given: Attributes) -> None:
        nonlocal left
        left -= 2 + len(given)
        if left < 0 or handler.is_done:
            raise _Enough
        handler.start(_local(tag), _locals(given))

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: handler.end(_local(tag))
    parser.CharacterDataHandler = handler.text
    fed = 0
    try:
        for piece in archive.pieces(name):
            parser.Parse(piece, False)
            fed += len(piece)
            if fed - parser.CurrentByteIndex > MAX_TOKEN:
                raise NotReadable(_DAMAGED)
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise NotReadable(_DAMAGED) from None
    except _Enough:
        handler.cut()
        archive.is_cut |= left < 0
    archive.spend(allowed - left)


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
        walk(archive, listed, handler)
    return handler.targets


def _refuse(*_declared: object) -> NoReturn:
    raise NotReadable("The document declares XML entities, as attacks do, and is not read.")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _locals(given: Attributes) -> Attributes:
    """Of two that share a name, like `id` and `r:id`, the one with a namespace."""
    if len(given) < 2:
        return {_local(name): value for name, value in given.items()}
    ordered = sorted(given.items(), key=lambda item: " " in item[0])
    return {_local(name): value for name, value in ordered}
