"""How far a mirror is, and how fresh."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from postroom.mime.clean import clean_line

LAST_ERROR, STARTED = "last_error", "started"
MODE, OWNER = "mode", "owner"  # see `Limits`
CHANGED_AT = "changed_at"  # when something was last changed on the server through us
STALE_AT = "stale_at"  # what the server confirmed up to then no longer counts
# Of a message in a full mirror there is only what a list shows.
IS_BARE = "identity = '' AND NOT EXISTS (SELECT 1 FROM content WHERE content.id = mirrored.id)"


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """`complete`: every message that the server has there is in the index, within the limits of the settings.
    `is_left_out`: it is not mirrored at all, and only the server can answer for it. `refusal`: why the server did not
    let it be read when that was last tried; empty when it did."""

    ref: str
    name: str
    complete: bool
    as_of: datetime | None
    is_left_out: bool
    messages: int
    server_total: int
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """`complete` and `as_of` hold for all folders that are mirrored: the least complete and the least fresh of them.
    `last_error` is why the latest attempt to synchronize failed; empty when it succeeded. `bare`: how many messages
    there are of which a full mirror has only what a list shows: the server does not give them out, or they are too
    large. `owner`: whose mirror the file is, by `owner_of`; empty in one that was never filled."""

    complete: bool
    as_of: datetime | None
    folders: tuple[FolderStatus, ...] = ()
    messages: int = 0
    bytes: int = 0
    last_error: str = ""
    bare: int = 0
    owner: str = ""

    @property
    def refusals(self) -> str:
        """Which folders the server does not let be read, and why. They stay as they are."""
        refused = (one for one in self.folders if one.refusal and not one.is_left_out)
        return " ".join(f"{clean_line(one.name)}: {one.refusal}" for one in refused)

    @property
    def leaves_all_out(self) -> bool:
        return bool(self.folders) and all(one.is_left_out for one in self.folders)

    @property
    def expected(self) -> int:
        """How many it will have: those that it has, and those that are missing in each folder. While a mailbox with
        messages in several folders is filled, that is too many at first, and exact in the end."""
        missing = (max(0, one.server_total - one.messages) for one in self.folders if not one.is_left_out)
        return self.messages + (0 if self.complete else sum(missing))


ABSENT = MirrorStatus(complete=False, as_of=None)


def read_status(connection: sqlite3.Connection, size: int) -> MirrorStatus:
    folders = _folders(connection)
    mirrored = [folder for folder in folders if not folder.is_left_out]
    moments = [folder.as_of for folder in mirrored]
    known = [moment for moment in moments if moment is not None]
    # From counters: a message in several folders is in each of theirs.
    (further,) = connection.execute("SELECT count(*) FROM mail_folder").fetchone()
    return MirrorStatus(
        complete=bool(mirrored) and all(folder.complete for folder in mirrored),
        as_of=min(known) if known and len(known) == len(moments) else None,
        folders=tuple(folders),
        messages=sum(folder.messages for folder in folders) - further,
        bytes=size,
        last_error=fact(connection, LAST_ERROR),
        bare=_bare(connection) if fact(connection, MODE) == "full" else 0,
        owner=fact(connection, OWNER),
    )


def _bare(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM mirrored WHERE {IS_BARE}").fetchone()  # noqa: S608
    return int(count)


def _folders(connection: sqlite3.Connection) -> list[FolderStatus]:
    rows = connection.execute(
        "SELECT ref, name, is_filled, as_of, is_left_out, total, server_total, refusal"
        " FROM folder JOIN mirrored_folder ON mirrored_folder.number = folder.id ORDER BY folder.id"
    )
    return [
        FolderStatus(ref, name, bool(is_filled), _moment(as_of), bool(left_out), *rest)
        for ref, name, is_filled, as_of, left_out, *rest in rows
    ]


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def note_answer(connection: sqlite3.Connection, asked_at: float) -> None:
    """Before what the server said is written: it does not count where something was changed through us since it was
    asked, and may have undone that here."""
    if was_changed_since(connection, asked_at):
        changed_at = float(fact(connection, CHANGED_AT))
        moment = repr(min(changed_at, time.time()))  # later than now: the clock was set back since
        note_fact(connection, CHANGED_AT, moment)
        note_fact(connection, STALE_AT, moment)


def was_changed_since(connection: sqlite3.Connection, moment: float) -> bool:
    """Through us."""
    changed_at = float(fact(connection, CHANGED_AT) or 0)
    return bool(changed_at) and moment <= changed_at


def fact(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
    return "" if row is None else str(row[0])


def note_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)", (name, value))
