"""Rules that were saved, each in the words it was written in, and when the scheduled ones are due."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from postroom.model.errors import Conflict
from postroom.model.ids import Kind, new_handle
from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.handles import checked, unknown


@dataclass(frozen=True, slots=True)
class NewRule:
    account: str
    name: str
    source: str  # the YAML
    version: str  # the digest of what it says
    enabled: bool
    every_minutes: int | None


@dataclass(frozen=True, slots=True)
class StoredRule:
    """`is_proven`: a caller has run a plan of it. `next_run_at` is None where it has no schedule or is disabled."""

    rule_id: str
    account: str
    name: str
    source: str
    version: str
    enabled: bool
    every_minutes: int | None
    is_proven: bool
    created_at: float
    next_run_at: float | None
    last_run_at: float | None
    last_result: str


class Rules:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def save(self, rule: NewRule) -> StoredRule:
        """Conflict where the account has a rule of that name, in any case of letters."""
        rule_id, now = new_handle(Kind.RULE), self._clock.wall()
        due = now + rule.every_minutes * 60 if rule.enabled and rule.every_minutes else None
        with self._database.transaction() as connection:
            taken = connection.execute(
                "SELECT rule_id FROM rules WHERE account = ? AND name_key = ?", (rule.account, rule.name.casefold())
            ).fetchone()
            if taken is not None:
                raise Conflict(
                    f"Account {rule.account} already has a rule of that name ({taken['rule_id']}). Choose another "
                    "name. Call delete_rule first to use this one again.",
                    reason="already_exists",
                    details={"field": "rule_yaml", "path": "name", "rule_id": taken["rule_id"]},
                )
            connection.execute(
                "INSERT INTO rules (rule_id, account, name, name_key, source, version, enabled, every_minutes,"
                " created_at, next_run_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(rule_id, rule.account, rule.name, rule.name.casefold(), rule.source, rule.version),
                    *(rule.enabled, rule.every_minutes, now, due),
                ),
            )
            return _load(connection, rule_id)

    def get(self, rule_id: str) -> StoredRule:
        with self._database.read() as connection:
            return _load(connection, rule_id)

    def named(self, account: str, name: str) -> StoredRule | None:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT * FROM rules WHERE account = ? AND name_key = ?", (account, name.casefold())
            ).fetchone()
        return _from_row(row) if row is not None else None

    def all(self) -> list[StoredRule]:
        """In the order of their making."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT * FROM rules ORDER BY created_at, rule_id").fetchall()
        return [_from_row(row) for row in rows]

    def delete(self, rule_id: str) -> None:
        """Its plans go with it, but for those that were begun: they are the record of what was done."""
        with self._database.transaction() as connection:
            rule = _load(connection, rule_id)
            connection.execute("DELETE FROM rules WHERE rule_id = ?", (rule.rule_id,))
            connection.execute("DELETE FROM plans WHERE rule_id = ? AND state = 'ready'", (rule.rule_id,))

    def prove(self, rule_id: str) -> None:
        """A caller has run a plan of this very rule; from now on its schedule may."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE rules SET is_proven = 1 WHERE rule_id = ?", (rule_id,))

    def due(self) -> list[StoredRule]:
        """Scheduled rules whose time has come. One too far ahead was set by a clock that has been put right since."""
        now = self._clock.wall()
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM rules WHERE enabled = 1"
                " AND (next_run_at <= ?1 OR next_run_at > ?1 + every_minutes * 60) ORDER BY next_run_at",
                (now,),
            ).fetchall()
        return [_from_row(row) for row in rows]

    def take(self, rule: StoredRule) -> bool:
        """Claim this run of the schedule and set the next; True for exactly one of all processes."""
        with self._database.transaction() as connection:
            taken = connection.execute(
                "UPDATE rules SET next_run_at = ? + every_minutes * 60 WHERE rule_id = ? AND next_run_at = ?",
                (self._clock.wall(), rule.rule_id, rule.next_run_at),
            )
        return taken.rowcount == 1

    def note_run(self, rule_id: str, result: str) -> None:
        """What became of the last run, in a few words for people. Nothing where the rule is gone by now."""
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "UPDATE rules SET last_run_at = ?, last_result = ? WHERE rule_id = ?",
                (self._clock.wall(), result, rule_id),
            )


def _load(connection: sqlite3.Connection, rule_id: str) -> StoredRule:
    wanted = checked(rule_id, Kind.RULE)
    row = connection.execute("SELECT * FROM rules WHERE rule_id = ?", (wanted,)).fetchone()
    if row is None:
        raise unknown(rule_id, Kind.RULE)
    return _from_row(row)


def _from_row(row: sqlite3.Row) -> StoredRule:
    values = {key: row[key] for key in row.keys() if key != "name_key"}  # noqa: SIM118 (a Row iterates over its values)
    return StoredRule(**values | {"enabled": bool(row["enabled"]), "is_proven": bool(row["is_proven"])})
