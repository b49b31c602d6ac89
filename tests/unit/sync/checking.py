"""Whether a mirror is true: compared with everything the server has."""

from __future__ import annotations

from collections.abc import Sequence

from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.second_client import There

from postroom.index.search import search
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.query.tree import Query, Text
from postroom.store.handles import Handles
from postroom.sync.file.contents import raw_of


def same(mirrored: Mirrored, server: dict[str, There], history: Sequence[str] = ()) -> None:
    """The mirror has what the server has, message by message, and finds each by its words."""
    wanted = {ref: one for ref, one in server.items() if "\\Deleted" not in one.flags}
    rows = mirrored.rows()
    assert (rows.keys() - wanted.keys(), wanted.keys() - rows.keys()) == (set(), set()), history
    for ref, one in wanted.items():
        assert _state(rows[ref]) == _state_of(one), (ref, history)
    with mirrored.mirror.snapshot() as connection:
        for key in {one.key for one in wanted.values()}:
            page = search(connection, Query(Text(f"unique{key}word"), anywhere=True), limit=100, offset=0)
            assert {row.ref for row in page.items} == {one.ref for one in wanted.values() if one.key == key}, history
    status = mirrored.mirror.status()
    assert status.complete
    assert {folder.name for folder in status.folders} >= {one.folder for one in server.values()}
    counts = {folder.name: folder.messages for folder in status.folders}
    for name, count in counts.items():
        assert count == sum(one.folder == name for one in wanted.values()), (name, history)


def keeps_the_bytes(mirrored: Mirrored, server: dict[str, There], history: Sequence[str] = ()) -> None:
    """Of every message, in its own file alone."""
    with mirrored.mirror.snapshot() as connection:
        for ref, one in server.items():
            assert "\\Deleted" in one.flags or raw_of(connection, ref) == one.raw, (ref, history)
        assert connection.execute("SELECT count(*) FROM spooled").fetchone() == (0,), history
    assert not mirrored.mirror.spool.exists(), history


def _state(row: Envelope) -> tuple[object, ...]:
    labels = frozenset(row.labels)
    return row.folder, row.unread, row.starred, row.answered, row.forwarded, row.draft, labels, row.size


def _state_of(one: There) -> tuple[object, ...]:
    flags = one.flags
    labels = frozenset(flag for flag in flags if flag[0] not in "\\$")
    return (
        one.folder,
        "\\Seen" not in flags,
        "\\Flagged" in flags,
        "\\Answered" in flags,
        "$Forwarded" in flags,
        "\\Draft" in flags,
        labels,
        len(one.raw),
    )


def handles_lead_there(
    handles: Handles, shown: dict[str, str], server: dict[str, There], alone: set[str], history: Sequence[str] = ()
) -> None:
    """No handle means another message than before. One that was somewhere once, and is now somewhere else once, was
    moved: its handle leads there.

    `shown` is which message each handle was issued for, `alone` which handles led to a message that the server had once
    at the previous look; both are brought up to date. That of a copy that was deleted leads nowhere ever after.
    """
    copies = copies_of(server)
    for handle, key in shown.items():
        ref = handles.resolve(handle, Kind.EMAIL).ref
        assert ref not in server or server[ref].key == key, (handle, ref, history)
        if handle in alone and len(copies.get(key, ())) == 1 and b"Message-ID" in server[copies[key][0]].raw:
            assert ref == copies[key][0] or "\\Deleted" in server[copies[key][0]].flags, (handle, key, history)
    refs = sorted(ref for ref, one in server.items() if "\\Deleted" not in one.flags)
    for ref, handle in zip(refs, handles.issue(Kind.EMAIL, "mine", refs), strict=True):
        assert shown.setdefault(handle, server[ref].key) == server[ref].key, history
    alone.clear()
    alone.update(handle for handle, key in shown.items() if copies.get(key) == [_led_to(handles, handle)])


def _led_to(handles: Handles, handle: str) -> str:
    return handles.resolve(handle, Kind.EMAIL).ref


def copies_of(server: dict[str, There]) -> dict[str, list[str]]:
    copies: dict[str, list[str]] = {}
    for ref, one in server.items():
        copies.setdefault(one.key, []).append(ref)
    return copies
