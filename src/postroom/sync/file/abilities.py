"""What the server could do when it last answered, for an account that is opened while it is away, or without asking."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from postroom.model.capabilities import Capabilities
from postroom.sync.file.status import fact, note_fact

if TYPE_CHECKING:
    from postroom.settings.accounts import ServerAccount

_NAME, _SETTINGS = "capabilities", "capabilities_by"


def note(connection: sqlite3.Connection, found: Capabilities, settings: ServerAccount) -> None:
    note_fact(connection, _NAME, json.dumps(asdict(found)))
    note_fact(connection, _SETTINGS, _digest(settings))


def noted(connection: sqlite3.Connection) -> Capabilities | None:
    """None: it never answered. In the note of another version of Postroom, what this one knows."""
    text = fact(connection, _NAME)
    if not text:
        return None
    told = json.loads(text)
    known = {field.name: told[field.name] for field in fields(Capabilities) if field.name in told}
    return Capabilities(**{**known, "search_not_applied": tuple(known.get("search_not_applied", ()))})


def noted_by(connection: sqlite3.Connection, settings: ServerAccount) -> Capabilities | None:
    """The same, where it was found out by these settings: whether an account can send depends on them."""
    return noted(connection) if fact(connection, _SETTINGS) == _digest(settings) else None


def _digest(settings: ServerAccount) -> str:
    """Secrets are masked in it."""
    return hashlib.sha256(settings.model_dump_json().encode()).hexdigest()
