"""The pages of a folder's listing, one after the other, while others go on using the mailbox.

What arrives meanwhile pushes messages to a later page, where they are seen twice, which does no harm. What goes pulls
them to an earlier one, where nobody would see them: so each page begins with messages of the one before, and one that
has none of them is asked for again from further up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from postroom.model.errors import ProviderError
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import In, Query

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox

_OVERLAP = 10  # one message of so many is asked for twice, and one at least
_MOST_RETURNS = 20  # of one folder: each goes back twice as far as the one before
_MOST_REPEATED = 3  # pages without anything new: as many new messages may have come before them


async def pages_of(mailbox: Mailbox, folder_ref: str, *, first: int, size: int) -> AsyncGenerator[Page[Envelope], None]:
    """Newest first. ProviderError where the listing cannot be read to its end."""
    offset, limit, returns, repeated = 0, first, 0, 0
    last: set[str] = set()
    while True:
        page = await mailbox.search(Query(In(folder_ref)), limit=limit, offset=offset)
        refs = {row.ref for row in page.items}
        if (offset and refs.isdisjoint(last)) or (page.has_more and not refs):  # the latter went since they were listed
            returns += 1
            if returns > _MOST_RETURNS:
                raise ProviderError("The mailbox changes faster than it can be read. It is not complete.")
            offset = max(0, offset - size * 2**returns)
            continue
        repeated = repeated + 1 if refs <= last else 0
        if page.has_more and repeated > _MOST_REPEATED:
            raise ProviderError(
                "The mail server keeps returning the same page of a folder, so that its older messages cannot be"
                " read. The mirror is not complete."
            )
        yield page
        if not page.has_more:
            return
        offset += len(page.items) - max(1, len(page.items) // _OVERLAP)
        limit, last = size, refs


class Head:
    """Of one folder, as its pages come in. Everything dated at `since` or later, in seconds, has been on them."""

    def __init__(self) -> None:
        self.since = 0
        self._last: Sequence[Envelope] = ()
        self._is_clear = True

    def goes_on_with(self, rows: Sequence[Envelope]) -> bool:
        """False once a page does not overlap the one before, or is not in the order of dates: something may be
        missing."""
        seen = {row.ref for row in self._last}
        overlaps = not seen or any(row.ref in seen for row in rows)
        moments = [*map(_moment, self._last[-1:]), *(_moment(row) for row in rows if row.ref not in seen)]
        self._is_clear = self._is_clear and bool(rows) and overlaps and moments == sorted(moments, reverse=True)
        if self._is_clear:
            self.since, self._last = int(_moment(rows[-1])) + 1, rows
        return self._is_clear


def _moment(row: Envelope) -> float:
    return row.date.timestamp() if row.date else 0.0
