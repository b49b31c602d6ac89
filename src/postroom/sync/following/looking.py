"""Messages as a mailbox without numbers has them now, asked for by their refs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest, PermissionDenied, PostroomError, ProviderError
from postroom.model.message import Envelope

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox
    from postroom.sync.file.access import Access

_MOST_DOUBTED = 20  # of the messages that are asked for together: these stand for the others
_MOST_FAILED = 5  # of the messages that are asked for together; where there are more, it is the server that fails


@dataclass(slots=True)
class Looked:
    """`failed`: of these the server tells nothing, while it tells of others."""

    rows: dict[str, Envelope] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    failed: dict[str, PostroomError] = field(default_factory=dict)

    @property
    def doubtful(self) -> list[str]:
        """Those that are gone; of many, some from all over."""
        return self.gone[:: -(-len(self.gone) // _MOST_DOUBTED) or 1]

    @property
    def samples(self) -> list[str]:
        """Those of the doubtful that stand for others."""
        return self.doubtful if len(self.gone) > _MOST_DOUBTED else []


async def looked_at(access: Access, mailbox: Mailbox, refs: Sequence[str]) -> Looked:
    """A server that says once that a message is gone may be wrong, and nothing would name that message again: it is
    asked twice. Many that are gone were deleted, most likely, and to ask for them costs as much as to read them: so for
    a few of them, and for all where one of these is there."""
    looked = Looked()
    await _ask(access, mailbox, refs, looked)
    looked.gone = _missing(refs, looked)
    samples = looked.samples
    await _ask(access, mailbox, looked.doubtful, looked)
    looked.gone = _missing(looked.gone, looked)
    if not looked.rows.keys().isdisjoint(samples):
        await _ask(access, mailbox, looked.gone, looked)
        looked.gone = _missing(looked.gone, looked)
    return looked


def _missing(refs: Sequence[str], looked: Looked) -> list[str]:
    return [ref for ref in refs if ref not in looked.rows and ref not in looked.failed]


async def _ask(access: Access, mailbox: Mailbox, refs: Sequence[str], looked: Looked) -> None:
    """In halves where the server fails over some of them."""
    if not refs:
        return
    try:
        found = await mailbox.envelopes(refs)
    except (ProviderError, PermissionDenied, InvalidRequest) as error:
        if len(looked.failed) >= _MOST_FAILED or not await _tells_of_another(access, mailbox, refs):
            raise
        if len(refs) == 1:
            looked.failed[refs[0]] = error
            return
        middle = len(refs) // 2
        await _ask(access, mailbox, refs[:middle], looked)
        await _ask(access, mailbox, refs[middle:], looked)
    else:
        looked.rows |= {row.ref: row for row in found if row is not None}


async def _tells_of_another(access: Access, mailbox: Mailbox, refs: Sequence[str]) -> bool:
    other = await access.read(_known, refs)
    try:
        return bool(other) and await mailbox.envelopes(other) is not None
    except PostroomError:
        return False


def _known(connection: sqlite3.Connection, besides: Sequence[str]) -> list[str]:
    """The ref of the latest message that is here, and none of these."""
    rows = connection.execute("SELECT ref FROM mail ORDER BY id DESC LIMIT ?", (len(besides) + 1,))
    return [ref for (ref,) in rows if ref not in besides][:1]
