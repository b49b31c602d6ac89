"""The folders of a mirror, compared with those the server has: new, renamed, numbered anew, gone."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from postroom.model.changes import FolderState
from postroom.model.folder import Folder, match_folder
from postroom.sync.tables.changing import remove, rename

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """A mirrored folder. The columns are explained in `schema`."""

    number: int
    ref: str
    name: str
    identity: str
    epoch: str
    cursor: str
    low: int | None
    is_filled: bool
    as_of: float | None
    is_left_out: bool
    is_gone: bool
    refusal: str
    role: str | None

    @property
    def since(self) -> FolderState:
        return FolderState(Folder(self.ref, self.name), self.epoch, self.cursor, self.identity)

    def is_as(self, state: FolderState) -> bool:
        """Whether everything that is kept of the folder itself is as the server has it."""
        folder = state.folder
        here = (self.ref, self.name, self.role, self.identity, self.is_gone)
        return here == (folder.ref, folder.name, folder.role, state.identity, False)


_COLUMNS = """number, ref, name, identity, epoch, cursor, low, is_filled, as_of, is_left_out, is_gone, refusal, role"""


def places(connection: sqlite3.Connection) -> list[Place]:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM folder JOIN mirrored_folder ON number = folder.id ORDER BY number"  # noqa: S608
    )
    return [Place(*row) for row in rows]


RefOf = Callable[[str, str, int], str]  # folder ref, epoch, number within it


def take_over(
    connection: sqlite3.Connection, states: Sequence[FolderState], leave_out: Collection[str], ref_of: RefOf
) -> None:
    """The server's folders. What was in one that is gone stays until `remove_gone`: it may have been moved. One whose
    state was not told stays as it is, and is not begun: perhaps nobody may read it. One with a refusal is known of."""
    known = places(connection)
    pairs = _paired(known, states)
    changed = [(place, state) for place, state in pairs if not place.is_as(state)]
    there = {place.number for place, _ in pairs}
    told = [state for state in states if state.epoch]
    named = [state for state in states if state.epoch or state.refusal]
    new = {state.folder.ref for state in named} - {state.folder.ref for _, state in pairs}
    gone = [place for place in known if place.number not in there]
    if changed or new or gone:
        _put_aside(connection, [*gone, *(place for place, _ in changed)])
        for place, state in changed:
            _write(connection, place, state, ref_of)
        for state in named:
            if state.folder.ref in new:
                _create(connection, state)
        for place in gone:  # shown as before until it is removed, unless another has its name by now
            connection.execute(
                "UPDATE OR IGNORE folder SET name = ?, ref = ? WHERE id = ?", (place.name, place.ref, place.number)
            )
    connection.executemany(
        "UPDATE mirrored_folder SET server_total = ? WHERE number = (SELECT id FROM folder WHERE ref = ?)",
        [(state.folder.total or 0, state.folder.ref) for state in told],
    )
    _leave_out(connection, [state.folder for state in states], leave_out)


def has_passed_on_a_name(before: Sequence[Place], now: Sequence[Place]) -> bool:
    """Whether a folder has the name that another one had, which is still there under another name."""
    there = {place.ref for place in now if not place.is_gone}
    owners = {place.name: place.ref for place in before if place.ref in there}
    return any(owners.get(place.name, place.ref) != place.ref for place in now if not place.is_gone)


def _paired(known: Sequence[Place], states: Sequence[FolderState]) -> list[tuple[Place, FolderState]]:
    """By ref and epoch, or by ref alone where the server did not tell the epoch; then by what stays the same when a
    folder is renamed: its id, or its epoch where it has none; then by ref alone, numbered anew.

    An epoch tells only where no other folder has it, now or before: a server may begin each folder with the same one,
    and then a new folder would be taken for one that was deleted, and its messages for those.
    """
    epochs = Counter(place.epoch for place in known), Counter(state.epoch for state in states)
    left = {place.number: place for place in known}
    open_states = {state.folder.ref: state for state in states}
    pairs: list[tuple[Place, FolderState]] = []

    def pair(of_place: Callable[[Place], str | None], of_state: Callable[[FolderState], str | None]) -> None:
        """Those with the same key, unless two have it."""
        places, wanted = _by_key(left.values(), of_place), _by_key(open_states.values(), of_state)
        for key, (place, *others) in places.items():
            if key is not None and not others and len(found := wanted.get(key, [])) == 1:
                pairs.append((place, found[0]))
                del left[place.number], open_states[found[0].folder.ref]

    def telling(epoch: str, identity: str) -> str | None:
        is_one = all(count[epoch] == 1 for count in epochs)
        return epoch if is_one and not identity and epoch not in ("", "0") else None

    def is_same(place: Place) -> bool:
        epoch = now.get(place.ref)
        return not epoch or place.epoch in ("", epoch)

    now = {state.folder.ref: state.epoch for state in states}
    pair(lambda place: place.ref if is_same(place) else None, lambda state: state.folder.ref)
    pair(lambda place: place.identity or None, lambda state: state.identity or None)
    pair(lambda place: telling(place.epoch, place.identity), lambda state: telling(state.epoch, state.identity))
    pair(lambda place: place.ref, lambda state: state.folder.ref)
    return pairs


def _by_key(values: Iterable[T], key: Callable[[T], str | None]) -> dict[str | None, list[T]]:
    found: dict[str | None, list[T]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found


def _put_aside(connection: sqlite3.Connection, moving: Iterable[Place]) -> None:
    """Under names and refs that no folder on a server has: two folders may have exchanged theirs."""
    for place in moving:
        aside = f"\x01{place.number}"
        connection.execute("UPDATE folder SET name = ?, ref = ? WHERE id = ?", (aside, aside, place.number))
        connection.execute("UPDATE mirrored_folder SET is_gone = 1 WHERE number = ?", (place.number,))


def _write(connection: sqlite3.Connection, place: Place, state: FolderState, ref_of: RefOf) -> None:
    folder = state.folder
    connection.execute(
        "UPDATE folder SET ref = ?, name = ?, role = ? WHERE id = ?",
        (folder.ref, folder.name, folder.role, place.number),
    )
    connection.execute(
        "UPDATE mirrored_folder SET identity = ?, is_gone = 0 WHERE number = ?", (state.identity, place.number)
    )
    if folder.ref != place.ref:
        rows = connection.execute("SELECT ref, number FROM mirrored WHERE folder = ?", (place.number,)).fetchall()
        rename(connection, {ref: ref_of(folder.ref, place.epoch, number) for ref, number in rows})
        connection.execute("UPDATE mirrored_folder SET cursor = '' WHERE number = ?", (place.number,))


def _create(connection: sqlite3.Connection, state: FolderState) -> None:
    folder = state.folder
    row = connection.execute(
        "INSERT INTO folder (ref, name, role) VALUES (?, ?, ?)", (folder.ref, folder.name, folder.role)
    )
    connection.execute(
        "INSERT INTO mirrored_folder (number, identity, epoch, server_total) VALUES (?, ?, ?, ?)",
        (row.lastrowid, state.identity, state.epoch, folder.total or 0),
    )


def _leave_out(connection: sqlite3.Connection, folders: list[Folder], names: Collection[str]) -> None:
    refs = [found.ref for name in names if (found := match_folder(folders, name)) is not None]
    for place in places(connection):
        if place.is_left_out != (place.ref in refs):
            connection.execute(
                "UPDATE mirrored_folder SET is_left_out = ?, low = NULL, is_filled = 0, cursor = '', as_of = NULL,"
                " refusal = '', refused_at = NULL WHERE number = ?",
                (place.ref in refs, place.number),
            )


def remove_gone(connection: sqlite3.Connection, now: float) -> None:
    """Folders that the server no longer has or the settings leave out, with what is still in them."""
    for place in places(connection):
        if place.is_left_out or place.is_gone:
            refs = [ref for (ref,) in connection.execute("SELECT ref FROM mirrored WHERE folder = ?", (place.number,))]
            remove(connection, refs, now, seen_at=place.as_of)
        if place.is_gone:
            connection.execute("DELETE FROM folder WHERE id = ?", (place.number,))
            connection.execute("DELETE FROM mirrored_folder WHERE number = ?", (place.number,))
