"""Parsing of Content-Type and Content-Disposition, including RFC 2231 continuations and charsets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from postroom.mime.limits import MAX_PARAMETERS
from postroom.mime.read.charsets import decode_text
from postroom.mime.read.headers import decode_words
from postroom.model.quickly_built import quickly_built

_SHORT: Final = 60  # characters; longer values contain a boundary or a file name, and those are all different

_PARAMETER = re.compile(r';\s*+([^\s=;"]++)\s*+=\s*+("(?:[^"\\]|\\.)*+"|[^;]*+)', re.DOTALL)
# "charset=utf-8 boundary=x": the semicolon before it is missing, and the value before it has swallowed it.
_LOST_BOUNDARY = re.compile(r'(?<=\s)boundary\s*+=\s*+("[^"]*+"|[^;\s]++)', re.IGNORECASE)
# What most multiparts have: nothing in it is to be decoded, unescaped or repaired.
_BOUNDARY = re.compile(r'(multipart/[a-z]++); ?boundary="([ !#->@-\[\]-~]{1,200}+)"\Z')
_SEGMENT = re.compile(r"([^*]+)(?:\*(\d{1,4}))?(\*)?\Z")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TOKEN = re.compile(r"[^\s;\"(),]+")


@quickly_built
@dataclass(frozen=True, slots=True)
class Parameters:
    """`value` is lower-case (``text/plain``, ``attachment``); parameter names are lower-case, values decoded."""

    value: str
    named: Mapping[str, str] = field(default_factory=dict)
    was_cut: bool = False  # part of the value was not read

    def get(self, name: str) -> str:
        return self.named.get(name, "")


def read_parameters(text: str) -> Parameters:
    """Never raises; if a parameter is given twice, the first counts."""
    if text.startswith("multipart/") and (usual := _BOUNDARY.match(text)):
        return Parameters(usual[1], {"boundary": usual[2]})
    if len(text) <= _SHORT:
        return _read(text)
    found = _read.__wrapped__(text[:MAX_PARAMETERS])
    return replace(found, was_cut=True) if len(text) > MAX_PARAMETERS else found


@lru_cache(maxsize=512)  # most parts are of a few kinds
def _read(text: str) -> Parameters:
    text = text.lstrip()
    token = _TOKEN.match(text)
    value = token[0].lower() if token else ""
    rest = text[token.end() :].lstrip() if token else text
    if "=" not in rest:
        return Parameters(value)
    text = rest if rest.startswith(";") else f";{rest}"  # "multipart/mixed boundary=x": the first semicolon is missing
    plain: dict[str, str] = {}
    segments: dict[str, dict[int, tuple[str, bool]]] = {}
    for match in _PARAMETER.finditer(text):
        name, content = match[1].lower(), _unquoted(match[2])
        shape = _SEGMENT.match(name) if "*" in name else None
        if shape is None:
            plain.setdefault(name, decode_words(content))
        else:
            segments.setdefault(shape[1], {}).setdefault(int(shape[2] or 0), (content, bool(shape[3])))
    if "boundary" not in plain and (lost := _LOST_BOUNDARY.search(text)):
        plain["boundary"] = _unquoted(lost[1])
    # The extended form is the better value, whichever comes first.
    return Parameters(value, {**plain, **{name: _joined(parts) for name, parts in segments.items()}})


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(r"\1", text[1:-1])
    return text.strip('"')


def _joined(parts: dict[int, tuple[str, bool]]) -> str:
    charset, data = "", []
    for number, (content, extended) in sorted(parts.items()):
        if extended and number == 0 and content.count("'") >= 2:
            charset, _, content = content.split("'", 2)
        raw = content.encode("utf-8", "replace")
        data.append(unquote_to_bytes(raw) if extended else raw)
    return decode_words(decode_text(b"".join(data), charset))
