"""The few messages that came while a connection was listening: fetched by that connection, which has them before its
eyes. To any other their folder is news: Dovecot 2.3 reads a Maildir of 200,000 files once more for it."""

from __future__ import annotations

from postroom.model.changes import BulkMail
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.sync.bulk import Measured, measure_items, measured, received

_FEW, _FEW_BYTES = 20, 4 * 1024 * 1024


def arrivals(session: Session, since: int, max_bytes: int) -> tuple[int, list[BulkMail]]:
    """The next UID, and the messages of the open folder from UID `since` on; none where they are many, or one is larger
    than what is read of one."""
    items, _ = session.fetch_range(f"{since}:*", measure_items(session))  # the last message is always in such a range
    new = [uid for uid in items if uid >= since]
    shown = [mail for uid in new if (mail := measured(uid, items[uid])) is not None]
    sizes = [mail.size for mail in shown]
    if not shown or len(shown) > _FEW or sum(sizes) > _FEW_BYTES or max(sizes) > max_bytes:
        return max(new, default=since - 1) + 1, []
    bodies = session.fetch([mail.uid for mail in shown], f"UID BODY.PEEK[]<0.{max_bytes}>")
    return max(new) + 1, [_mail(session, mail, bodies[mail.uid], max_bytes) for mail in shown if mail.uid in bodies]


def _mail(session: Session, mail: Measured, item: wire.Item, max_bytes: int) -> BulkMail:
    folder, validity = (session.opened.folder, session.opened.validity) if session.opened is not None else ("", 0)
    return received(mail, item, str(MailRef(folder, validity, mail.uid)), folder, max_bytes)
