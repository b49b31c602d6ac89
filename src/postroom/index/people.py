"""Correspondents, found by any part of a name or an address.

Each name and address that occurs is listed once in `person`; searching that short list gives the few people who match,
and each of them is a token in the full text. If too many match, the messages themselves are searched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache

from postroom.index.state import PERSON
from postroom.index.words import normal, storable
from postroom.model.address import Address
from postroom.model.query.tree import AddressField, Correspondent
from postroom.model.words import folded

MAX_PEOPLE = 64  # tokens in one expression: each hit is compared with all of them

COLUMNS: dict[AddressField, str] = {"from": "sender", "to": "receiver", "cc": "cc"}


class People:
    """Enters those of a batch of messages: the same few people recur, so each is looked up once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._words: dict[tuple[str, str], str] = {}

    def words(self, people: Iterable[tuple[str, str]]) -> str:
        """Their words for the full text, by address and name."""
        return " ".join([self._words.get(who) or self._entered(who) for who in people])

    def _entered(self, who: tuple[str, str]) -> str:
        """The person's token comes before each text, so that no phrase spans two of them."""
        email, name = who
        mark = _token(_person(self._connection, _plain(email), _plain(name)))
        words = self._words[who] = " ".join((mark, normal(name), mark, normal(email)))
        return words


def add_parts(connection: sqlite3.Connection, mails: Iterable[tuple[int, tuple[str, str, str]]]) -> None:
    """What `part_condition` searches: by key, the `part_of` senders, receivers and those of Cc."""
    connection.executemany(
        "INSERT INTO mail_people (id, sender, receiver, cc) VALUES (?, ?, ?, ?)",
        [(key, *parts) for key, parts in mails],
    )


def people_tokens(connection: sqlite3.Connection, value: str) -> list[str] | None:
    """The tokens of all who match; None if they are too many. A value with an ``@`` is part of an address."""
    wanted = _plain(value)
    rows = connection.execute(
        "SELECT id FROM person WHERE instr(email, ?1) OR (NOT instr(?1, '@') AND instr(name, ?1)) LIMIT ?2",
        (wanted, MAX_PEOPLE + 1),
    ).fetchall()
    return None if len(rows) > MAX_PEOPLE else [_token(number) for (number,) in rows]


def part_condition(node: Correspondent, key: str) -> tuple[str, str]:
    """The same test on the message with that key: a condition, and its value."""
    wanted, column = _plain(node.value), COLUMNS[node.field]
    text = f"substr({column}, 1, instr({column}, char(10)))" if "@" in wanted else column
    return f"(SELECT instr({text}, ?) FROM mail_people WHERE mail_people.id = {key})", wanted  # noqa: S608


def part_of(people: Sequence[Address]) -> str:
    """Addresses, a line break, names."""
    emails = "\t".join(_plain(who.email) for who in people)
    return emails + "\n" + "\t".join(_plain(who.name) for who in people)


def _person(connection: sqlite3.Connection, email: str, name: str) -> int:
    row = connection.execute("SELECT id FROM person WHERE email = ? AND name = ?", (email, name)).fetchone()
    if row is None:
        return connection.execute("INSERT INTO person (email, name) VALUES (?, ?)", (email, name)).lastrowid or 0
    return int(row[0])


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(folded(storable(text)).split())


def _token(number: int) -> str:
    return f"{PERSON}{number}"
