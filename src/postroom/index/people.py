"""Correspondents, found by any part of a name or an address.

Each name and address that occurs is listed once in `person`; searching that short list gives the few people meant, and
each of them is a token in the full text. Where too many are meant, the mails themselves are looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from functools import lru_cache

from postroom.index.state import PERSON
from postroom.index.words import normal, storable
from postroom.model.address import Address
from postroom.model.message import Envelope
from postroom.model.query import AddressField, Correspondent
from postroom.model.words import folded

MAX_PEOPLE = 64  # tokens in one expression: each hit is compared with all of them

COLUMNS: dict[AddressField, str] = {"from": "sender", "to": "receiver", "cc": "cc"}


def add_people(connection: sqlite3.Connection, key: int, envelope: Envelope) -> tuple[str, str, str, str]:
    """Enter a mail's correspondents; answers their words for the full text: sender, receiver, cc, bcc."""
    groups = ((envelope.sender,), envelope.to, envelope.cc, envelope.bcc)
    parts = [_part(group) for group in groups[:3]]
    connection.execute("INSERT INTO mail_people (id, sender, receiver, cc) VALUES (?, ?, ?, ?)", (key, *parts))
    sender, receiver, cc, bcc = (_words(connection, group) for group in groups)
    return sender, receiver, cc, bcc


def people_tokens(connection: sqlite3.Connection, value: str) -> list[str] | None:
    """The tokens of all who are meant; None when they are too many. What has an ``@`` is part of an address."""
    wanted = _plain(value)
    rows = connection.execute(
        "SELECT id FROM person WHERE instr(email, ?1) OR (NOT instr(?1, '@') AND instr(name, ?1)) LIMIT ?2",
        (wanted, MAX_PEOPLE + 1),
    ).fetchall()
    return None if len(rows) > MAX_PEOPLE else [_token(number) for (number,) in rows]


def part_condition(node: Correspondent, key: str) -> tuple[str, str]:
    """The same question asked of the mail with that key: a condition, and its value."""
    wanted, column = _plain(node.value), COLUMNS[node.field]
    text = f"substr({column}, 1, instr({column}, char(10)))" if "@" in wanted else column
    return f"(SELECT instr({text}, ?) FROM mail_people WHERE mail_people.id = {key})", wanted  # noqa: S608


def _part(people: Iterable[Address]) -> str:
    """Addresses, a line break, names."""
    people = tuple(people)
    emails = "\t".join(_plain(who.email) for who in people)
    return emails + "\n" + "\t".join(_plain(who.name) for who in people)


def _words(connection: sqlite3.Connection, people: Iterable[Address]) -> str:
    """The person's token stands before each text, so that no phrase reaches from one into the next."""
    texts = []
    for who in people:
        mark = _token(_person(connection, who))
        texts += [mark, normal(who.name), mark, normal(who.email)]
    return " ".join(texts)


def _person(connection: sqlite3.Connection, who: Address) -> int:
    names = (_plain(who.email), _plain(who.name))
    row = connection.execute("SELECT id FROM person WHERE email = ? AND name = ?", names).fetchone()
    if row is None:
        return connection.execute("INSERT INTO person (email, name) VALUES (?, ?)", names).lastrowid or 0
    return int(row[0])


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(folded(storable(text)).split())


def _token(number: int) -> str:
    return f"{PERSON}{number}"
