"""New mails: sample, import, delivery and drafts all come in through here."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Sequence

from postroom.index import folders, labels, writing
from postroom.model.folder import Folder, match_folder
from postroom.providers.local import contents
from postroom.providers.local.convert import NewMail, entry_for

BLOCK = 500  # mails of one transaction


def add_block(
    connection: sqlite3.Connection, mails: Sequence[NewMail], *, thread_ref: str = "", skip_known: bool = False
) -> list[str]:
    """The new refs in order; with `skip_known` an empty one for a mail whose very bytes are here already."""
    places = _places(connection, mails)
    refs, entries = [], []
    for mail in mails:
        if skip_known and contents.is_kept(connection, mail.raw):
            refs.append("")
            continue
        refs.append(contents.keep(connection, mail.raw))
        entries.append(entry_for(mail, refs[-1], places[mail.folder], thread_ref=thread_ref))
    writing.add(connection, entries)
    return refs


def make_folder(connection: sqlite3.Connection, name: str) -> Folder:
    """Missing parents are made too."""
    name = unicodedata.normalize("NFC", name)
    folders.check_folder_name(name)
    known = {folder.name.casefold() for folder in folders.list_folders(connection)}
    levels = name.split("/")
    for depth in range(1, len(levels)):
        parent = "/".join(levels[:depth])
        if parent.casefold() not in known:
            folders.add_folder(connection, parent)
    return folders.add_folder(connection, name)


def _places(connection: sqlite3.Connection, mails: Sequence[NewMail]) -> dict[str, Folder]:
    """The folders the mails ask for. Names are checked before anything is written."""
    for label in {label for mail in mails for label in mail.labels}:
        labels.check_label_name(label)
    places: dict[str, Folder] = {}
    for name in dict.fromkeys(mail.folder for mail in mails):
        found = match_folder(folders.list_folders(connection), unicodedata.normalize("NFC", name))
        places[name] = found or make_folder(connection, name)
    return places
