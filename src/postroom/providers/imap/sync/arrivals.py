"""The few messages that came while a connection was listening: fetched by that connection, which has them before its
eyes. To any other their folder is news: Dovecot 2.3 reads a Maildir of 200,000 files once more for it."""

from __future__ import annotations

from postroom.model.changes import BulkMail, Marks
from postroom.providers.imap.mail.convert import as_bytes
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.sync.changes import identity_item, identity_of, marks_of

_FEW, _FEW_BYTES = 20, 4 * 1024 * 1024


def arrivals(session: Session, since: int, max_bytes: int) -> tuple[int, list[BulkMail]]:
    """The next UID, and the messages of the open folder from UID `since` on; none where they are many."""
    wanted = f"UID FLAGS RFC822.SIZE INTERNALDATE {identity_item(session)}".rstrip()
    items, _ = session.fetch_range(f"{since}:*", wanted)  # the last message is always part of such a range
    new = {uid: item for uid, item in items.items() if uid >= since}
    shown = {uid: (item, marks) for uid, item in new.items() if (marks := marks_of(item)) is not None}
    size = sum(min(max_bytes, _size(item)) for item, _ in shown.values())
    if not shown or len(shown) > _FEW or size > _FEW_BYTES:
        return max(new, default=since - 1) + 1, []
    bodies = session.fetch(shown, f"UID BODY.PEEK[]<0.{max_bytes}>")
    there = [(uid, *shown[uid], as_bytes(bodies[uid].get("BODY[]"))) for uid in shown if uid in bodies]
    return max(new) + 1, [_mail(session, *one) for one in there]


def _mail(session: Session, uid: int, item: wire.Item, marks: Marks, raw: bytes) -> BulkMail:
    folder, validity = (session.opened.folder, session.opened.validity) if session.opened is not None else ("", 0)
    ref = str(MailRef(folder, validity, uid))
    arrived = wire.read_internal_date(item.get("INTERNALDATE"))
    return BulkMail(uid, ref, identity_of(item), raw, _size(item), arrived, marks, folder)


def _size(item: wire.Item) -> int:
    return wire.number(item.get("RFC822.SIZE"))
