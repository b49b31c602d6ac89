"""Which lines of a text may be quoted history, by the marks and lines that mail programs add.

Every rule looks at single lines (or a few joined), so the work is linear in any text.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from postroom.mime.limits import MAX_LINES
from postroom.mime.quotes.attribution import (
    field_of,
    is_attribution,
    is_forward,
    is_header_block,
    is_more_addresses,
    is_plain_field,
    is_reply_block,
    is_separator,
    may_attribute,
    opens_attribution,
)
from postroom.mime.quotes.earlier import words_of

MAX_JOINED: Final = 4  # lines an attribution may be wrapped over
_MAX_LOOKS: Final = 2_000  # at lines that may start history or name its author; what comes after the last is shown
_MAX_HEAD: Final = 12  # lines of a header block


_LETTER = re.compile(r"[^\W_]")


class Region(IntEnum):
    """Why a line may be history. For `LOOSE` only a comparison can tell: forms, poems and digests."""

    NONE = 0
    LOOSE = 1  # below a line that may introduce history, without its own marks
    MARKED = 2  # after ``>`` or in an element that contains a quote and nothing else
    BLOCK = 3  # below the header block that a program writes above what it replies to


@dataclass(slots=True)
class Lines:
    """A text's lines with what each may be. A head (attribution, header block) goes with the quote it introduces."""

    lines: list[str]
    regions: list[Region]
    heads: list[bool]
    numbers: list[int]  # of the HTML element a line comes from, counted from 1; 0: none


def plain_lines(text: str) -> Lines:
    """What is beyond the limit is one line, however many it has."""
    lines = text.split("\n", MAX_LINES)
    marked, unmarked = Region.MARKED, Region.NONE  # looked up once, not for each line
    regions = [marked if ">" in line and _is_marked(line) else unmarked for line in lines]
    return Lines(lines, regions, [False] * len(lines), [0] * len(lines))


def has_signs(text: str) -> bool:
    """Whether a line of it may be marked as a quote or introduce one. Without, `find_regions` labels none of them."""
    return ">" in text or ":" in text or "：" in text or "--" in text


def find_regions(text: Lines, *, subject: str | None, names: Set[str]) -> None:
    """Label what is not labelled yet, and the heads. `subject` and `names`: what a head may be expected to contain."""
    text.regions[MAX_LINES:] = [Region.NONE] * (len(text.lines) - MAX_LINES)
    finder = _Finder(text, subject, names)
    finder.label()


def _is_marked(line: str) -> bool:
    return ">" in line and line.lstrip(" ")[0] == ">"


def _is_rule(line: str) -> bool:
    return len(line.strip()) >= 10 and not line.strip(" _-*=")


def has_words(line: str) -> bool:
    return _LETTER.search(line) is not None


def _bare(line: str) -> str:
    return line.lstrip("> ")


class _Finder:
    def __init__(self, text: Lines, subject: str | None, names: Set[str]) -> None:
        self.text = text
        self.lines, self.regions, self.heads = text.lines, text.regions, text.heads
        self.subject = None if subject is None else set(words_of(subject))
        self.names = names
        self.looks = _MAX_LOOKS
        self.opened = Region.NONE  # the minimum for all lines from here on

    def label(self) -> None:
        for index, line in enumerate(self.lines[:MAX_LINES]):
            may_open = ":" in line or "--" in line or "：" in line  # most lines have none of these: see `has_signs`
            if not may_open and not self.regions[index]:
                self.regions[index] = self.opened
                continue
            starts = self._starts_region(index)
            if may_open and self._is_sent_on(index, starts):
                self._end_at(index)
                return
            if starts:
                self._label_head_of(index)
            elif not self.regions[index]:
                self.regions[index] = self.opened
                if self.opened < Region.BLOCK and not self.heads[index] and self.looks:
                    self._open(index)

    def _starts_region(self, index: int) -> bool:
        """The first line with words of a run of marked lines, or of an element."""
        if self.regions[index] <= self.opened or not has_words(self.lines[index]):
            return False
        number = self.text.numbers[index]
        above = index - 1
        while above >= 0 and self.regions[above] > self.opened and not has_words(self.lines[above]):
            if self.text.numbers[above] != number:
                break
            above -= 1
        return above < 0 or self.regions[above] <= self.opened or self.text.numbers[above] != number

    def _is_sent_on(self, index: int, starts: bool) -> bool:
        """A forwarded message, even if a program wraps it like a quote; not one that is quoted in a reply."""
        if self.opened or not (starts or not self.regions[index]) or not is_forward(self.lines[index]):
            return False
        above = self._words_above(index)
        return not starts or self._attribution_ending(above) == above

    def _words_above(self, index: int) -> int:
        while index and not has_words(self.lines[index - 1]):
            index -= 1
        return index

    def _end_at(self, index: int) -> None:
        """Everything from a forwarded message on was sent on purpose."""
        for later in range(index, len(self.lines)):
            self.regions[later] = Region.NONE

    def _label_head_of(self, index: int) -> None:
        """The attribution above a run, and the attribution or header block that it begins with."""
        region = self.regions[index]
        above = self._words_above(index)
        found = self._attribution_ending(above)
        for line in range(found, index) if found < above else ():
            self.regions[line], self.heads[line] = region, True
        self._label_header_block(index)
        for end in range(index + 1, min(index + 1 + MAX_JOINED, len(self.lines) + 1)):
            if self.lines[end - 1].rstrip()[-1:] not in (":", "：") or not self.regions[end - 1]:
                continue
            if self.looks and is_attribution(self._joined(index, end), self.names):
                self.looks -= 1
                self.heads[index:end] = [True] * (end - index)
                return

    def _attribution_ending(self, end: int) -> int:
        """Where the attribution begins whose last line is before `end`; `end` if there is none."""
        if not end or not self.looks or self.lines[end - 1].rstrip()[-1:] not in (":", "："):
            return end
        self.looks -= 1
        if not may_attribute(self._joined(max(end - MAX_JOINED, 0), end)):
            return end
        found = end
        for start in range(end - 1, max(end - 1 - MAX_JOINED, -1), -1):
            if not self.lines[start].strip() or self.regions[start] > Region.LOOSE or self.heads[start]:
                break
            joined = self._joined(start, end)
            if is_attribution(joined, self.names):
                found = start
                if opens_attribution(joined):  # its last line alone often looks like one too
                    break
        return found

    def _joined(self, start: int, end: int) -> str:
        return " ".join(_bare(line)[:400] for line in self.lines[start:end])

    def _open(self, index: int) -> None:
        """Label this line and its head, if it introduces history down to the end."""
        lines = self.lines
        is_break, is_header = is_separator(lines[index]), field_of(lines[index]) == "from"
        if is_break or is_header:
            self.looks -= 1
            ahead = [line for line in lines[index : index + _MAX_HEAD] if line.strip()]
        if is_break:
            self._open_from(index, index, Region.BLOCK if is_reply_block(ahead[1:]) else Region.LOOSE)
            self.heads[index] = True
            self._label_header_block(self._next_words(index + 1))
        elif is_header and is_header_block(ahead):
            self._open_from(index, index, Region.BLOCK if is_reply_block(ahead) else Region.LOOSE)
            self._label_header_block(index)
        elif not self.opened and (start := self._attribution_ending(index + 1)) <= index:
            below = self._next_words(index + 1)
            if below < len(lines) and not self.regions[below]:
                self._open_from(start, index, Region.LOOSE)
                self.heads[start : index + 1] = [True] * (index + 1 - start)

    def _open_from(self, start: int, index: int, region: Region) -> None:
        """With the horizontal rule that a program drew above it."""
        above = start
        while above and not self.lines[above - 1].strip():
            above -= 1
        if above and _is_rule(self.lines[above - 1]) and self.regions[above - 1] <= Region.LOOSE:
            start = above - 1
            self.heads[start] = True
        self.opened = region
        self.regions[start : index + 1] = [region] * (index + 1 - start)

    def _label_header_block(self, index: int) -> None:
        """Header lines with the content that such lines have; from the first other one on, they are text."""
        fields = [""]
        for line in range(index, min(index + _MAX_HEAD, len(self.lines))):
            words = _bare(self.lines[line]).strip()
            field = field_of(words)
            is_plain = field not in fields and is_plain_field(words, self.subject, self.names)
            is_more = fields[-1] in ("to", "cc") and is_more_addresses(words, self.names)
            if words and not is_plain and not is_more:
                return
            if is_plain:
                fields.append(field)
            self.heads[line] = True

    def _next_words(self, index: int) -> int:
        while index < len(self.lines) and not self.lines[index].strip():
            index += 1
        return index
