"""Whether a message that appeared is one that was seen before in another place.

Only what nobody else can bring about counts: the server's own id of a message's content where it has one (RFC 8474),
otherwise the content itself. Message-ID, size and date are the sender's to choose, and programs save a changed draft
under all three. Where a mirror has no content, the time of arrival and what a list shows tell as well.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from postroom.index.rows import chunks, marks
from postroom.model.changes import BulkMail
from postroom.model.message import Envelope, Message, shown_of

BY_SERVER = "id "
PENDING = "spooled"  # its bytes are in the spool and tell as soon as it matters (see `changing.identify`)
REPLACED = " (another message has its id)"  # behind a ref that means another message now
KEPT_SECONDS = 30 * 24 * 3600.0  # how long a message that disappeared may reappear


@dataclass(frozen=True, slots=True)
class Former:
    ref: str
    identity: str


def of_server(identity: str) -> str:
    """Of the server's own id. Empty where it has none."""
    return f"{BY_SERVER}{identity}" if identity else ""


def of_bytes(mail: BulkMail) -> str:
    """Of a message whose beginning may be all that was fetched: then it has arrived at the same time as well. Empty
    where nothing was."""
    if mail.is_whole:
        return of_all_bytes(mail.raw)
    if not mail.raw or mail.arrived is None:
        return ""
    return f"bytes {hashlib.sha256(mail.raw).hexdigest()} {mail.size} {mail.arrived.timestamp():.0f}"


def of_all_bytes(raw: bytes) -> str:
    return f"bytes {hashlib.sha256(raw).hexdigest()}"


def of_message(message: Message) -> str:
    """Of one that its provider has read."""
    parts = [[file.filename, file.mime_type, file.size] for file in message.attachments]
    said = {"text": message.body.text, "html": message.body.html}
    return f"read {_digest([*shown_of(message.envelope), said, parts])}"


def of_envelope(envelope: Envelope, arrived: datetime | None) -> str:
    """Empty where nothing tells."""
    if not envelope.message_id or arrived is None:
        return ""
    return f"shown {_digest([*shown_of(envelope), envelope.snippet, arrived.timestamp()])}"


def _digest(values: list[object]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def describe(connection: sqlite3.Connection, refs: Iterable[str]) -> list[Former]:
    """Those of the refs that are in the index."""
    found: list[Former] = []
    for chunk in chunks(refs):
        rows = connection.execute(
            f"SELECT ref, identity FROM mirrored WHERE ref IN ({marks(chunk)})",  # noqa: S608
            chunk,
        )
        found += [Former(*row) for row in rows]
    return found


def remember(connection: sqlite3.Connection, formers: Iterable[Former], now: float) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO former (ref, identity, gone_at) VALUES (?, ?, ?)",
        [(one.ref, one.identity, now) for one in formers if one.identity],
    )


def remembers_any(connection: sqlite3.Connection) -> bool:
    """Whether some message disappeared that may appear elsewhere."""
    return connection.execute("SELECT 1 FROM former LIMIT 1").fetchone() is not None


def forget_old(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("DELETE FROM former WHERE gone_at < ?", (now - KEPT_SECONDS,))


def find_again(
    connection: sqlite3.Connection,
    appeared: Iterable[tuple[str, str]],
    found: Callable[[sqlite3.Connection, str, str], None],
) -> None:
    """`appeared` are identities and refs. Calls `found` with the old and the new ref of each that had disappeared; it
    is then forgotten. One that is back under its own ref is itself, whatever copies of it disappeared, too; otherwise
    it is the one that disappeared last."""
    if not remembers_any(connection):
        return
    for own, ref in appeared:
        sql = (
            "SELECT ref FROM former WHERE identity != '' AND identity = ?"
            " ORDER BY ref = ? DESC, gone_at DESC, ref LIMIT 1"
        )
        if (former := connection.execute(sql, (own, ref)).fetchone()) is not None:
            connection.execute("DELETE FROM former WHERE ref = ?", former)
            if former[0] != ref:
                found(connection, former[0], ref)


def set_aside_others(
    connection: sqlite3.Connection,
    appeared: Iterable[tuple[str, str]],
    renamed: Callable[[sqlite3.Connection, str, str], None],
) -> None:
    """Of messages that disappeared, those in whose place there is one with another content: no handle of theirs leads
    there. `renamed` is called with the ref of each and one that no message has."""
    if not remembers_any(connection):
        return
    for own, ref in appeared:
        row = connection.execute("SELECT identity FROM former WHERE ref = ?", (ref,)).fetchone()
        if row is not None and is_another(row[0], own):
            connection.execute("UPDATE OR REPLACE former SET ref = ? WHERE ref = ?", (ref + REPLACED, ref))
            renamed(connection, ref, ref + REPLACED)


def is_another(identity: str, other: str) -> bool:
    """Whether these are of two messages. Identities of different kinds tell nothing about each other."""
    return identity != other and _kind(identity) == _kind(other)


def _kind(identity: str) -> tuple[str, int]:
    words = identity.split(" ")
    return words[0], len(words)


def that_may_be_it(identity: str, alike: list[str]) -> list[str]:
    """Of several, none unless nothing about their content can differ: then it does not matter which is which."""
    is_of_all = identity.startswith(BY_SERVER) or _kind(identity) == ("bytes", 2)
    return alike if is_of_all or len(alike) == 1 else []


class Appeared:
    """Where messages that disappeared may have gone: those with their content that were first seen since then, and are
    not `gone` or `leaving` again. One that was there before is a copy, not where a message went."""

    def __init__(
        self, connection: sqlite3.Connection, since: float, gone: Iterable[str], leaving: Collection[str]
    ) -> None:
        self._connection = connection
        self._since = since
        self._gone = frozenset(gone)
        self._leaving = leaving
        self._found: dict[str, list[str]] = {}
        self._passed_on: set[str] | None = None

    def take(self, own: str) -> str:
        """The ref of the latest one with this identity; empty if there is none."""
        if own not in self._found:
            self._found[own] = self._look(own)
        return self._found[own].pop(0) if self._found[own] else ""

    def _look(self, own: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT ref FROM mirrored WHERE identity != '' AND identity = ? AND added_at >= ? ORDER BY id DESC",
            (own, self._since),
        )
        found = [ref for (ref,) in rows if ref not in self._gone and ref not in self._leaving]
        return found if len(found) < 2 else [ref for ref in that_may_be_it(own, found) if ref not in self._taken()]

    def _taken(self) -> set[str]:
        """By messages that are alike, from other folders."""
        if self._passed_on is None:
            self._passed_on = {new for (new,) in self._connection.execute("SELECT new FROM renamed")}
        return self._passed_on
