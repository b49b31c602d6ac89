"""Threads without server support: messages that name each other in Message-ID, In-Reply-To and References.

THREAD covers one folder only, and a conversation is in at least two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope
from postroom.providers.imap.flavours.criteria import searchable
from postroom.providers.imap.flavours.flavour import identities
from postroom.providers.imap.mail import reading
from postroom.providers.imap.session.client import Session

UNDATED = datetime.max.replace(tzinfo=UTC)  # last in its thread

MAX_IDS = 60  # asked for at once
MAX_ROUNDS = 4  # each round finds answers to the messages of the last


def related(session: Session, folder: Folder, ids: Iterable[str]) -> dict[str, Envelope]:
    """The folder's messages that are one of these or name one, each under its identity across folders.

    A draft in Trash was never sent: it belongs to no conversation.
    """
    keys = _naming(sorted(ids)[:MAX_IDS])
    validity = session.open(folder.ref).validity
    uids = session.search((b"UNDELETED", *keys))
    rows = reading.rows(session, folder.ref, folder.name, validity, uids)
    known = identities(session, uids)
    discarded = {uid for uid, row in rows.items() if row.draft and folder.role == Role.TRASH}
    return {known.get(uid, row.ref): row for uid, row in rows.items() if uid not in discarded}


def with_ids(session: Session, folder: Folder, ids: Sequence[str], first: int = 1) -> list[Envelope]:
    """The folder's messages with one of these ids, from the UID `first` on. Servers match a part of a header, so the
    whole is compared here."""
    wanted = ids[:MAX_IDS]
    validity = session.open(folder.ref).validity
    numbered = (b"UID", b"%d:*" % first) if first > 1 else ()
    uids = session.search((b"UNDELETED", *numbered, *_naming(wanted, fields=(b"MESSAGE-ID",))))
    # A range that ends with * contains the last message, whatever its number (RFC 9051, 6.4.4).
    rows = reading.rows(session, folder.ref, folder.name, validity, [uid for uid in uids if uid >= first])
    return [row for row in rows.values() if row.message_id in wanted]


def _naming(
    ids: Sequence[str], fields: Sequence[bytes] = (b"MESSAGE-ID", b"REFERENCES", b"IN-REPLY-TO")
) -> tuple[bytes, ...]:
    tests = [(b"HEADER", field, searchable(message_id)) for message_id in ids for field in fields]
    keys: tuple[bytes, ...] = tests[-1]
    for test in reversed(tests[:-1]):
        keys = (b"OR", *test, *keys)
    return keys


def links(rows: Iterable[Envelope]) -> set[str]:
    """Every Message-ID these messages have or name."""
    return {
        link
        for row in rows
        for link in (row.message_id, row.in_reply_to, *row.references[:1], *row.references[-5:])
        if link
    }
