"""The lines of a calendar: unfolded, and split into name, parameters and value. Bounded, and linear in their length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from postroom.mime.read.charsets import decode_text

MAX_BYTES: Final = 1_000_000
MAX_LINES: Final = 20_000
_FOLD: Final = re.compile(r"\r?\n[ \t]")
_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,60}")
_PARAMETER: Final = re.compile(r';([A-Za-z0-9-]{1,60})=("[^"\n]*+"|[^",;:\n]*+)((?:,(?:"[^"\n]*+"|[^",;:\n]*+))*+)')
_ESCAPED: Final = re.compile(r"\\([\\;,nN])")


@dataclass(frozen=True, slots=True)
class Line:
    """One content line. `written` is how it stood there, unfolded."""

    name: str  # in capitals
    value: str
    parameters: dict[str, str] = field(default_factory=dict)  # names in capitals, values without quotes
    written: str = ""

    @property
    def text(self) -> str:
        """The value of a property whose type is text."""
        return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], self.value)


def lines_of(content: bytes) -> Iterator[Line]:
    text = _FOLD.sub("", decode_text(content[:MAX_BYTES], "utf-8").removeprefix("\ufeff"))
    for written in text.split("\n")[:MAX_LINES]:
        line = _line(written.rstrip("\r"))
        if line is not None:
            yield line


def _line(written: str) -> Line | None:
    """None for what is no content line."""
    found = _NAME.match(written)
    if found is None:
        return None
    end, parameters = found.end(), {}
    while parameter := _PARAMETER.match(written, end):
        parameters[parameter[1].upper()] = parameter[2].strip('"')
        end = parameter.end()
    if written[end : end + 1] != ":":
        return None
    return Line(found[0].upper(), written[end + 1 :].strip(), parameters, written)
