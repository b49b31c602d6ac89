"""Plans: what a rule would do, message by message, pinned until somebody runs exactly that or it expires.

    ready -> running -> done
               |  ^
               v  |
            interrupted     the runner died, was cancelled, or the provider failed; running it again goes on from there

A plan is run by one process at a time, and once.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from postroom.model.errors import Conflict
from postroom.model.ids import Kind, new_handle
from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.handles import checked, unknown
from postroom.store.mailboxes import Mailboxes, named
from postroom.store.sends.owner import Owner
from postroom.store.settled_time import SettledTime

LIFETIME_SECONDS = 86_400.0
KEPT_SECONDS = 30 * 86_400.0
State = Literal["ready", "running", "interrupted", "done"]


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One message by its handle, and which of the rule's actions would change it, by position."""

    handle: str
    actions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NewPlan:
    account: str
    rule_id: str  # empty for a rule that was not saved
    name: str
    source: str  # the rule's YAML when it was planned
    items: tuple[PlanItem, ...]


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """`operation_id` is the run's, for undo; `report` is what the run came to."""

    plan_id: str
    account: str
    rule_id: str
    name: str
    source: str
    items: tuple[PlanItem, ...]
    state: State
    operation_id: str
    report: dict[str, Any] | None
    created_at: float
    expires_at: float
    is_scheduled: bool


class Plans:
    """Kept by mailbox (see `Mailboxes`): for another one none is run, and what was run can be looked up."""

    def __init__(
        self, database: Database, clock: Clock, settled: SettledTime, owner: Owner, mailboxes: Mailboxes
    ) -> None:
        self._database = database
        self._clock = clock
        self._settled = settled
        self._owner = owner
        self._mailboxes = mailboxes

    def save(self, plan: NewPlan, *, is_scheduled: bool = False) -> StoredPlan:
        plan_id, now, mailbox = new_handle(Kind.PLAN), self._clock.wall(), self._mailboxes.kept_as(plan.account)
        items = json.dumps([[item.handle, item.actions] for item in plan.items])
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "INSERT INTO plans (plan_id, account, rule_id, name, source, items, created_at, expires_at,"
                " is_scheduled) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(plan_id, mailbox, plan.rule_id, plan.name, plan.source, items, now),
                    *(now + LIFETIME_SECONDS, is_scheduled),
                ),
            )
            return _load(connection, plan_id)

    def get(self, plan_id: str) -> StoredPlan:
        with self._database.read() as connection:
            return _load(connection, plan_id)

    def claim(self, plan_id: str) -> StoredPlan:
        """The right to run it, for one caller among all processes.

        A finished plan comes back as it is. Conflict where another caller runs it, or it has expired. NotFound where it
        was made for a mailbox that the account's name no longer stands for.
        """
        with self._database.transaction() as connection:
            plan = _load(connection, plan_id)
            if plan.state == "done":
                return plan
            if not self._is_here(connection, plan):
                raise unknown(plan_id, Kind.PLAN)
            if self._is_run(connection, plan):
                raise Conflict(
                    f"The plan {plan.plan_id} is being run by another call. Repeat this call in a few seconds to get "
                    "its result.",
                    details={"plan_id": plan.plan_id},
                    retry_after=5.0,
                )
            if self._has_expired(plan):
                raise _expired(plan)
            connection.execute(
                "UPDATE plans SET state = 'running', owner = ? WHERE plan_id = ?", (self._owner.name, plan.plan_id)
            )
            return _load(connection, plan.plan_id)

    def note_operation(self, plan_id: str, operation_id: str) -> None:
        """The journal's name for the run, before anything of it is done."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE plans SET operation_id = ? WHERE plan_id = ?", (operation_id, plan_id))

    def is_running(self, plan_id: str) -> bool:
        with self._database.read() as connection:
            return self._is_run(connection, _load(connection, plan_id))

    def _is_here(self, connection: sqlite3.Connection, plan: StoredPlan) -> bool:
        """For the mailbox that its account's name stands for now."""
        row = connection.execute("SELECT account FROM plans WHERE plan_id = ?", (plan.plan_id,)).fetchone()
        return self._mailboxes.account_of(row["account"]) is not None

    def _is_run(self, connection: sqlite3.Connection, plan: StoredPlan) -> bool:
        """By a process that is alive; in any other state than `running` a plan has no owner."""
        row = connection.execute("SELECT owner FROM plans WHERE plan_id = ?", (plan.plan_id,)).fetchone()
        return row["owner"] is not None and self._owner.is_alive(row["owner"])

    def finish(self, plan_id: str, report: dict[str, Any]) -> None:
        self._leave(plan_id, "done", report)

    def interrupt(self, plan_id: str, report: dict[str, Any] | None = None) -> None:
        """Let others go on with it."""
        self._leave(plan_id, "interrupted", report)

    def unfinished(self, rule_id: str) -> StoredPlan | None:
        """A plan of that rule whose scheduled run was cut short, that nobody is running, and that can still be run."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT plan_id, account, owner, state FROM plans WHERE rule_id = ? AND is_scheduled"
                " AND state IN ('running', 'interrupted') AND expires_at >= ?"
                " AND NOT EXISTS (SELECT 1 FROM operations AS done WHERE done.undone_at IS NOT NULL AND"
                "  (done.operation_id = plans.operation_id OR"
                "   (plans.operation_id != '' AND done.part_of = plans.operation_id)))"
                " ORDER BY created_at DESC LIMIT 1",
                (rule_id, self._clock.wall()),
            ).fetchall()
            for row in rows:
                is_free = row["state"] == "interrupted" or not self._owner.is_alive(row["owner"])
                if is_free and self._mailboxes.account_of(row["account"]) is not None:
                    return _load(connection, row["plan_id"])
        return None

    def forwarded(self, account: str, name: str, mails: Sequence[str], target: str) -> set[str]:
        """Those of the messages that a rule of this name has already forwarded there, or put before a person."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT mail FROM rule_forwards WHERE account = ? AND name_key = ? AND target = ?"
                " AND mail IN (SELECT value FROM json_each(?))",
                (account, name.casefold(), target, json.dumps(list(mails))),
            ).fetchall()
        return {row["mail"] for row in rows}

    def note_forward(self, account: str, name: str, mail: str, target: str, send_id: str) -> None:
        """Kept for good, also after the rule is deleted: no rule of this name forwards that message there again."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO rule_forwards (account, name_key, mail, target, send_id, at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (account, name.casefold(), mail, target, send_id, self._clock.wall()),
            )

    def prune(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM plans WHERE created_at < ?", (self._settled.wall(connection) - KEPT_SECONDS,))

    def _has_expired(self, plan: StoredPlan) -> bool:
        """By a clock that was set back, a plan seems to be from the future: it is as old as nobody knows."""
        return not plan.created_at <= self._clock.wall() <= plan.expires_at

    def _leave(self, plan_id: str, state: State, report: dict[str, Any] | None) -> None:
        told = json.dumps(report) if report is not None else None
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE plans SET state = ?, owner = NULL, report = coalesce(?, report)"
                " WHERE plan_id = ? AND owner = ?",
                (state, told, plan_id, self._owner.name),
            )


def _expired(plan: StoredPlan) -> Conflict:
    done = "Nothing was changed"
    if plan.operation_id:
        done = f"What it did before it was cut short can be undone with operation_id {plan.operation_id}"
    return Conflict(
        f"The plan {plan.plan_id} has expired: a plan can be run for 24 hours. {done}; make a new one with "
        "run_rule_plan.",
        details={"plan_id": plan.plan_id},
    )


def _load(connection: sqlite3.Connection, plan_id: str) -> StoredPlan:
    wanted = checked(plan_id, Kind.PLAN)
    row = connection.execute("SELECT * FROM plans WHERE plan_id = ?", (wanted,)).fetchone()
    if row is None:
        raise unknown(plan_id, Kind.PLAN)
    return StoredPlan(
        plan_id=wanted,
        account=named(row["account"]),
        rule_id=row["rule_id"],
        name=row["name"],
        source=row["source"],
        items=tuple(PlanItem(handle, tuple(actions)) for handle, actions in json.loads(row["items"])),
        state=row["state"],
        operation_id=row["operation_id"],
        report=json.loads(row["report"]) if row["report"] is not None else None,
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        is_scheduled=bool(row["is_scheduled"]),
    )
