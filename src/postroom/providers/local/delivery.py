"""Delivery from one local account to others: each copy exactly once, however often an attempt is repeated."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from postroom.index.rows import envelopes
from postroom.index.writing import remove
from postroom.model.folder import Role
from postroom.model.outcome import SubmitRequest
from postroom.providers.local import contents
from postroom.providers.local.adding import add_one
from postroom.providers.local.convert import NewMail, Prepared, prepare
from postroom.providers.local.drafts import known_thread

SENT_COPY = ""  # the recipient under which the copy in Sent is recorded
DEMO_ANSWER = "answer"  # and the one for the answer in the demo

_BCC = re.compile(rb"^(?:resent-)?bcc[ \t]*:[^\n]*\n?(?:[ \t][^\n]*\n?)*", re.IGNORECASE | re.MULTILINE)
_BLANK_LINE = re.compile(rb"(?:\A|(?<=\n))\r?\n")


def deliver(connection: sqlite3.Connection, attempt_id: str, recipients: Sequence[str], mail: Prepared) -> None:
    """One copy in this mailbox's INBOX, whichever of its addresses it was sent to."""
    if any(delivered(connection, attempt_id, recipient) for recipient in recipients):
        return
    _note(connection, attempt_id, recipients, add_one(connection, mail))


def file_sent(connection: sqlite3.Connection, request: SubmitRequest) -> None:
    """The copy in Sent as it was given, and the draft it came from is removed."""
    if delivered(connection, request.attempt_id, SENT_COPY):
        return
    ref = ""
    if request.save_to_sent:
        mail = prepare(NewMail(request.raw, folder=Role.SENT, flags=("read",)))
        ref = add_one(connection, mail, thread_ref=known_thread(connection, request.thread_ref))
    _note(connection, request.attempt_id, [SENT_COPY], ref)
    _remove_draft(connection, request.draft_ref)


def delivered(connection: sqlite3.Connection, attempt_id: str, recipient: str) -> bool:
    return _noted(connection, attempt_id, recipient) is not None


def sent_copy(connection: sqlite3.Connection, attempt_id: str) -> tuple[str, str]:
    """Its ref and its thread; empty where there is none."""
    ref = _noted(connection, attempt_id, SENT_COPY) or ""
    envelope = envelopes(connection, [ref])[0]
    return (ref, envelope.thread_ref) if envelope else ("", "")


def without_bcc(raw: bytes) -> bytes:
    """Recipients of blind copies are not disclosed."""
    end = _BLANK_LINE.search(raw)
    cut = end.start() if end else len(raw)
    return _BCC.sub(b"", raw[:cut]) + raw[cut:]


def _note(connection: sqlite3.Connection, attempt_id: str, recipients: Sequence[str], ref: str) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO delivery (attempt_id, recipient, ref) VALUES (?, ?, ?)",
        [(attempt_id, recipient, ref) for recipient in recipients],
    )


def _noted(connection: sqlite3.Connection, attempt_id: str, recipient: str) -> str | None:
    row = connection.execute(
        "SELECT ref FROM delivery WHERE attempt_id = ? AND recipient = ?", (attempt_id, recipient)
    ).fetchone()
    return None if row is None else str(row[0])


def _remove_draft(connection: sqlite3.Connection, ref: str) -> None:
    """Only drafts are ever removed; a draft that is already gone is fine."""
    envelope = envelopes(connection, [ref])[0]
    if envelope is not None and envelope.draft:
        remove(connection, [ref])
        contents.discard(connection, ref)
