"""New messages: sample, import, delivery and drafts are all added here."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Sequence

from postroom.index import folders, labels, writing
from postroom.model.folder import Folder, check_folder_name, match_folder
from postroom.providers.local import contents
from postroom.providers.local.convert import NewMail, Prepared, filed


def add_block(connection: sqlite3.Connection, block: Sequence[Prepared], *, skip_known: bool = False) -> list[str]:
    """The new refs in order; with `skip_known` an empty one for a message whose exact bytes are already stored."""
    places = _places(connection, [prepared.mail for prepared in block])
    refs, entries = [], []
    for prepared in block:
        if skip_known and contents.is_kept(connection, prepared.packed):
            refs.append("")
            continue
        refs.append(contents.keep(connection, prepared.packed))
        entries.append(filed(prepared, refs[-1], places[prepared.mail.folder]))
    writing.add(connection, entries)
    return refs


def add_to_empty(connection: sqlite3.Connection, block: Sequence[Prepared]) -> list[str]:
    """Adds nothing to a mailbox with messages: of two processes that fill a new mailbox, only one does."""
    is_filled = connection.execute("SELECT 1 FROM raw LIMIT 1").fetchone()
    return [] if is_filled else add_block(connection, block)


def add_one(connection: sqlite3.Connection, prepared: Prepared, *, thread_ref: str = "") -> str:
    place = _places(connection, [prepared.mail])[prepared.mail.folder]
    ref = contents.keep(connection, prepared.packed)
    writing.add(connection, [filed(prepared, ref, place, thread_ref=thread_ref)])
    return ref


def make_folder(connection: sqlite3.Connection, name: str) -> Folder:
    """Missing parents are created too."""
    name = unicodedata.normalize("NFC", name)
    check_folder_name(name)
    known = {folder.name.casefold() for folder in folders.list_folders(connection)}
    levels = name.split("/")
    for depth in range(1, len(levels)):
        parent = "/".join(levels[:depth])
        if parent.casefold() not in known:
            folders.add_folder(connection, parent)
    return folders.add_folder(connection, name)


def _places(connection: sqlite3.Connection, mails: Sequence[NewMail]) -> dict[str, Folder]:
    """The folders the messages ask for. Names are checked before anything is written."""
    for label in {label for mail in mails for label in mail.labels}:
        labels.check_label_name(label)
    places: dict[str, Folder] = {}
    for name in dict.fromkeys(mail.folder for mail in mails):
        found = match_folder(folders.list_folders(connection), unicodedata.normalize("NFC", name))
        places[name] = found or make_folder(connection, name)
    return places
