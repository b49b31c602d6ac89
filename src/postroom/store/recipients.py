"""Whom an account has written to before, so that an address nobody ever chose can be told from a correspondent."""

from __future__ import annotations

import json
from collections.abc import Iterable

from postroom.model.address import Address
from postroom.store.database import Database


class Recipients:
    """Addresses are kept in the spelling that two spellings of one mailbox share, and no two mailboxes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, account: str, emails: Iterable[str]) -> set[str]:
        """Those of `emails`, as they were given, that were remembered before."""
        given = {email: Address(email).key for email in emails}
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT email FROM recipients WHERE account = ? AND email IN (SELECT value FROM json_each(?))",
                (account, json.dumps(list(given.values()))),
            )
            found = {row["email"] for row in rows}
        return {email for email, key in given.items() if key in found}

    def remember(self, account: str, emails: Iterable[str]) -> None:
        rows = [(account, Address(email).key) for email in emails]
        with self._database.transaction(durable=False) as connection:
            connection.executemany("INSERT OR IGNORE INTO recipients (account, email) VALUES (?, ?)", rows)
