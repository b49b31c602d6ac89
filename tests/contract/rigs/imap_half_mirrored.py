"""IMAP behind a mirror whose first fill is for ever half way: of each folder it has the newer half, and each read joins
that with the rest from the server."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from postroom.sync.answering.mirrored import MirrorLayer, mirrored, noticing_sends
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.following.syncing import Syncing
from postroom.sync.tables.changing import remove

from . import RigAccount, imap


class ThisRig(imap.ThisRig):
    async def make_account(self) -> RigAccount:
        account = await super().make_account()
        settings = account.settings.model_copy(update={"mirror": "full"})
        mirror = Mirror(mirror_path(self.folder, settings.name))

        async def catch_up() -> None:
            async with Syncing(mirror, account.mailbox, settings) as syncing:
                await syncing.once()
            with mirror.transaction() as connection:
                _halve(connection)

        self.layer = MirrorLayer(account.mailbox, mirror, settings, catch_up, max_age=0.0)
        self.mailbox = mirrored(account.mailbox, self.layer, "imap")
        assert account.transport is not None
        transport = noticing_sends(account.transport, mirror, "imap")
        return replace(account, settings=settings, mailbox=self.mailbox, transport=transport)


def _halve(connection: sqlite3.Connection) -> None:
    """As a fill leaves it that was stopped there."""
    for (number,) in connection.execute("SELECT number FROM mirrored_folder").fetchall():
        rows = connection.execute(
            "SELECT number, ref FROM mirrored WHERE folder = ? ORDER BY number", (number,)
        ).fetchall()
        older, newer = rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]
        if older:
            remove(connection, [ref for _, ref in older], 0.0)
            low = newer[0][0] if newer else older[-1][0] + 1
            connection.execute("UPDATE mirrored_folder SET low = ?, is_filled = 0 WHERE number = ?", (low, number))
    connection.execute("DELETE FROM former")
