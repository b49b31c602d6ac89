"""Every folder with a cursor that changes when anything in it does. One command where the server has LIST-STATUS and
CONDSTORE; without CONDSTORE no counter shows a changed flag, and cursors are empty."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from postroom.model.changes import FolderChanges, FolderState
from postroom.model.errors import Unsupported
from postroom.model.folder import Folder
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.folders.listing import list_with_status
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.detecting import PROVIDER
from postroom.providers.imap.session.failures import unless_refused

KEPT_OPEN = "INBOX"
_NOTHING = 0, 0, 0
_COUNTS = ("MESSAGES", "UNSEEN", "UIDNEXT", "UIDVALIDITY")


@dataclass(frozen=True, slots=True)
class Cursor:
    """As text: the next UID, the number of messages and the highest modification sequence."""

    next_uid: int
    messages: int
    modseq: int

    def __str__(self) -> str:
        return f"{self.next_uid}/{self.messages}/{self.modseq}" if self.modseq else ""


def read_modseq(cursor: str) -> int:
    """0 where it has none, or was not written here."""
    return _read(cursor)[-1]


def explains(changes: FolderChanges, before: str, now: str, *, kept: int, new: Collection[int]) -> bool:
    """Dovecot counts from 1 again when its index files were removed or repaired, and from where it was when a mailbox
    is restored from a backup, all under the same UIDVALIDITY. By the next look it may have counted on past where it
    was, and other messages may make up for those that are gone."""
    (next_uid, messages, modseq), (next_uid_now, messages_now, modseq_now) = _read(before), _read(now)
    if not modseq:
        return True
    if next_uid > next_uid_now or modseq > modseq_now:
        return False
    came = {uid for uids in (changes.marks, changes.present or ()) for uid in uids if uid >= next_uid}
    there = kept + sum(uid < next_uid_now for uid in new)  # those above came after they were counted
    return messages_now <= messages + len(came) and (changes.present is not None or there <= messages_now)


def _read(cursor: str) -> tuple[int, int, int]:
    parts = cursor.split("/")
    if len(parts) != len(_NOTHING) or not all(part.isascii() and part.isdigit() for part in parts):
        return _NOTHING
    next_uid, messages, modseq = map(int, parts)
    return next_uid, messages, modseq


def folder_states(session: Session) -> list[FolderState]:
    if session.has("X-GM-EXT-1"):
        # One message is in several folders there, with another ref in each; the API has one ref for it.
        raise Unsupported(PROVIDER, 'a mirror of a Gmail account: set provider = "gmail"')
    wanted = [*_COUNTS, *(["HIGHESTMODSEQ"] if session.has("CONDSTORE") else [])]
    # Not MAILBOXID (RFC 8474): Cyrus 3.6 fills it with random bytes here. UIDVALIDITY survives a rename too.
    is_current = _prepare(session)
    collections = flavour_of(session).collections
    listed = list_with_status(session, wanted, is_current=is_current)
    return [_state(*one) for one in listed if one[0].role not in collections]


def _prepare(session: Session) -> bool:
    """With the inbox open where one command tells everything: Dovecot 2.3 has the counts of every other folder at hand,
    but opens the inbox for its own, which takes as long as it has messages. Elsewhere with no folder open, so that
    counts are current. True if they are."""
    if session.has("LIST-STATUS") and session.has("CONDSTORE"):
        if session.has("QRESYNC"):
            session.enable("QRESYNC")  # later it would have to be closed for that
        is_open = session.opened is not None and session.opened.folder == KEPT_OPEN
        with unless_refused():
            session.at(KEPT_OPEN)
            return not is_open
    session.deselect()
    return True


def _state(folder: Folder, status: dict[str, str], refusal: str) -> FolderState:
    numbers = {name: wire.number(value.encode()) for name, value in status.items()}
    cursor = Cursor(numbers.get("UIDNEXT", 0), numbers.get("MESSAGES", 0), numbers.get("HIGHESTMODSEQ", 0))
    return FolderState(folder, str(numbers.get("UIDVALIDITY", 0)) if status else "", str(cursor), refusal=refusal)
