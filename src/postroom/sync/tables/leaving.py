"""Folders of a mailbox without numbers that are no longer mirrored: what is in them and nowhere else is not kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from postroom.index import placing
from postroom.sync.tables import changing, places


def in_gone_folders(connection: sqlite3.Connection) -> list[str]:
    """The refs of what is in folders that the server no longer has, and was not reported as changed: Gmail need not
    report a message that only lost its label, and it is still there."""
    rows = connection.execute(
        "SELECT ref FROM mail JOIN mirrored_folder ON number = mail.folder AND is_gone"
        " UNION SELECT ref FROM mail JOIN mail_folder ON mail = mail.id"
        " JOIN mirrored_folder ON number = mail_folder.folder AND is_gone"
    )
    return [ref for (ref,) in rows]


def inside(connection: sqlite3.Connection, folder_refs: Iterable[str]) -> list[str]:
    """The refs of what is in these folders."""
    found: list[str] = []
    for folder in folder_refs:
        rows = connection.execute(
            "SELECT mail.ref FROM mail JOIN folder ON folder.id = mail.folder AND folder.ref = ?1"
            " UNION SELECT mail.ref FROM mail JOIN mail_folder ON mail = mail.id"
            " JOIN folder ON folder.id = mail_folder.folder AND folder.ref = ?1",
            (folder,),
        )
        found += [ref for (ref,) in rows]
    return found


def leave_folders(connection: sqlite3.Connection, now: float) -> None:
    """Those that the settings leave out, and those that the server no longer has."""
    all_places = places.places(connection)
    kept = {place.number: place.ref for place in all_places if not (place.is_left_out or place.is_gone)}
    for place in all_places:
        if place.number not in kept:
            _leave(connection, place.number, kept, now)


def _leave(connection: sqlite3.Connection, number: int, kept: dict[int, str], now: float) -> None:
    rows = connection.execute(
        "SELECT ref, id, folder FROM mail WHERE folder = ?1"
        " OR id IN (SELECT mail FROM mail_folder WHERE mail_folder.folder = ?1)",
        (number,),
    ).fetchall()
    gone = []
    for ref, key, shown in rows:
        further = connection.execute("SELECT folder FROM mail_folder WHERE mail = ? ORDER BY folder", (key,))
        elsewhere = [kept[one] for one in (shown, *(folder for (folder,) in further)) if one in kept]
        if elsewhere:
            placing.put(connection, [ref], elsewhere)
        else:
            gone.append(ref)
    changing.remove(connection, gone, now)
