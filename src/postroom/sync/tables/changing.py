"""Changing a mirror: messages added, marked, moved and removed. Each function is part of its caller's transaction.

The process that synchronizes uses these, and so does whoever changed something on the server and shows it at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from postroom.index import placing, state, writing
from postroom.index.labels import FORWARDED, make_label
from postroom.index.records import Record
from postroom.index.rows import chunks, marks
from postroom.model.changes import Marks
from postroom.sync.file import spool
from postroom.sync.file.contents import Content, spool_of
from postroom.sync.tables import identity

_FLAGS = ("unread", "starred", "answered", "draft")


class Arrival(NamedTuple):
    """A message to be added. `folder` and `number` are its place where the provider numbers messages; where its bytes
    are kept, they are its `content` or `spooled` at that place."""

    record: Record
    identity: str = ""
    folder: int = 0
    number: int = 0
    content: Content | None = None
    spooled: bytes = b""

    @property
    def size(self) -> int:
        """Bytes in memory, nearly."""
        return len(self.record.texts.body) + (len(self.content.content) if self.content is not None else 0)


def filed(
    arrival: Arrival, folders: Sequence[str], thread_ref: str = "", labels: tuple[str, ...] | None = None
) -> Arrival:
    """In the folders of these names, shown in the first, and with these labels where any are given."""
    record = arrival.record
    wanted = (*folders,), thread_ref, record.labels if labels is None else labels
    if wanted == (record.folders, record.thread_ref, record.labels):
        return arrival
    places, thread, tags = wanted
    return arrival._replace(record=record._replace(folders=places, thread_ref=thread, labels=tags))


def add(connection: sqlite3.Connection, arrivals: Sequence[Arrival], now: float) -> list[str]:
    """The refs of those that are new; others are skipped. One that had disappeared elsewhere gets its handles back."""
    by_ref = {arrival.record.ref: arrival for arrival in arrivals}
    there = known(connection, by_ref)
    new = [arrival for ref, arrival in by_ref.items() if ref not in there]
    writing.add_records(connection, [arrival.record for arrival in new])
    _add_rows(connection, new, now)
    _have_appeared(connection, [(one.identity, one.record.ref) for one in new if one.identity != identity.PENDING])
    if identity.remembers_any(connection):
        identify(connection)
    return [arrival.record.ref for arrival in new]


def _have_appeared(connection: sqlite3.Connection, appeared: Sequence[tuple[str, str]]) -> None:
    identity.set_aside_others(connection, appeared, note_renamed)
    identity.find_again(connection, appeared, note_renamed)


def identify(connection: sqlite3.Connection, most: int = -1) -> bool:
    """Finds out by their bytes who messages are that came in bulk: all of them, or at most so many. False: there were
    none. Most are identified when they are packed; before that only if one disappears, or is remembered."""
    rows = connection.execute(
        "SELECT mirrored.id, ref, place FROM mirrored LEFT JOIN spooled USING (id)"
        " WHERE identity != '' AND identity = ? LIMIT ?",
        (identity.PENDING, most),
    ).fetchall()
    raws = spool.read_each(spool_of(connection), [place or spool.NOWHERE for _, _, place in rows])
    found = [identity.of_all_bytes(raw) if raw else "" for raw in raws]
    note_identified(connection, [(row, ref, own) for (row, ref, _), own in zip(rows, found, strict=True)])
    return bool(rows)


def note_identified(connection: sqlite3.Connection, found: Sequence[tuple[int, str, str]]) -> None:
    """By id in `mirrored` and ref. Empty where the bytes are lost: it is fetched again."""
    connection.executemany("UPDATE mirrored SET identity = ? WHERE id = ?", [(own, row) for row, _, own in found])
    _have_appeared(connection, [(own, ref) for _, ref, own in found])


def put(connection: sqlite3.Connection, arrivals: Sequence[Arrival], now: float) -> list[str]:
    """Like `add`, but in place of what is there under their refs, which is the same message as it was before."""
    before: list[tuple[float, int, str]] = []
    for chunk in chunks([arrival.record.ref for arrival in arrivals]):
        here = f"ref IN ({marks(chunk)})"
        before += connection.execute(f"SELECT added_at, walk, ref FROM mirrored WHERE {here}", chunk).fetchall()  # noqa: S608
    _drop(connection, [ref for _, _, ref in before])
    added = add(connection, arrivals, now)
    connection.executemany("UPDATE mirrored SET added_at = ?, walk = ? WHERE ref = ?", before)
    return added


def _add_rows(connection: sqlite3.Connection, arrivals: Sequence[Arrival], now: float) -> None:
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM mirrored").fetchone()
    numbered = list(enumerate(arrivals, last + 1))
    connection.executemany(
        "INSERT INTO mirrored (id, ref, folder, number, identity, added_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(row, one.record.ref, one.folder, one.number, one.identity, now) for row, one in numbered],
    )
    connection.executemany(
        "INSERT INTO content (id, form, content) VALUES (?, ?, ?)",
        [(row, one.content.form, one.content.content) for row, one in numbered if one.content is not None],
    )
    connection.executemany(
        "INSERT INTO spooled (id, place) VALUES (?, ?)", [(row, one.spooled) for row, one in numbered if one.spooled]
    )


def known(connection: sqlite3.Connection, refs: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for chunk in chunks(refs):
        rows = connection.execute(f"SELECT ref FROM mirrored WHERE ref IN ({marks(chunk)})", chunk)  # noqa: S608
        found.update(ref for (ref,) in rows)
    return found


def remove(
    connection: sqlite3.Connection,
    refs: Sequence[str],
    now: float,
    *,
    seen_at: float | None = None,
    leaving: Collection[str] = (),
) -> None:
    """Unknown refs are skipped. A message that appeared elsewhere since `seen_at`, when these were last known to be
    there, was moved: its handles follow. Not to one of those that are `leaving`, which was on its way. Of the others it
    is remembered what they were."""
    if not refs:
        return
    identify(connection)
    gone = identity.describe(connection, refs)
    appeared = identity.Appeared(connection, seen_at, refs, leaving) if seen_at is not None else None
    left = []
    for former in gone:
        if new := appeared.take(former.identity) if appeared is not None else "":
            note_renamed(connection, former.ref, new)
        else:
            left.append(former)
    identity.remember(connection, left, now)
    _drop(connection, [former.ref for former in gone])


def _drop(connection: sqlite3.Connection, refs: Sequence[str]) -> None:
    writing.remove(connection, refs)
    for chunk in chunks(refs):
        here = f"ref IN ({marks(chunk)})"
        for table in ("content", "spooled"):
            connection.execute(f"DELETE FROM {table} WHERE id IN (SELECT id FROM mirrored WHERE {here})", chunk)  # noqa: S608
        connection.execute(f"DELETE FROM mirrored WHERE {here}", chunk)  # noqa: S608


def move(
    connection: sqlite3.Connection, old: str, new: str, folder_ref: str, *, number: int = 0, now: float | None = None
) -> None:
    """A message in another place, where it has another ref; nothing else about it changes. Without `now` it has the
    same place in the order of arrival as before: its folder was numbered anew."""
    placing.put(connection, [old], [folder_ref])
    rename(connection, {old: new})
    connection.execute(
        "UPDATE mirrored SET folder = (SELECT id FROM folder WHERE folder.ref = ?), number = ?,"
        " added_at = coalesce(?, added_at) WHERE ref = ?",
        (folder_ref, number, now, new),
    )


def rename(connection: sqlite3.Connection, renamed: Mapping[str, str]) -> None:
    """Other refs for the same messages. A new ref that is taken was seen there first: the old row goes, and its handles
    follow."""
    taken = known(connection, renamed.values())
    _drop(connection, [old for old, new in renamed.items() if new in taken and old != new])
    for old, new in renamed.items():
        if old == new:
            continue
        if new not in taken:
            connection.execute("UPDATE mail SET thread = ? WHERE ref = ? AND thread = ?", (new, old, old))
            connection.execute("UPDATE mail SET ref = ? WHERE ref = ?", (new, old))
            connection.execute("UPDATE mirrored SET ref = ? WHERE ref = ?", (new, old))
        note_renamed(connection, old, new)


def place_in(connection: sqlite3.Connection, ref: str, folders: Sequence[str]) -> None:
    """Into exactly these folders, by name, shown in the first."""
    names = connection.execute("SELECT name, ref FROM folder").fetchall()
    refs = dict(names)
    wanted = [refs[name] for name in folders if name in refs]
    if wanted:
        placing.put(connection, [ref], wanted)


def note_renamed(connection: sqlite3.Connection, old: str, new: str) -> None:
    connection.execute("INSERT INTO renamed (old, new) VALUES (?, ?)", (old, new))


def set_marks(connection: sqlite3.Connection, wanted: Mapping[str, Marks]) -> int:
    """By ref; unknown ones are skipped. How many were different."""
    changed = 0
    for chunk in chunks(wanted):
        columns = ", ".join(_FLAGS)
        rows = connection.execute(f"SELECT ref, id, {columns} FROM mail WHERE ref IN ({marks(chunk)})", chunk)  # noqa: S608
        found = {ref: (key, flags) for ref, key, *flags in rows.fetchall()}
        labelled = _labels(connection, [key for key, _ in found.values()])
        for ref, (key, flags) in sorted(found.items(), key=lambda item: item[1][0]):
            changed += _mark(connection, key, flags, labelled.get(key, set()), wanted[ref])
    return changed


def _mark(connection: sqlite3.Connection, key: int, flags: Sequence[int], labels: set[int], wanted: Marks) -> bool:
    now = [getattr(wanted, name) for name in _FLAGS]
    names = (*wanted.labels, FORWARDED) if wanted.forwarded else wanted.labels
    numbers = {make_label(connection, name) for name in names}
    if [bool(flag) for flag in flags] == now and labels == numbers:
        return False
    assignments = ", ".join(f"{name} = ?" for name in _FLAGS)
    connection.execute(f"UPDATE mail SET {assignments} WHERE id = ?", (*now, key))  # noqa: S608
    drop, gain = labels - numbers, numbers - labels
    connection.executemany("DELETE FROM mail_label WHERE label = ? AND mail = ?", [(label, key) for label in drop])
    connection.executemany("INSERT INTO mail_label (label, mail) VALUES (?, ?)", [(label, key) for label in gain])
    tokens = [(state.FLAGS[name], bool(was), is_now) for name, was, is_now in zip(_FLAGS, flags, now, strict=True)]
    lost = [token for token, was, is_now in tokens if was and not is_now] + [state.label_token(one) for one in drop]
    added = [token for token, was, is_now in tokens if is_now and not was] + [state.label_token(one) for one in gain]
    state.exchange(connection, [key], drop=" ".join(lost), add=" ".join(added))
    return True


def _labels(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, set[int]]:
    rows = connection.execute(f"SELECT mail, label FROM mail_label WHERE mail IN ({','.join(map(str, keys))})")  # noqa: S608
    found: dict[int, set[int]] = {}
    for mail, label in rows:
        found.setdefault(mail, set()).add(label)
    return found
