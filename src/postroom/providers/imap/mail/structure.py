"""BODYSTRUCTURE as the same tree of parts that `mime` makes from bytes: one rule for what is an attachment.

From the tree a message can be assembled without its attachments' content, and read like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from postroom.mime.read.bodies import content_id_of, filename_of, is_inline, sort_parts
from postroom.mime.read.filenames import message_filename, safe_filename
from postroom.mime.read.headers import HeaderBlock, read_headers
from postroom.mime.read.parameters import Parameters, read_parameters
from postroom.mime.read.structure import Part
from postroom.model.message import Attachment
from postroom.providers.imap.session.wire import number

_MAX_PARTS = 300
_MAX_DEPTH = 50
_BETWEEN = 64 * 1024  # bytes of a message that may belong to no part of it
_EMPTY = Part("1", HeaderBlock([], 0), Parameters("text/plain"), Parameters(""), "", 0, 0)


def read_structure(answer: Any) -> Part:
    """The root part. `start` is 0 and `end` the encoded size: there are no bytes yet to point into."""
    if not isinstance(answer, list):
        return _EMPTY
    root = _part(answer, "", _Budget())
    return root if root.is_multipart else replace(root, number="1")


class _Budget:
    def __init__(self) -> None:
        self.parts = _MAX_PARTS


def _part(node: list[Any], number: str, budget: _Budget) -> Part:
    budget.parts -= 1
    if node and isinstance(node[0], list):
        return _multipart(node, number, budget)
    kind = f"{_text(_at(node, 0))}/{_text(_at(node, 1))}".lower()
    extension = {"message/rfc822": 10}.get(kind, 8 if kind.startswith("text/") else 7)
    kind = "text/plain" if kind.endswith("/") else kind  # "Content-Type: text", as in `mime`
    content_id = _text(_at(node, 3))
    return Part(
        number,
        HeaderBlock([("content-id", content_id)] if content_id else [], 0),
        _parameters(kind, _at(node, 2)),
        _disposition(_at(node, extension + 1)),
        _text(_at(node, 5)).lower(),
        0,
        _size(_at(node, 6)),
    )


def _multipart(node: list[Any], number: str, budget: _Budget) -> Part:
    inner = [child for child in node if isinstance(child, list)]
    count = next((i for i, child in enumerate(node) if not isinstance(child, list)), len(node))
    prefix = f"{number}." if number else ""
    if prefix.count(".") > _MAX_DEPTH:
        count = 0
    children = []
    for index, child in enumerate(inner[:count], 1):
        if budget.parts <= 0:
            break
        children.append(_part(child, f"{prefix}{index}", budget))
    kind = f"multipart/{_text(_at(node, count)).lower()}"
    return Part(
        number,
        HeaderBlock([], 0),
        _parameters(kind, _at(node, count + 1)),
        _disposition(_at(node, count + 2)),
        "",
        0,
        0,
        tuple(children),
    )


def _disposition(node: Any) -> Parameters:
    if not isinstance(node, list) or not node:
        return Parameters("")
    return _parameters(_text(node[0]), _at(node, 1))


def _parameters(value: str, pairs: Any) -> Parameters:
    """In header form: the header parser handles RFC 2231 and encoded words, plain values need no parsing."""
    named = {}
    if isinstance(pairs, list):
        named = {_text(name).lower(): _text(content) for name, content in zip(pairs[::2], pairs[1::2], strict=False)}
    if not any("*" in name or "=?" in content for name, content in named.items()):
        return Parameters(value.lower(), named)
    escaped = {name: content.replace("\\", "\\\\").replace('"', '\\"') for name, content in named.items()}
    return read_parameters("; ".join([value.lower(), *(f'{name}="{content}"' for name, content in escaped.items())]))


def _at(node: list[Any], index: int) -> Any:
    return node[index] if index < len(node) else None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _size(value: Any) -> int:
    return number(value)


def attachments(root: Part) -> tuple[Attachment, ...]:
    return tuple(_attachment(part) for part in sort_parts(root).attachments)


def _attachment(part: Part) -> Attachment:
    kind, content_id = part.content.value, content_id_of(part)
    named = message_filename(filename_of(part), "") if kind == "message/rfc822" else ""
    return Attachment(
        part=part.number,
        filename=named or safe_filename(filename_of(part), kind, part.number),
        mime_type=kind,
        size=_decoded_size(part),
        inline=is_inline(part, content_id),
        content_id=content_id,
    )


def _decoded_size(part: Part) -> int:
    """base64 comes in lines of 76 and their break: 78 bytes carry 57. Exact to a few bytes."""
    return part.end * 57 // 78 if part.encoding == "base64" else part.end


def first_text(root: Part) -> Part | None:
    """The part whose beginning shows what the message is about: of alternatives the one that mail programs show."""
    found = sort_parts(root)
    return next(iter([*found.html, *found.text]), None)


def find_part(root: Part, number: str) -> Part | None:
    return next((leaf for leaf in root.leaves() if leaf.number == number), None)


def skeleton_items(root: Part) -> list[str]:
    """What must be fetched to assemble the message without its attachments' content."""
    texts = {part.number for part in _texts(root)}
    items = ["BODY.PEEK[HEADER]"]
    for part in _all(root):
        if part.number and root.is_multipart:
            items.append(f"BODY.PEEK[{part.number}.MIME]")
        if part.number in texts:
            items.append(f"BODY.PEEK[{part.number}]")
    return items


def text_bytes(root: Part) -> int:
    """What its texts take as they are encoded."""
    return sum(part.end for part in _texts(root))


def other_bytes(root: Part) -> int:
    """What everything else takes."""
    return sum(leaf.end for leaf in root.leaves()) - text_bytes(root)


def is_told(root: Part, size: int, assembled: bytes) -> bool:
    """Whether the server took all of the message apart: the rest is in its attachments, or belongs to no part."""
    return size - len(assembled) - other_bytes(root) <= _BETWEEN


def assemble(root: Part, piece: Callable[[str], bytes]) -> bytes:
    """The message's bytes with every attachment empty; `piece` returns what `skeleton_items` fetched."""
    texts = {part.number for part in _texts(root)}
    return piece("HEADER") + _content(root, texts, piece)


def _content(part: Part, texts: set[str], piece: Callable[[str], bytes]) -> bytes:
    if not part.is_multipart:
        return piece(part.number) if part.number in texts else b""
    mark = b"--" + _boundary(part, piece).encode("utf-8", "surrogateescape")
    inner = (piece(f"{child.number}.MIME") + _content(child, texts, piece) for child in part.children)
    return b"".join(mark + b"\r\n" + content + b"\r\n" for content in inner) + mark + b"--\r\n"


def _boundary(part: Part, piece: Callable[[str], bytes]) -> str:
    """As it will be read from the part's own header, which may be damaged: servers tell another one then (Dovecot 2.3
    what is before the `=` of one without quotation marks)."""
    header = read_headers(piece(f"{part.number}.MIME" if part.number else "HEADER"))
    own = read_parameters(header.first("content-type")).get("boundary")
    return (own or part.content.get("boundary")).rstrip()


def _texts(root: Part) -> list[Part]:
    found = sort_parts(root)
    return [*found.text, *found.html]


def _all(part: Part) -> Iterator[Part]:
    yield part
    for child in part.children:
        yield from _all(child)
