"""Addresses an account may write as: its own, and the aliases kept in its file."""

from __future__ import annotations

import sqlite3

from postroom.model.address import Address
from postroom.model.draft import Identity


def list_aliases(connection: sqlite3.Connection) -> list[Identity]:
    rows = connection.execute("SELECT id, email, name, signature_html FROM identity ORDER BY id")
    return [Identity(Address(email, name), signature, ref=str(number)) for number, email, name, signature in rows]


def has_alias(connection: sqlite3.Connection, email: str) -> bool:
    return connection.execute("SELECT 1 FROM identity WHERE key = ?", (email.casefold(),)).fetchone() is not None


def add_alias(connection: sqlite3.Connection, address: Address, signature_html: str) -> Identity:
    row = connection.execute(
        "INSERT INTO identity (email, key, name, signature_html) VALUES (?, ?, ?, ?)",
        (address.email, address.key, address.name, signature_html),
    )
    return Identity(address, signature_html, ref=str(row.lastrowid))
