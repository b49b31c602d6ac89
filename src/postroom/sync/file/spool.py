"""What a first fill has fetched: the messages' bytes, one after the other in a file beside the mirror's, until they are
packed into that (`packing`).

Compressing them and writing them to the mirror's file takes as long as all the rest that makes a message searchable, so
it comes afterwards. And another process that reads a message takes its bytes from here, instead of through a pipe.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Final

from postroom.index.packing import checksum
from postroom.model.errors import ProviderUnavailable
from postroom.sync.file import space

_SEALED = struct.Struct(">QQI")  # where the message begins, its length, and a checksum: a power cut may lose the bytes
_OWNER_ONLY = 0o600
_AT_ONCE = 512  # pieces: systems take 1,024 at least

Place = tuple[int, int]  # where a message begins, and its length
NOWHERE: Final = _SEALED.pack(0, 0, 0)  # no bytes are there


def append(path: Path, raws: Sequence[bytes]) -> list[Place]:
    """Only one process writes, under the mirror's lock; any may read."""
    lengths = [len(raw) for raw in raws]
    space.check(path, sum(lengths))
    try:
        # Opened each time: with the mirror, it may have been started over.
        with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
            start = os.fstat(file).st_size  # with what a process that was killed may have left
            _write(file, start, raws)
    except OSError as error:
        raise _unusable(path, f"cannot be written ({error.strerror})") from error
    return list(zip(accumulate(lengths, initial=start), lengths, strict=False))


def cut(path: Path, last: bytes | None) -> None:
    """Behind the last place that is known (`sealed`) there is only what runs that were killed have left."""
    start, length, _ = _SEALED.unpack(last) if last is not None else (0, 0, 0)
    with suppress(OSError):  # there is none
        if path.stat().st_size > start + length:
            os.truncate(path, start + length)


def taken(path: Path, places: Sequence[Place]) -> list[bytes]:
    """What was appended a moment ago."""
    try:
        with _opened(path) as file:
            raws = [os.pread(file, length, start) for start, length in places]
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror})") from error
    if [len(raw) for raw in raws] != [length for _, length in places]:
        raise _unusable(path, "is shorter than what was written to it")
    return raws


def sealed(place: Place, raw: bytes) -> bytes:
    """A place, as the mirror's file keeps it."""
    return _SEALED.pack(*place, checksum(raw))


def read(path: Path, place: bytes) -> bytes | None:
    """At a place that is `sealed`; None where the bytes are not there."""
    (raw,) = read_each(path, [place])
    return raw


def read_each(path: Path, places: Sequence[bytes]) -> Iterator[bytes | None]:
    """`read` for many, one in memory at a time."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield from [None] * len(places)
        return
    try:
        for place in places:
            yield _unsealed(file, place)
    finally:
        os.close(file)


def length_at(place: bytes) -> int:
    return int(_SEALED.unpack(place)[1])


def _unsealed(file: int, place: bytes) -> bytes | None:
    start, length, expected = _SEALED.unpack(place)
    try:
        raw = os.pread(file, length, start)
    except OSError:
        return None
    return raw if len(raw) == length and checksum(raw) == expected else None


@contextmanager
def _opened(path: Path, mode: int = os.O_RDONLY) -> Iterator[int]:
    file = os.open(path, mode | os.O_CLOEXEC, _OWNER_ONLY)
    try:
        yield file
    finally:
        os.close(file)


def _write(file: int, start: int, raws: Sequence[bytes]) -> None:
    """All or nothing: on a full disk, others need what little space there is."""
    try:
        for first in range(0, len(raws), _AT_ONCE):
            _write_some(file, raws[first : first + _AT_ONCE])
    except OSError:
        os.ftruncate(file, start)
        raise


def _write_some(file: int, raws: Sequence[bytes]) -> None:
    """Without a copy of them all."""
    rest = sum(map(len, raws)) - os.writev(file, raws)
    if rest:  # the disk is full, or there is a reason that only shows when the rest is written
        _write_all(file, b"".join(raws)[-rest:])


def _write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def _unusable(path: Path, what: str) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"The file {path.name} of a mirror {what}. Ask the operator to check its folder and the space on its disk;"
        " what is in the mirror is kept.",
        details={"file": str(path)},
    )
