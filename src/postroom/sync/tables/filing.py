"""Where messages are whose labels are folders (see `labelling`), after they were moved or labelled through us: what the
next synchronization would find. Each function is part of its caller's transaction; False: only the server can tell."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from postroom.index import placing, writing
from postroom.index.labels import MAX_NAME
from postroom.model.folder import Role
from postroom.sync.tables import labelling

_DISCARDED = (Role.TRASH, Role.JUNK)
_SENT_OR_DRAFTS = (Role.SENT, Role.DRAFTS)  # nothing leaves these
_SHOWN_FIRST = (*_DISCARDED, Role.DRAFTS, Role.INBOX, Role.SENT)  # then labels, by name


@dataclass(frozen=True, slots=True)
class _Folder:
    ref: str
    name: str
    role: str | None


def file(connection: sqlite3.Connection, refs: Sequence[str]) -> bool:
    """Into the folders of their labels besides those that they are in for another reason; into the archive if they are
    in no other. In Trash and Junk they are there alone."""
    if not labelling.are_folders(connection):
        return True
    folders = _mirrored(connection)
    is_known = True
    for ref, (key, _) in writing.found_rows(connection, refs).items():
        wanted = _wanted(connection, key, folders)
        is_known = is_known and wanted is not None
        if wanted:
            placing.put(connection, [ref], wanted)
    return is_known


def move(connection: sqlite3.Connection, refs: Sequence[str], folder_ref: str) -> bool:
    """Out of the folder in which each is shown: where that is a label, the message loses it."""
    folders = {folder.ref: folder for folder in _mirrored(connection)}
    target = folders.get(folder_ref)
    if target is not None and len(target.name) > MAX_NAME:
        return False
    is_known = target is not None
    for ref, (key, _) in writing.found_rows(connection, refs).items():
        shown = folders.get(_lies_in(connection, key)[0])
        if target is None or shown is None or shown == target or shown.role in _DISCARDED:
            is_known = is_known and shown == target  # what else it has, which did not show there, is not known
            continue
        placing.move(connection, [ref], folder_ref)
        if shown.role in _SENT_OR_DRAFTS and target.role not in _DISCARDED:
            placing.put(connection, [ref], [*_lies_in(connection, key), shown.ref])
        if shown.role is None:
            writing.remove_label(connection, [ref], shown.name)
        if target.role is None:
            writing.apply_label(connection, [ref], target.name)
    return file(connection, refs) and is_known


def _mirrored(connection: sqlite3.Connection) -> list[_Folder]:
    rows = connection.execute(
        "SELECT ref, name, role FROM folder JOIN mirrored_folder ON number = folder.id"
        " WHERE NOT is_left_out AND NOT is_gone"
    )
    return [_Folder(*row) for row in rows]


def _lies_in(connection: sqlite3.Connection, key: int) -> list[str]:
    """Refs, that of the folder in which it is shown first."""
    rows = connection.execute(
        "SELECT ref FROM folder JOIN (SELECT folder, 0 AS place FROM mail WHERE id = ?1"
        " UNION ALL SELECT folder, 1 FROM mail_folder WHERE mail = ?1) ON folder = folder.id ORDER BY place",
        (key,),
    )
    return [ref for (ref,) in rows]


def _wanted(connection: sqlite3.Connection, key: int, folders: Sequence[_Folder]) -> list[str] | None:
    """None where a folder that it is in now is not mirrored."""
    here = set(_lies_in(connection, key))
    fixed = [one.ref for role in _SHOWN_FIRST for one in folders if one.role == role and one.ref in here]
    if any(one.role in _DISCARDED for one in folders if one.ref in fixed):
        return fixed[:1]
    labels = labelling.labels_of(connection, key)
    own = sorted(
        (one for one in folders if one.role is None and one.name in labels), key=lambda one: one.name.casefold()
    )
    if len(own) < len(labels):
        return None
    archive = [one.ref for one in folders if one.role == Role.ARCHIVE]
    return [*fixed, *(one.ref for one in own)] or archive or None
