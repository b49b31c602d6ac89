"""Flags, labels and moving: one folder's messages at a time, one result per message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from postroom.model.errors import Conflict, NotFound, PostroomError, Unsupported
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag
from postroom.providers.imap.flavours.criteria import searchable
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.folders.listing import delete_folder, list_folders
from postroom.providers.imap.mail.convert import as_bytes, read_flags
from postroom.providers.imap.mail.refs import MailRef, gone, uids_of
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.failures import CONNECTION_LOST, lost
from postroom.providers.imap.session.opened import Opened
from postroom.providers.imap.session.uid_sets import chunks

FORWARDED = "$Forwarded"  # RFC 5788

Results = dict[str, ItemResult]

_MOVED_AT_ONCE = 1000  # a move out of a large folder takes a server seconds, however many are moved

# claim -> (STORE's sign, system flag)
_CLAIMS: dict[Flag, tuple[str, str]] = {
    "read": ("+FLAGS", "\\Seen"),
    "unread": ("-FLAGS", "\\Seen"),
    "starred": ("+FLAGS", "\\Flagged"),
    "unstarred": ("-FLAGS", "\\Flagged"),
    "answered": ("+FLAGS", "\\Answered"),
    "forwarded": ("+FLAGS", FORWARDED),
    "draft": ("+FLAGS", "\\Draft"),
}


def claim_flags(session: Session, folder: str, refs: Sequence[MailRef], claims: Sequence[Flag]) -> Results:
    if "forwarded" in claims and not _takes(session.open(folder, write=True), FORWARDED):
        raise Unsupported("imap", "forwarded flag")
    changes = [_CLAIMS[claim] for claim in claims]

    def store(uids: Sequence[int]) -> None:
        for change, flag in changes:
            session.store(uids, change, [flag])

    return _changed(session, folder, refs, store)


def _takes(opened: Opened, keyword: str) -> bool:
    return opened.takes_keywords or keyword.lower() in (known.lower() for known in opened.keywords)


def set_label(session: Session, folder: str, refs: Sequence[MailRef], label: str, wanted: bool) -> Results:
    change = flavour_of(session).set_label
    return _changed(session, folder, refs, lambda uids: change(session, uids, label, wanted))


def forget_label(session: Session, label: str) -> None:
    """Where labels are folders, the empty one; one that is used, or has others below it, stays. A keyword is on no
    list, and a folder of that name has nothing to do with it."""
    if not flavour_of(session).label_item:
        return
    folder = next((one for one in list_folders(session, counted=False) if one.name == label), None)
    if folder is not None and folder.role is None:
        with suppress(Conflict, NotFound):
            delete_folder(session, folder.ref)


def _changed(
    session: Session, folder: str, refs: Sequence[MailRef], change: Callable[[Sequence[int]], None]
) -> Results:
    there = _present(session, folder, refs)
    results: Results = {}
    for chunk in chunks(sorted(there)):
        error: PostroomError | None = None
        try:
            change(chunk)
        except PostroomError as refusal:
            error = refusal
        results.update((str(there[uid]), ItemResult(str(there[uid]), error)) for uid in chunk)
    return _answered(refs, results)


def _present(session: Session, folder: str, refs: Sequence[MailRef]) -> dict[int, MailRef]:
    """The messages that still exist, by UID; the folder is open for writing."""
    try:
        opened = session.open(folder, write=True)
    except NotFound:
        return {}
    wanted = {ref.uid: ref for ref in refs}
    items = session.fetch(uids_of(refs, opened.validity), "UID FLAGS")
    return {
        uid: wanted[uid]
        for uid, item in items.items()
        if "\\deleted" not in (flag.lower() for flag in read_flags(item))
    }


def _answered(refs: Sequence[MailRef], results: Results) -> Results:
    return {str(ref): results.get(str(ref)) or ItemResult(str(ref), gone()) for ref in refs}


def move(session: Session, folder: str, refs: Sequence[MailRef], target: str) -> Results:
    """To another folder. A chunk is moved whole or not at all; chunks before a failure are reported as moved. Where the
    connection breaks during a later one, of that alone it is unclear, and those after it were not begun."""
    there = _present(session, folder, refs)
    ids = {} if session.has("UIDPLUS") else _message_ids(session, sorted(there))
    new: dict[int, str] = {}
    failed: dict[int, PostroomError] = {}
    done: set[int] = set()
    # A server that names what it moved did not find the rest. Where folders are labels, one may have been there before.
    names_all = not flavour_of(session).label_item
    for chunk in chunks(sorted(there), _MOVED_AT_ONCE):
        try:
            moved = _moved(session, chunk, target)
            new.update(moved)
            failed.update({uid: gone() for uid in chunk if moved and uid not in moved and names_all})
        except PostroomError as refusal:
            failed.update(dict.fromkeys(chunk, refusal))
        except CONNECTION_LOST as error:
            if not done:
                raise
            failed |= dict.fromkeys(there.keys() - done, lost(error, unclear=False))
            failed |= dict.fromkeys(chunk, lost(error, unclear=True))
            session.abort()
            break
        done.update(chunk)
    # Only now: opening the target closes the source. Without a connection they are moved all the same.
    unnamed = {uid: ids[uid] for uid in ids if uid not in failed and uid not in new}
    try:
        new.update(_found_again(session, target, unnamed))
    except (*CONNECTION_LOST, PostroomError):
        session.abort()
    results = {str(ref): ItemResult(str(ref), failed.get(uid), new.get(uid, "")) for uid, ref in there.items()}
    return _answered(refs, results)


def stay(session: Session, folder: str, refs: Sequence[MailRef]) -> Results:
    """Moving a message to where it is: ok, if it exists."""
    return _changed(session, folder, refs, lambda _: None)


def _moved(session: Session, uids: Sequence[int], target: str) -> dict[int, str]:
    """old UID -> new ref, as far as the server reports it."""
    if session.has("MOVE"):
        validity, pairs = session.move(uids, target)
    else:
        validity, pairs = session.copy(uids, target)
        remove(session, uids)
    return {old: str(MailRef(target, validity, new)) for old, new in pairs.items()}


def remove(session: Session, uids: Sequence[int]) -> None:
    """Remove exactly these messages from the open folder.

    Without UIDPLUS they are only marked: a plain EXPUNGE would also remove what other programs have marked. Marked
    messages are never shown again.
    """
    session.store(uids, "+FLAGS", ["\\Deleted"])
    if session.has("UIDPLUS"):
        session.expunge(uids)


def _message_ids(session: Session, uids: Sequence[int]) -> dict[int, str]:
    items = session.fetch(uids, "UID BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]")
    values = {uid: as_bytes(item.get("HEADERS")).decode("ascii", "replace") for uid, item in items.items()}
    return {uid: value.partition(":")[2].strip() for uid, value in values.items() if value.strip()}


def _found_again(session: Session, target: str, ids: dict[int, str]) -> dict[int, str]:
    """For servers that do not report it: the message with the same Message-ID. Of several it is not known which one it
    is, and a wrong one would later be moved back to where only the right one was."""
    found: dict[int, str] = {}
    for uid, message_id in ids.items():
        candidates = _with_id(session, target, message_id)
        if len(candidates) == 1:
            found[uid] = str(candidates[0])
    return found


def newest_with_id(session: Session, folder: str, message_id: str) -> MailRef | None:
    return next(reversed(_with_id(session, folder, message_id)), None)


def _with_id(session: Session, folder: str, message_id: str) -> list[MailRef]:
    validity = session.open(folder).validity
    uids = session.search((b"UNDELETED", b"HEADER", b"MESSAGE-ID", searchable(message_id)))
    return [MailRef(folder, validity, uid) for uid in uids]
