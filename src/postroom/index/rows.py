"""Rows of the table `mail`, to and from envelopes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from postroom.index.labels import FORWARDED
from postroom.index.packing import Damaged
from postroom.index.words import storable
from postroom.model.address import Address
from postroom.model.message import Envelope

ENVELOPE = """mail.ref, mail.thread, (SELECT name FROM folder WHERE folder.id = mail.folder), mail.people, mail.subject,
    mail.date, mail.snippet, mail.unread, mail.starred, mail.answered, mail.draft, mail.has_attachments,
    (SELECT json_group_array(name) FROM (SELECT label.name FROM mail_label JOIN label ON label.id = mail_label.label
        WHERE mail_label.mail = mail.id ORDER BY label.name)),
    mail.size, mail.message_id, mail.in_reply_to, mail.mail_references,
    (SELECT json_group_array(name) FROM (SELECT folder.name FROM mail_folder
        JOIN folder ON folder.id = mail_folder.folder WHERE mail_folder.mail = mail.id ORDER BY folder.id))"""

CHUNK = 500  # bound parameters of one statement


def envelopes_of(rows: Sequence[Sequence[Any]]) -> list[Envelope]:
    """Rows selected as ENVELOPE. The people of all rows are parsed at once: most of the cost is per call."""
    try:
        people = json.loads(f"[{','.join([row[3] for row in rows])}]")
        return [_envelope(row, groups) for row, groups in zip(rows, people, strict=True)]
    except (ValueError, TypeError, LookupError):
        raise Damaged("not what was written") from None


def envelopes(connection: sqlite3.Connection, refs: Sequence[str]) -> list[Envelope | None]:
    """The envelope of each ref, in order; None if there is no such message."""
    found: dict[str, Envelope] = {}
    for chunk in chunks(refs):
        rows = connection.execute(f"SELECT {ENVELOPE} FROM mail WHERE mail.ref IN ({marks(chunk)})", chunk)  # noqa: S608
        found.update((envelope.ref, envelope) for envelope in envelopes_of(rows.fetchall()))
    return [found.get(ref) for ref in refs]


def marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def chunks(refs: Iterable[str]) -> Iterable[list[str]]:
    refs = [storable(ref) for ref in refs]
    return (refs[start : start + CHUNK] for start in range(0, len(refs), CHUNK))


def _envelope(row: Sequence[Any], people: list[list[list[str]]]) -> Envelope:
    sender, to, cc, bcc, reply_to = map(_addresses, people)
    labels = json.loads(row[12]) if row[12] != "[]" else ()
    return Envelope(
        ref=row[0],
        thread_ref=row[1],
        folder=row[2],
        sender=sender[0],
        to=to,
        cc=cc,
        bcc=bcc,
        reply_to=reply_to,
        subject=row[4],
        date=datetime.fromisoformat(row[5]) if row[5] else None,
        snippet=row[6],
        unread=bool(row[7]),
        starred=bool(row[8]),
        answered=bool(row[9]),
        draft=bool(row[10]),
        has_attachments=bool(row[11]),
        forwarded=FORWARDED in labels,
        labels=tuple(label for label in labels if label != FORWARDED),
        size=row[13],
        message_id=row[14],
        in_reply_to=row[15],
        references=tuple(row[16].split("\n")) if row[16] else (),
        other_folders=tuple(json.loads(row[17])) if row[17] != "[]" else (),
    )


def _addresses(pairs: list[list[str]]) -> tuple[Address, ...]:
    return tuple([_address(email, name) for email, name in pairs]) if pairs else ()


_address = lru_cache(maxsize=4096)(Address)  # the same few people recur
