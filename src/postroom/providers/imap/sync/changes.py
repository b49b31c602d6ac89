"""What changed in one folder: by QRESYNC in one command, by CONDSTORE and a list of what is there, or by comparing
everything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from postroom.model.changes import Evidence, FolderChanges, FolderState, Identified, Marks
from postroom.providers.imap.flavours.criteria import dated
from postroom.providers.imap.mail.convert import read_flags
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.client import Keys, Session
from postroom.providers.imap.session.failures import about, unknown_folder
from postroom.providers.imap.session.opened import Opened
from postroom.providers.imap.sync.states import KEPT_OPEN, read_modseq
from postroom.providers.keywords import labels_of

_MARKS = "UID FLAGS"
_ANY = "1:4294967295"  # ``*`` is the highest UID that exists: Cyrus 3.6 reports nothing above it as vanished
_IDENTITY = "UID FLAGS INTERNALDATE"


def newest(session: Session, folder: str, count: int) -> FolderChanges:
    """By their places in the folder, which needs no list of all UIDs. If it grew since it was opened, these are among
    the last of more."""
    opened = session.open(folder)
    first = opened.messages - count + 1
    found = uids_in(session, folder, [b"%d:*" % first if first > 1 else b"ALL"])
    return FolderChanges(str(opened.validity), {}, present=found[-count:])


def folder_changes(
    session: Session, folder: str, epoch: str, since: FolderState | None, oldest: datetime | None = None
) -> FolderChanges:
    if session.has("QRESYNC"):
        session.enable("QRESYNC")
    epoch = str(_refreshed(session, folder, epoch).validity)
    if since is None or since.epoch != epoch:
        return FolderChanges(epoch, {}, present=uids_in(session, folder, _arrived(oldest)))
    modseq = read_modseq(since.cursor)
    if modseq and session.has("QRESYNC"):
        items, gone = session.fetch_range(_ANY, _MARKS, f"CHANGEDSINCE {modseq} VANISHED")
        return FolderChanges(epoch, _marks(items), gone)
    if modseq and session.has("CONDSTORE"):
        items, _ = session.fetch_range("1:*", _MARKS, f"CHANGEDSINCE {modseq}")
        return FolderChanges(epoch, _marks(items), present=uids_in(session, folder, [b"ALL"]))
    items, _ = session.fetch_range("1:*", _MARKS)
    return FolderChanges(epoch, _marks(items), present=list(items))


def uids_in(session: Session, folder: str, keys: Keys) -> list[int]:
    """Of the open folder. Every server understands these keys: where it refuses, it is the folder that it refuses."""
    with about(folder):
        return session.search(keys)


def _arrived(oldest: datetime | None) -> Sequence[bytes]:
    return [b"ALL"] if oldest is None else dated(b"SINCE", oldest, -1).words


def _refreshed(session: Session, folder: str, epoch: str) -> Opened:
    """By its name: a folder that was renamed stays open as what it was. The inbox is kept open (`states`) and has no
    other name, so while it has the same epoch it is the same: Dovecot 2.3 takes half a second to open a Maildir of
    200,000 files again after one was added, and a few milliseconds to refresh it."""
    if folder == KEPT_OPEN and str((opened := session.open(folder)).validity) == epoch:
        return opened
    return session.reopen(folder)


def evidence(session: Session, folder: str, epoch: str) -> dict[int, Evidence]:
    open_at(session, folder, epoch)
    items, _ = session.fetch_range("1:*", "UID RFC822.SIZE INTERNALDATE")
    return {
        uid: Evidence(wire.number(item.get("RFC822.SIZE")), wire.read_internal_date(item.get("INTERNALDATE")))
        for uid, item in items.items()
    }


def _marks(items: dict[int, wire.Item]) -> dict[int, Marks | None]:
    return {uid: marks_of(item) for uid, item in items.items() if "FLAGS" in item}


def marks_of(item: wire.Item) -> Marks | None:
    """None for one that a program marked as deleted: it is not shown any more."""
    return _read(tuple([flag for flag in item.get("FLAGS") or () if isinstance(flag, bytes)]))


@lru_cache(maxsize=4096)
def _read(written: tuple[bytes, ...]) -> Marks | None:
    """The same few combinations recur: one object for each."""
    flags = frozenset(read_flags({"FLAGS": written}))
    low = frozenset(flag.lower() for flag in flags)
    if "\\deleted" in low:
        return None
    return Marks(
        unread="\\seen" not in low,
        starred="\\flagged" in low,
        answered="\\answered" in low,
        forwarded="$forwarded" in low,
        draft="\\draft" in low,
        labels=labels_of(flags),
    )


def identify(session: Session, folder: str, epoch: str, uids: list[int]) -> list[Identified]:
    open_at(session, folder, epoch)
    items = session.fetch(uids, f"{_IDENTITY} {identity_item(session)}".rstrip())
    return [
        Identified(
            uid,
            str(MailRef(folder, int(epoch), uid)),
            identity_of(item),
            wire.read_internal_date(item.get("INTERNALDATE")),
            marks_of(item),
        )
        for uid, item in items.items()
    ]


def open_at(session: Session, folder: str, epoch: str) -> None:
    """The folder open. NotFound where it is gone, or its epoch is over. That says nothing about its messages: it may
    have been renamed, and another have its name, for a moment."""
    if str(session.at(folder).validity) != epoch:
        raise unknown_folder()


def identity_item(session: Session) -> str:
    return "EMAILID" if session.has("OBJECTID") else ""


def identity_of(item: wire.Item) -> str:
    value = item.get("EMAILID")
    return value[0].decode("ascii", "replace") if isinstance(value, list) and value else ""
