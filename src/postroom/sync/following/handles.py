"""Handles follow their messages: what the mirror knows of changed refs is passed on to the store.

Two files are involved, and a process may be killed between them: a change stays noted in the mirror until the store
has it, and passing it on twice does no harm, since a ref never comes to mean another message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.model.ids import Kind

if TYPE_CHECKING:
    from postroom.store.handles import Handles
    from postroom.sync.file.mirror import Mirror

# Where a draft is named by its message's ref, and a message without Message-ID is a thread by its own ref.
_KINDS = (Kind.EMAIL, Kind.DRAFT, Kind.THREAD)
_AT_ONCE = 1_000


def pass_on(mirror: Mirror, handles: Handles, account: str) -> int:
    """How many were passed on."""
    count = 0
    while True:
        with mirror.snapshot() as connection:
            rows = connection.execute("SELECT id, old, new FROM renamed ORDER BY id LIMIT ?", (_AT_ONCE,)).fetchall()
        if not rows:
            return count
        count += len(rows)
        for batch in _unchained([(old, new) for _, old, new in rows]):
            for kind in _KINDS:
                handles.rename(kind, account, batch)
        with mirror.transaction() as connection:
            connection.execute("DELETE FROM renamed WHERE id <= ?", (rows[-1][0],))


def _unchained(renamed: list[tuple[str, str]]) -> list[dict[str, str]]:
    """In order, as few batches as possible: one that was renamed twice needs a second."""
    batches: list[dict[str, str]] = [{}]
    named: set[str] = set()
    for old, new in renamed:
        if old in named:
            batches.append({})
            named.clear()
        batches[-1][old] = new
        named |= {old, new}
    return batches
