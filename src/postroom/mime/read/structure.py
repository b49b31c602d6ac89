"""A message's parts: their position in the bytes and their declared types. Nothing is decoded, nothing is copied.

Postroom splits messages itself: IMAP part numbers must be exact, 8-bit headers must survive, and limits are our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from postroom.mime.limits import (
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_MARKS,
    MAX_PART_HEADERS,
    MAX_PARTS,
    MAX_SCANNED,
)
from postroom.mime.read.headers import HeaderBlock, read_headers
from postroom.mime.read.parameters import Parameters, read_parameters
from postroom.model.quickly_built import quickly_built

_TEXT = Parameters("text/plain")
_ENCODINGS = frozenset({"", "7bit", "8bit", "base64", "quoted-printable"})
_TOO_MANY = "The message has too many parts; the rest were omitted."


@quickly_built
@dataclass(frozen=True, slots=True)
class Part:
    """One part. `number` is its IMAP part number; a multipart has children, a leaf has a body [start:end]."""

    number: str
    headers: HeaderBlock
    content: Parameters  # Content-Type
    disposition: Parameters
    encoding: str
    start: int
    end: int
    children: tuple[Part, ...] = ()

    @property
    def is_multipart(self) -> bool:
        return self.content.value.startswith("multipart/")

    def leaves(self) -> Iterator[Part]:
        if not self.is_multipart:
            yield self
        for child in self.children:
            yield from child.leaves()


@dataclass(slots=True)
class _Budget:
    """What is still allowed while one message is split, and the defects found so far."""

    parts: int = MAX_PARTS
    headers: int = MAX_PART_HEADERS  # fields of all parts
    header_bytes: int = MAX_HEADER_BYTES  # of all parts
    scanned: int = MAX_SCANNED  # bytes that may still be scanned for boundaries
    marks: int = MAX_MARKS  # places that may still be checked for one
    defects: dict[str, None] = field(default_factory=dict)  # ordered, each once

    def note(self, defect: str) -> None:
        self.defects.setdefault(defect)


def split(raw: bytes) -> tuple[Part, tuple[str, ...]]:
    """The root part and the defects found. A leaf at the root is part ``1``."""
    budget = _Budget()
    start = len(raw) - len(raw.lstrip(b"\r\n"))
    headers = read_headers(raw, start)
    return _part(raw, headers, "", len(raw), _TEXT, budget, 0), tuple(budget.defects)


def _part(
    raw: bytes, headers: HeaderBlock, number: str, end: int, default: Parameters, budget: _Budget, depth: int
) -> Part:
    for defect in headers.defects:
        budget.note(defect)
    said = dict(reversed(headers.fields))  # the first of several counts
    content = read_parameters(said.get("content-type", ""))
    if "/" not in content.value:
        content = default if content.value != "text" else Parameters("text/plain", content.named)
    disposition = read_parameters(said.get("content-disposition", ""))
    if content.was_cut or disposition.was_cut:
        budget.note("The Content-Type or Content-Disposition of a part is too long; the rest was omitted.")
    is_leaf = not content.value.startswith("multipart/")
    part = Part(
        (number or "1") if is_leaf else number,
        headers,
        content,
        disposition,
        _encoding(said.get("content-transfer-encoding", "")),
        headers.body_start,
        max(headers.body_start, end),
    )
    return part if is_leaf else _opened(raw, part, budget, depth)


def _opened(raw: bytes, part: Part, budget: _Budget, depth: int) -> Part:
    """The multipart with its children, or a plain text leaf if it has no boundary."""
    budget.scanned -= part.end - part.start
    if depth >= MAX_DEPTH or budget.scanned < 0:
        budget.note("Parts are nested too deeply; the innermost were not opened.")
        return replace(part, content=Parameters("application/octet-stream"))
    spans = list(_spans(raw, part, budget))
    if not spans:
        budget.note("A multipart has no parts; it was read as text.")
        return replace(part, content=_TEXT, number=part.number or "1")
    default = Parameters("message/rfc822") if part.content.value == "multipart/digest" else _TEXT
    prefix = f"{part.number}." if part.number else ""
    children = (
        _part(raw, _part_headers(raw, start, end, budget), f"{prefix}{index}", end, default, budget, depth + 1)
        for index, (start, end) in enumerate(spans, 1)
    )
    return Part(
        part.number,
        part.headers,
        part.content,
        part.disposition,
        part.encoding,
        part.start,
        part.end,
        tuple(children),
    )


def _part_headers(raw: bytes, start: int, end: int, budget: _Budget) -> HeaderBlock:
    most, most_bytes = min(MAX_HEADERS, budget.headers), budget.header_bytes
    headers = read_headers(raw, start, end, most=most, most_bytes=most_bytes)
    budget.headers -= len(headers.fields)
    budget.header_bytes -= min(most_bytes, headers.body_start - start)
    return headers


def _spans(raw: bytes, part: Part, budget: _Budget) -> Iterator[tuple[int, int]]:
    """[start:end] of each child. The line break before a boundary belongs to the boundary."""
    boundary = part.content.get("boundary").rstrip()
    start = -1
    for line_start, next_line, closing in _delimiters(raw, boundary, part, budget):
        if start >= 0:
            if not _spend(budget):
                return
            yield start, max(start, _before_break(raw, line_start))
        start = next_line
        if closing:
            return
    if start >= 0:
        budget.note("A multipart is not closed; its last part was read to the end.")
        if _spend(budget):
            yield start, part.end


def _spend(budget: _Budget) -> bool:
    budget.parts -= 1
    if budget.parts < 0:
        budget.note(_TOO_MANY)
    return budget.parts >= 0


def _delimiters(raw: bytes, boundary: str, part: Part, budget: _Budget) -> Iterator[tuple[int, int, bool]]:
    """(start of the delimiter line, start of the next line, closing?) for every line that is a delimiter."""
    if not boundary:
        return
    start, end = part.start, part.end
    mark = b"--" + boundary.encode("utf-8", "surrogateescape")
    next_line = start  # searched for only if already passed: millions of marks may share one line
    position = raw.find(mark, start, end)
    while position >= 0:
        budget.marks -= 1
        if budget.marks < 0:
            budget.note("Too many lines look like the boundary of a multipart; its last part was read to the end.")
            return
        behind = position + len(mark)
        if position == start or raw[position - 1] in b"\r\n":
            if next_line <= position:
                next_line = raw.find(b"\n", position, end) + 1 or end
            rest = raw[behind : min(next_line, behind + 80)]
            closing = rest.startswith(b"--")
            if closing or not rest.strip():
                yield position, next_line, closing
        position = raw.find(mark, behind, end)


def _before_break(raw: bytes, position: int) -> int:
    if raw[position - 1 : position] == b"\n":
        position -= 1
    return position - 1 if raw[position - 1 : position] == b"\r" else position


def _encoding(value: str) -> str:
    """Some programs add a comment: ``base64 (really)``."""
    return value if value in _ENCODINGS else value[:40].partition("(")[0].strip(' \t";').lower()
