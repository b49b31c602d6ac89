"""Many UIDs in commands of a length that servers accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postroom.providers.imap.session import wire

_CHUNK = 500  # UIDs per command: enough that the round trip does not matter
_LONGEST_SET = 7_000  # bytes of a UID set: RFC 2683 asks servers to accept lines of 8,000


def chunks(uids: Sequence[int], size: int | None = None) -> Iterator[Sequence[int]]:
    """At most `size` at a time, and fewer where the line would get too long."""
    size = size or _CHUNK
    for start in range(0, len(uids), size):
        chunk = uids[start : start + size]
        if len(wire.as_set(chunk)) <= _LONGEST_SET:
            yield chunk
        else:
            yield from chunks(chunk, (len(chunk) + 1) // 2)
