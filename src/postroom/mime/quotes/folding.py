"""Folding of quoted history: what is a proven copy of earlier messages, or marked as a quote with nothing new below.

What is undecidable is shown. A message that is nothing but history is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Protocol

from postroom.mime.limits import MAX_EARLIER, MAX_HEAD_SUBJECT
from postroom.mime.quotes.earlier import Earlier, words_of
from postroom.mime.quotes.regions import Lines, Region, find_regions, has_words, plain_lines
from postroom.mime.quotes.subjects import is_forward_subject

MARK: Final = "> […]"  # put where history was omitted above something that is shown
_NOT_COMPARED: Final = " "
_CONTEXT: Final = 2  # lines of a quote that stay above the reply to it
_WORTH_FOLDING: Final = 200  # characters: shorter copies between new lines of one quote stay where they are


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """A message's place in its thread. `earlier` None: what the thread said before is unknown; the marks decide, or
    nobody where it `can_be_asked`."""

    is_reply: bool = False  # its headers name an earlier message
    is_forward: bool = False  # its subject says so
    subject: str | None = None
    earlier: Earlier | None = None
    can_be_asked: bool = False


UNKNOWN: Final = ThreadContext()


class ThreadHeaders(Protocol):
    @property
    def subject(self) -> str: ...
    @property
    def in_reply_to(self) -> str: ...
    @property
    def references(self) -> tuple[str, ...]: ...


def context_of(mail: ThreadHeaders, earlier: Earlier | None = None, *, can_be_asked: bool = False) -> ThreadContext:
    """A message that names no other has no history: whatever it marks as a quote is new."""
    is_reply, subject = bool(mail.in_reply_to or mail.references), mail.subject[:MAX_HEAD_SUBJECT]
    is_forward = is_forward_subject(subject)
    return ThreadContext(is_reply, is_forward, subject, earlier if is_reply else Earlier(), can_be_asked)


@dataclass(frozen=True, slots=True)
class Folded:
    text: str
    folded: int = 0  # characters omitted
    may_quote: bool = False  # whether there was anything to decide
    elements: frozenset[int] = frozenset()  # numbers of HTML elements that were omitted entirely


def fold_text(text: str, context: ThreadContext = UNKNOWN) -> Folded:
    return fold_lines(plain_lines(text), context)


def fold_lines(text: Lines, context: ThreadContext) -> Folded:
    """In a forward nothing is history, and nothing is a copy where nothing was said before."""
    if context.is_forward or (context.earlier is not None and context.earlier.is_empty):
        return Folded("\n".join(text.lines))
    find_regions(text, subject=context.subject, names=context.earlier.names if context.earlier else frozenset())
    if not any(text.regions):
        return Folded("\n".join(text.lines))
    if context.earlier is None and context.can_be_asked:
        return Folded("\n".join(text.lines), may_quote=True)
    history = _copies(text, context.earlier) if context.earlier else _marked_end(text, context)
    return _without(text, history)


def new_words(text: Lines, context: ThreadContext) -> str:
    """For a preview of a message: without anything that is marked as a quote. Opening it shows what is new in that."""
    if context.is_forward:
        return "\n".join(text.lines)
    find_regions(text, subject=context.subject, names=frozenset())
    if not any(text.regions):
        return "\n".join(text.lines)
    quotes = [False] * len(text.lines)
    for run in _runs(text):
        if context.is_reply or any(text.heads[index] and text.regions[index] is Region.MARKED for index in run):
            for index in run:
                quotes[index] = text.regions[index] >= Region.MARKED
    shown = [line for line, is_quote in zip(text.lines, quotes, strict=True) if not is_quote]
    return "\n".join(shown if any(map(str.strip, shown)) else text.lines)


def _copies(text: Lines, earlier: Earlier) -> list[bool]:
    """The lines that are in earlier messages, each with the head above it."""
    history = [False] * len(text.lines)
    compared = [index for index, region in enumerate(text.regions) if region and not text.heads[index]]
    words = list(_words_of_each([text.lines[index] for index in compared]))
    is_new = {
        index for index, line, copied in zip(compared, words, earlier.copied(words), strict=True) if line and not copied
    }
    has_words = {index for index, line in zip(compared, words, strict=True) if line}
    for run in _runs(text):
        is_mixed = any(index in is_new for index in run)
        for part in _parts(run, is_new):
            part = _without_heads_below(part, has_words)
            length = sum(len(text.lines[index]) for index in part)
            if part and (length >= _WORTH_FOLDING or not is_mixed):
                history[part.start : part.stop] = [True] * len(part)
    return history


def _words_of_each(lines: list[str]) -> Iterator[list[str]]:
    """Of as many lines as are compared; later ones get a word that nobody writes, so that they count as new."""
    room = MAX_EARLIER
    for line in lines:
        words = words_of(line) if len(line) <= room else [_NOT_COMPARED]
        room -= len(words)
        yield words


def _runs(text: Lines) -> Iterator[range]:
    """Neighbouring lines that may be history for the same reason."""
    for region, group in groupby(range(len(text.lines)), key=text.regions.__getitem__):
        if region:
            indices = list(group)
            yield range(indices[0], indices[-1] + 1)


def _parts(run: range, is_new: set[int]) -> Iterator[range]:
    """What is between the new lines of a run."""
    start = run.start
    for index in run:
        if index in is_new:
            yield range(start, index)
            start = index + 1
    yield range(start, run.stop)


def _without_heads_below(part: range, has_words: set[int]) -> range:
    """A head belongs to what follows it: at the end of a part it introduces something new."""
    end = part.stop
    while end > part.start and end - 1 not in has_words:
        end -= 1
    return range(part.start, end)


def _marked_end(text: Lines, context: ThreadContext) -> list[bool]:
    """What is marked as a quote and followed by nothing else. If the headers do not say that this is a reply, a quote
    must at least have an attribution."""
    start = len(text.lines)
    while start and (text.regions[start - 1] >= Region.MARKED or not text.lines[start - 1].strip()):
        start -= 1
    end = range(start, len(text.lines))
    is_block = any(text.regions[index] is Region.BLOCK for index in end)
    is_attributed = not is_block and any(text.heads[index] for index in end)
    is_history = context.is_reply or is_attributed
    return [is_history and index >= start for index in range(len(text.lines))]


def _without(text: Lines, history: list[bool]) -> Folded:
    shown = [index for index, line in enumerate(text.lines) if line.strip() and not history[index]]
    if not any(history) or not shown:
        return Folded("\n".join(text.lines), may_quote=True)
    _keep_context(text, history)
    kept: list[str] = []
    for is_history, group in groupby(range(len(text.lines)), key=history.__getitem__):
        lines = list(group)
        if not is_history:
            kept += [text.lines[index] for index in lines]
        elif lines[-1] < shown[-1]:
            kept.append(MARK)
    folded = sum(len(line) for line, left_out in zip(text.lines, history, strict=True) if left_out)
    return Folded("\n".join(kept).rstrip(), folded, True, _left_out(text, history))


def _keep_context(text: Lines, history: list[bool]) -> None:
    """A reply below a quote is not understood without it: the last lines above it stay."""
    words = [index for index, line in enumerate(text.lines) if has_words(line)]
    for place, index in enumerate(words):
        if history[index] or text.regions[index] or not place or not history[words[place - 1]]:
            continue
        above = words[max(place - _CONTEXT, 0) : place]
        for line in range(above[0], above[-1] + 1):
            history[line] = history[line] and text.heads[line]


def _left_out(text: Lines, history: list[bool]) -> frozenset[int]:
    """The elements of which nothing remains."""
    shown = {text.numbers[index] for index, line in enumerate(text.lines) if line.strip() and not history[index]}
    return frozenset(text.numbers) - shown - {0}
