"""Threads without a server's help: mails that name each other in Message-ID, In-Reply-To and References.

THREAD would answer for one folder only, and an exchange lies in at least two.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from postroom.model.folder import Folder
from postroom.model.message import Envelope
from postroom.providers.imap.client import Session
from postroom.providers.imap.criteria import searchable
from postroom.providers.imap.reading import envelopes
from postroom.providers.imap.refs import MailRef

UNDATED = datetime.max.replace(tzinfo=UTC)  # last in its thread

MAX_IDS = 60  # asked for at once
MAX_ROUNDS = 4  # each round finds what answers the mails of the last


def related(session: Session, folder: Folder, ids: Iterable[str]) -> dict[str, Envelope]:
    """The folder's mails that are one of these or name one of them."""
    keys = _naming(sorted(ids)[:MAX_IDS])
    validity = session.open(folder.ref).validity
    uids = session.search((b"UNDELETED", *keys))
    refs = [MailRef(folder.ref, validity, uid) for uid in uids]
    return envelopes(session, folder.ref, folder.name, refs) if refs else {}


def _naming(ids: list[str]) -> tuple[bytes, ...]:
    tests = [
        (b"HEADER", field, searchable(message_id))
        for message_id in ids
        for field in (b"MESSAGE-ID", b"REFERENCES", b"IN-REPLY-TO")
    ]
    keys: tuple[bytes, ...] = tests[-1]
    for test in reversed(tests[:-1]):
        keys = (b"OR", *test, *keys)
    return keys


def links(rows: Iterable[Envelope]) -> set[str]:
    """Every Message-ID these mails have or name."""
    return {
        link
        for row in rows
        for link in (row.message_id, row.in_reply_to, *row.references[:1], *row.references[-5:])
        if link
    }
