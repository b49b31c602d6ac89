"""What was changed on the server through us, shown in the mirror at once. Each function is part of its caller's
transaction. Messages that the mirror does not have are skipped, and make it stale: they may be on their way into it as
they were before."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any

from postroom.index import placing, writing
from postroom.index.labels import MAX_NAME
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag
from postroom.sync.file.status import CHANGED_AT, STALE_AT, note_fact
from postroom.sync.tables import changing, filing, labelling


def changed(connection: sqlite3.Connection, change: Callable[..., None], *args: Any) -> None:
    """Every change goes through here: whoever asked the server before it does not know of it."""
    change(connection, *args)
    note_fact(connection, CHANGED_AT, repr(time.time()))


def flags(connection: sqlite3.Connection, refs: Sequence[str], claims: Sequence[Flag]) -> None:
    writing.set_flags(connection, refs, claims)
    _stale_without(connection, refs)


def labelled(connection: sqlite3.Connection, refs: Sequence[str], label: str, is_on: bool) -> None:
    if len(label) > MAX_NAME:  # at Gmail there are such
        stale(connection)
        return
    change = writing.apply_label if is_on else writing.remove_label
    change(connection, refs, label)
    _stale_unless(connection, filing.file(connection, refs))
    _stale_without(connection, refs)


def put_into(connection: sqlite3.Connection, refs: Sequence[str], folder_refs: Sequence[str]) -> None:
    """Where labels are folders, a message also stays where nobody may take it from; and of what the server did not
    change it reports nothing, so that a guess would stay."""
    if labelling.are_folders(connection):
        stale(connection)
        return
    placing.put(connection, refs, folder_refs)
    _stale_in_several(connection, refs)
    _stale_without(connection, refs)


def moved(
    connection: sqlite3.Connection, results: Sequence[tuple[ItemResult, int]], folder_ref: str, now: float
) -> None:
    """With the number that each has in its new folder. Where a server does not tell the new ref, only a
    synchronization finds the message again."""
    refs = [result.ref for result, _ in results]
    _stale_without(connection, refs)
    here = changing.known(connection, refs)
    for result, number in results:
        if result.new_ref and result.ref in here:
            changing.move(connection, result.ref, result.new_ref, folder_ref, number=number, now=now)
    stayed = [result.ref for result, _ in results if not result.new_ref and result.ref in here]
    if stayed and _is_numbered(connection, stayed[0]):
        stale(connection)
    elif stayed and labelling.are_folders(connection):
        _stale_unless(connection, filing.move(connection, stayed, folder_ref))
    elif stayed:
        placing.move(connection, stayed, folder_ref)
        _stale_in_several(connection, stayed)


def gone(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    """Messages that the server no longer has. Of one that the mirror does not have either, nothing is to be learned."""
    if changing.known(connection, refs):
        stale(connection)


def stale(connection: sqlite3.Connection) -> None:
    """Something changed that only the server can tell: the next read asks."""
    note_fact(connection, STALE_AT, repr(time.time()))


def _stale_unless(connection: sqlite3.Connection, is_known: bool) -> None:
    if not is_known:
        stale(connection)


def _stale_without(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    if len(changing.known(connection, refs)) < len(set(refs)):
        stale(connection)


def _stale_in_several(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    """In which of its folders a message is shown, and so which one it leaves next, is the server's to say."""
    keys = [(key,) for key, _ in writing.found_rows(connection, refs).values()]
    if any(connection.execute("SELECT 1 FROM mail_folder WHERE mail = ?", key).fetchone() for key in keys):
        stale(connection)


def _is_numbered(connection: sqlite3.Connection, ref: str) -> bool:
    (number,) = connection.execute("SELECT number FROM mirrored WHERE ref = ?", (ref,)).fetchone()
    return bool(number)
