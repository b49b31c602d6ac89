"""Reading many messages in several processes, since the work is CPU-bound.

For archives and initial imports only. Starting a process takes as long as reading a thousand messages, so a small
number is read in this process, and so are all if no process can be started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from postroom.mime.processes.readers import PATIENCE, Given, Readers, cores, read_or

T = TypeVar("T")
R = TypeVar("R")

FEW, FEW_BYTES = 1_000, 16 * 1024 * 1024
_CHUNK, _CHUNK_BYTES = 32, 1024 * 1024
_AHEAD, _AHEAD_BYTES = 40, 32 * 1024 * 1024  # chunks, and bytes, that the readers have at once
_MOST_READERS = 4  # they are faster than their results can be written


def read_many(
    read: Callable[[Sequence[T]], list[R]],
    mails: Iterable[T],
    *,
    instead: Callable[[T], R],
    size: Callable[[T], int],
    patience: float = PATIENCE,
) -> Generator[tuple[T, R], None, None]:
    """Each message with the result of `read`, in order, which is given some at a time; with the result of `instead` if
    `read` raises for it alone, crashes its process or takes longer than `patience`. Both functions, their arguments and
    results must be picklable. Close the generator if it is not exhausted."""
    source = iter(mails)
    first = next_of(source, size, FEW, FEW_BYTES)
    is_much = len(first) >= FEW or sum(map(size, first)) >= FEW_BYTES
    everything = chain(first, source)
    if not is_much or cores() < 2:
        yield from ((mail, read_or(instead, read, mail)) for mail in everything)
        return
    with Readers(read, instead, min(_MOST_READERS, cores()), patience) as readers:
        yield from _by_readers(readers, everything, size)


def next_of(mails: Iterator[T], size: Callable[[T], int], most: int, most_bytes: int) -> list[T]:
    """The next messages: few enough, and not too large together, to be held in memory. Empty at the end."""
    taken: list[T] = []
    held = 0
    for mail in mails:
        taken.append(mail)
        held += size(mail)
        if len(taken) >= most or held >= most_bytes:
            break
    return taken


@dataclass(frozen=True, slots=True)
class _Given(Generic[T, R]):
    """Messages that a reader has."""

    mails: list[T]
    size: int
    results: Given[R] | None  # None: their readers were lost


def _by_readers(readers: Readers[T, R], mails: Iterator[T], size: Callable[[T], int]) -> Iterator[tuple[T, R]]:
    waiting: deque[_Given[T, R]] = deque()
    while chunk := next_of(mails, size, _CHUNK, _CHUNK_BYTES):
        waiting.append(_Given(chunk, sum(map(size, chunk)), readers.give(chunk)))
        while len(waiting) >= _AHEAD or sum(given.size for given in waiting) >= _AHEAD_BYTES:
            yield from _first(readers, waiting)
    while waiting:
        yield from _first(readers, waiting)


def _first(readers: Readers[T, R], waiting: deque[_Given[T, R]]) -> Iterator[tuple[T, R]]:
    """The results of those that have waited longest. If readers were lost, all waiting ones are then read one by one:
    any of them may have been the cause."""
    given = waiting.popleft()
    results = readers.results(given.results)
    if results is None:
        for index, other in enumerate(waiting):
            waiting[index] = _Given(other.mails, other.size, None)
    yield from zip(given.mails, results or map(readers.read_alone, given.mails), strict=True)
