"""What was changed, item by item, so that `undo` can change it back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postroom.model.errors import Conflict
from postroom.model.ids import Kind, new_handle
from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.handles import checked, unknown
from postroom.store.mailboxes import Mailboxes, named
from postroom.store.sends.owner import Owner
from postroom.store.settled_time import SettledTime

KEPT_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class JournalItem:
    """One message of an operation, by its handle; before and after hold only what the operation touched. `trail` is by
    what the message can be found again when nobody lived to note where it was moved to."""

    handle: str
    before: dict[str, Any]
    after: dict[str, Any]
    trail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    operation_id: str
    account: str
    action: str
    items: tuple[JournalItem, ...]
    detail: dict[str, Any]
    at: float
    undone_at: float | None  # when that was begun or, without an undoer, done
    undoer: str | None = None

    @property
    def is_undone(self) -> bool:
        return self.undone_at is not None and self.undoer is None


class Journal:
    """Kept by mailbox (see `Mailboxes`)."""

    def __init__(
        self, database: Database, clock: Clock, settled: SettledTime, owner: Owner, mailboxes: Mailboxes
    ) -> None:
        self._database = database
        self._clock = clock
        self._settled = settled
        self._owner = owner
        self._mailboxes = mailboxes
        self._undoing: set[str] = set()  # what this store is undoing, as far as it knows itself

    def record(
        self,
        account: str,
        action: str,
        items: Sequence[JournalItem],
        detail: Mapping[str, Any] | None = None,
        *,
        part_of: str = "",
    ) -> str:
        """Keep an operation for 30 days; returns its id. `part_of` is the operation that is undone with all its
        parts, or that this one undoes."""
        operation_id, mailbox = new_handle(Kind.OPERATION), self._mailboxes.kept_as(account)
        listed = json.dumps([[item.handle, item.before, item.after, item.trail] for item in items])
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "INSERT INTO operations (operation_id, account, action, items, detail, at, part_of)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (operation_id, mailbox, action, listed, json.dumps(dict(detail or {})), self._clock.wall(), part_of),
            )
        return operation_id

    def load(self, operation_id: str) -> Operation:
        """An operation on messages may concern several accounts, and their handles say whether each can be found; any
        other is unknown where the account's name stands for another mailbox now."""
        wanted = checked(operation_id, Kind.OPERATION)
        with self._database.read() as connection:
            row = connection.execute("SELECT * FROM operations WHERE operation_id = ?", (wanted,)).fetchone()
            kept_since = self._settled.wall(connection) - KEPT_SECONDS
        if row is None or row["at"] < kept_since:
            raise unknown(operation_id, Kind.OPERATION)
        items = tuple(JournalItem(*item) for item in json.loads(row["items"]))
        if not items and self._mailboxes.account_of(row["account"]) is None:
            raise unknown(operation_id, Kind.OPERATION)
        account, detail = named(row["account"]), json.loads(row["detail"])
        return Operation(wanted, account, row["action"], items, detail, row["at"], row["undone_at"], row["undoer"])

    def parts(self, operation_id: str) -> list[Operation]:
        """In the order they were done in."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT operation_id FROM operations WHERE part_of = ?"
                " ORDER BY json_extract(detail, '$.step'), at, operation_id",
                (checked(operation_id, Kind.OPERATION),),
            ).fetchall()
        return [self.load(row["operation_id"]) for row in rows]

    def begin_undo(self, operation_id: str) -> None:
        """The right to undo it, for one caller among all processes; Conflict for everyone else. What a process that
        died had begun to undo can be undone by the next, and so can what was over when its end could not be noted."""
        operation = self.load(operation_id)
        with self._database.transaction() as connection:
            undoer, undone_at = connection.execute(
                "SELECT undoer, undone_at FROM operations WHERE operation_id = ?", (operation.operation_id,)
            ).fetchone()
            if undoer is None and undone_at is not None:
                raise Conflict(
                    f"The operation {operation.operation_id} has already been undone; there is nothing left to undo."
                )
            if undoer is not None and self._is_busy(undoer, operation.operation_id):
                raise Conflict(
                    f"The operation {operation.operation_id} is being undone by another call. Wait until that has "
                    "ended.",
                    retry_after=5.0,
                )
            connection.execute(
                "UPDATE operations SET undone_at = ?, undoer = ? WHERE operation_id = ?",
                (self._clock.wall(), self._owner.name, operation.operation_id),
            )
            self._undoing.add(operation.operation_id)

    def _is_busy(self, undoer: str, operation_id: str) -> bool:
        if undoer == self._owner.name:
            return operation_id in self._undoing
        return self._owner.is_alive(undoer)

    def end_undo(self, operation_id: str, *, is_complete: bool) -> None:
        """What could not be undone, or not all of it, can be tried again."""
        wanted = checked(operation_id, Kind.OPERATION)
        try:
            with self._database.transaction() as connection:
                connection.execute(
                    "UPDATE operations SET undoer = NULL, undone_at = iif(?, undone_at, NULL) WHERE operation_id = ?",
                    (is_complete, wanted),
                )
        finally:
            self._undoing.discard(wanted)  # on a full disk, too: the next undo need not wait for this process to end

    def made_folder(self, account: str, folder_ref: str) -> bool:
        """Whether the folder of that ref was ever made, or got its name, by these tools."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT 1 FROM operations WHERE account = ? AND action IN ('create_folder', 'rename_folder') "
                "AND json_extract(detail, '$.folder_ref') = ?",
                (self._mailboxes.kept_as(account), folder_ref),
            ).fetchone()
        return found is not None

    def prune(self, connection: sqlite3.Connection) -> None:
        """Which folders were made or named here is never forgotten."""
        connection.execute(
            "DELETE FROM operations WHERE at < ? AND action NOT IN ('create_folder', 'rename_folder')",
            (self._settled.wall(connection) - KEPT_SECONDS,),
        )

    def follow(self, connection: sqlite3.Connection, account: str, folders: Mapping[str, str]) -> None:
        """After folders got new refs: what is noted of messages that were in them leads there."""
        mailbox = self._mailboxes.kept_as(account)
        rows = connection.execute(
            "SELECT operation_id, account, items, detail FROM operations"
            " WHERE instr(items, 'folder_ref') OR instr(detail, 'folder_ref')"
        ).fetchall()
        for row in rows:
            items, detail = json.loads(row["items"]), json.loads(row["detail"])
            own = _of_mailbox(connection, mailbox, [item[0] for item in items])
            led = [
                [item[0], *(_led(noted, folders) if item[0] in own else noted for noted in item[1:])] for item in items
            ]
            led_detail = _led(detail, folders) if row["account"] == mailbox else detail
            if led != items or led_detail != detail:
                connection.execute(
                    "UPDATE operations SET items = ?, detail = ? WHERE operation_id = ?",
                    (json.dumps(led), json.dumps(led_detail), row["operation_id"]),
                )


def _of_mailbox(connection: sqlite3.Connection, mailbox: str, handles: Sequence[str]) -> set[str]:
    rows = connection.execute(
        "SELECT handle FROM handles WHERE account = ? AND handle IN (SELECT value FROM json_each(?))",
        (mailbox, json.dumps(list(handles))),
    )
    return {row["handle"] for row in rows}


def _led(noted: Any, folders: Mapping[str, str]) -> Any:
    if isinstance(noted, list):
        return [_led(one, folders) for one in noted]
    if isinstance(noted, dict):
        return {key: folders.get(one, one) if key == "folder_ref" else _led(one, folders) for key, one in noted.items()}
    return noted
