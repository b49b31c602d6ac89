"""What a mirror keeps of a message's content: its bytes where the provider hands them over in bulk (in the spool until
they are packed), otherwise the message as the provider read it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from postroom.index.packing import compressed_bytes, decompressed, smallest, unpacked
from postroom.index.rows import envelopes
from postroom.index.words import storable
from postroom.model.message import Attachment, Body, Envelope, Message
from postroom.sync.file import spool

_PLAIN, _COMPRESSED, _MESSAGE = 0, 1, 2
MAX_BYTES: Final = 25 * 2**20  # of a message that was read: it is JSON


@dataclass(frozen=True, slots=True)
class Content:
    form: int
    content: bytes


def raw_content(raw: bytes) -> Content:
    is_compressed, content = smallest(raw)
    return Content(_COMPRESSED if is_compressed else _PLAIN, content)


def message_content(message: Message) -> Content | None:
    kept = {
        "body": {name: value for name, value in asdict(message.body).items() if value},
        "attachments": [asdict(attachment) for attachment in message.attachments],
        "headers": {name: list(values) for name, values in message.headers.items()},
        "defects": list(message.defects),
    }
    text = json.dumps(kept, ensure_ascii=True, separators=(",", ":")).encode()
    return Content(_MESSAGE, compressed_bytes(text)) if len(text) <= MAX_BYTES else None


def raw_of(connection: sqlite3.Connection, ref: str) -> bytes | None:
    """The message's own bytes; None where they are not kept."""
    row = _row(connection, ref)
    return None if row is None or row[0] == _MESSAGE else unpacked(row[0] == _COMPRESSED, row[1])


def message_of(
    connection: sqlite3.Connection,
    ref: str,
    envelope: Envelope | None = None,
    before_parsing: Callable[[bytes], None] = lambda raw: None,
) -> Message | None:
    """With that envelope, or else the one in the index; None where its content is not kept. `before_parsing` may
    raise."""
    row = _row(connection, ref)
    if envelope is None:
        (envelope,) = envelopes(connection, [ref])
    if row is None or envelope is None:
        return None
    form, content = row
    if form == _MESSAGE:
        return _kept(envelope, content)
    raw = unpacked(form == _COMPRESSED, content)
    before_parsing(raw)
    return _parsed(envelope, raw)


def _row(connection: sqlite3.Connection, ref: str) -> tuple[int, bytes] | None:
    found = connection.execute(
        "SELECT form, content, place FROM mirrored LEFT JOIN content USING (id) LEFT JOIN spooled USING (id)"
        " WHERE mirrored.ref = ?",
        (storable(ref),),
    ).fetchone()
    if found is None:
        return None
    form, content, place = found
    if place is not None:
        form, content = _PLAIN, spool.read(spool_of(connection), place)
    return None if content is None else (form, content)


def spool_of(connection: sqlite3.Connection) -> Path:
    """Beside the mirror's file."""
    return Path(connection.execute("PRAGMA database_list").fetchone()[2]).with_suffix(".spool")


def _parsed(envelope: Envelope, raw: bytes) -> Message:
    from postroom.mime import guarded

    parsed = guarded.parse(raw)
    return Message(envelope, parsed.body, parsed.attachments, parsed.headers, parsed.defects)


def _kept(envelope: Envelope, content: bytes) -> Message:
    kept = json.loads(decompressed(content))
    said = kept["body"]
    return Message(
        envelope,
        Body(said.get("text", ""), said.get("html", ""), tuple(said.get("starts", ()))),
        tuple(Attachment(**attachment) for attachment in kept["attachments"]),
        {name: tuple(values) for name, values in kept["headers"].items()},
        tuple(kept["defects"]),
    )
