"""An index in a temporary file, with the folders a mailbox has."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from postroom.index import folders, writing
from postroom.index.database import Database
from postroom.index.entry import Entry
from postroom.index.schema import INDEX_TABLES, Schema
from postroom.model.address import Address
from postroom.model.folder import Role
from postroom.model.message import Envelope

SCHEMA = Schema((INDEX_TABLES,))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "mail.db", SCHEMA, wait_for_lock=0.05)
    database.open()
    yield database
    database.close()


@pytest.fixture
def index(database: Database) -> Iterator[sqlite3.Connection]:
    """One open transaction on an index with INBOX, Trash and a folder of one's own."""
    with database.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        folders.add_folder(connection, "Trash", role=Role.TRASH)
        folders.add_folder(connection, "Projects/Aurora")
        yield connection


@pytest.fixture
def entry() -> Callable[..., Entry]:
    """Makes an entry; each is a minute younger than the one before."""
    numbers = count(1)

    def make(body: str = "", filenames: tuple[str, ...] = (), **fields: Any) -> Entry:
        number = next(numbers)
        envelope = Envelope(
            ref=f"r{number}",
            thread_ref="",
            folder="INBOX",
            sender=Address("anna@example.com", "Anna Müller"),
            date=NOON + timedelta(minutes=number),
        )
        return Entry(replace(envelope, **fields), body, filenames)

    return make


@pytest.fixture
def add(index: sqlite3.Connection, entry: Callable[..., Entry]) -> Callable[..., str]:
    """Adds one mail and answers its ref."""

    def adding(body: str = "", filenames: tuple[str, ...] = (), **fields: Any) -> str:
        made = entry(body, filenames, **fields)
        writing.add(index, [made])
        return made.envelope.ref

    return adding
