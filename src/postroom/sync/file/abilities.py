"""What the server could do when it last answered, for an account that is opened while it is away."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, fields

from postroom.model.capabilities import Capabilities
from postroom.sync.file.status import fact, note_fact

_NAME = "capabilities"


def note(connection: sqlite3.Connection, found: Capabilities) -> None:
    note_fact(connection, _NAME, json.dumps(asdict(found)))


def noted(connection: sqlite3.Connection) -> Capabilities | None:
    """None: it never answered. In the note of another version of Postroom, what this one knows."""
    text = fact(connection, _NAME)
    if not text:
        return None
    told = json.loads(text)
    known = {field.name: told[field.name] for field in fields(Capabilities) if field.name in told}
    return Capabilities(**{**known, "search_not_applied": tuple(known.get("search_not_applied", ()))})
