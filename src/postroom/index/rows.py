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
    iif(EXISTS (SELECT 1 FROM mail_label WHERE mail_label.mail = mail.id),
        (SELECT json_group_array(label.name) FROM mail_label JOIN label ON label.id = mail_label.label
            WHERE mail_label.mail = mail.id), NULL),
    mail.size, mail.message_id, mail.in_reply_to, mail.mail_references,
    iif(EXISTS (SELECT 1 FROM mail_folder WHERE mail_folder.mail = mail.id),
        (SELECT json_group_array(name) FROM (SELECT folder.name FROM mail_folder
            JOIN folder ON folder.id = mail_folder.folder
            WHERE mail_folder.mail = mail.id ORDER BY folder.id)), NULL)"""

CHUNK = 500  # bound parameters of one statement
_SHORT = 500  # characters; a sender decides how many people a message names

Addresses = tuple[Address, ...]


def envelopes_of(rows: Sequence[Sequence[Any]], *, by_headers: bool = False) -> list[Envelope]:
    """Rows selected as ENVELOPE. `by_headers`: a thread is named by its first Message-ID, as on a server that has no
    ids for threads."""
    try:
        return [_envelope(row, by_headers) for row in rows]
    except (ValueError, TypeError, LookupError):
        raise Damaged("not what was written") from None


def envelopes(
    connection: sqlite3.Connection, refs: Sequence[str], *, by_headers: bool = False
) -> list[Envelope | None]:
    """The envelope of each ref, in order; None if there is no such message."""
    found: dict[str, Envelope] = {}
    for chunk in chunks(refs):
        rows = connection.execute(f"SELECT {ENVELOPE} FROM mail WHERE mail.ref IN ({marks(chunk)})", chunk)  # noqa: S608
        found.update([(one.ref, one) for one in envelopes_of(rows.fetchall(), by_headers=by_headers)])
    return [found.get(ref) for ref in refs]


def are_small(connection: sqlite3.Connection, refs: Sequence[str], most: int) -> bool:
    """Whether these messages have no more bytes than that, all together. For a few of them."""
    sql = f"SELECT total(size) FROM mail WHERE ref IN ({marks(refs)})"  # noqa: S608
    return bool(connection.execute(sql, [storable(ref) for ref in refs]).fetchone()[0] <= most)


def marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def chunks(refs: Iterable[str]) -> Iterable[list[str]]:
    refs = [storable(ref) for ref in refs]
    return (refs[start : start + CHUNK] for start in range(0, len(refs), CHUNK))


def _envelope(row: Sequence[Any], by_headers: bool) -> Envelope:
    """The fields in their order: by name they take a fifth longer."""
    people = row[3]
    labels = json.loads(row[12]) if row[12] else ()
    references = tuple(row[16].split("\n")) if row[16] else ()
    return Envelope(
        row[0],
        ((references[0] if references else row[15] or row[14]) or row[0]) if by_headers else row[1],
        row[2],
        *(_people(people) if len(people) <= _SHORT else _people.__wrapped__(people)),
        row[4],
        datetime.fromisoformat(row[5]) if row[5] else None,
        row[6],
        bool(row[7]),
        bool(row[8]),
        bool(row[9]),
        FORWARDED in labels,
        bool(row[10]),
        bool(row[11]),
        tuple(sorted([label for label in labels if label != FORWARDED], key=str.casefold)) if labels else (),
        row[13],
        row[14],
        row[15],
        references,
        tuple(json.loads(row[17])) if row[17] else (),
    )


@lru_cache(maxsize=4096)  # the same few people write to each other
def _people(text: str) -> tuple[Address, Addresses, Addresses, Addresses, Addresses]:
    sender, to, cc, bcc, reply_to = json.loads(text)
    return _address(*sender[0]), _addresses(to), _addresses(cc), _addresses(bcc), _addresses(reply_to)


def _addresses(pairs: list[list[str]]) -> tuple[Address, ...]:
    return tuple([_address(email, name) for email, name in pairs])


_address = lru_cache(maxsize=4096)(Address)  # the same few people recur
