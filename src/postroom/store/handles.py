"""Short handles for refs: one mail has one handle, a handle never comes to mean another mail, a move breaks none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.ids import Kind, is_handle, new_handle
from postroom.store.database import Database

_WORDS = {
    Kind.EMAIL: ("an email id", "List or search emails again to get a current email_id."),
    Kind.THREAD: ("a thread id", "List or search emails again to get a current thread_id."),
    Kind.DRAFT: ("a draft id", "Call list_drafts to get a current draft_id."),
    Kind.OPERATION: ("an operation id", "Use the operation_id that the change you want to undo answered with."),
    Kind.SEND: ("a send id", "Call list_outbox to see the sends there are."),
    Kind.APPROVAL: ("an approval id", "List the approvals to see the ones there are."),
    Kind.RULE: ("a rule id", "Call list_rules to see the rules there are."),
    Kind.PLAN: ("a plan id", "Call run_rule_plan to make a new plan."),
}
_KINDS = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Handle:
    """What a handle stands for: the provider's own id, and the account that knows it."""

    account: str
    ref: str


def checked(handle: str, kind: Kind) -> str:
    """The handle, tidied; InvalidRequest when it plainly names a thing of another kind."""
    tidy = handle.strip().lower()
    other = _KINDS.get(tidy[:1], kind)
    if other is not kind and is_handle(tidy, other):
        raise InvalidRequest(
            f"{tidy} is {_WORDS[other][0]}, but {_WORDS[kind][0]} is needed here. {_WORDS[kind][1]}",
            details={"id": tidy},
        )
    return tidy


def unknown(handle: str, kind: Kind) -> NotFound:
    shown = handle[:40]
    return NotFound(f"{shown!r} is not {_WORDS[kind][0]} that Postroom knows. {_WORDS[kind][1]}", details={"id": shown})


class Handles:
    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(self, kind: Kind, account: str, refs: Sequence[str]) -> list[str]:
        """One handle per ref, in order; the same ref always gets the same one, whichever process asks."""
        wanted = list(dict.fromkeys(refs))
        with self._database.read() as connection:
            known = _known(connection, kind, account, wanted)
        if len(known) < len(wanted):
            with self._database.transaction(durable=False) as connection:
                known = _completed(connection, kind, account, wanted)
        return [known[ref] for ref in refs]

    def known(self, kind: Kind, account: str, refs: Sequence[str]) -> list[str] | None:
        """What `issue` would answer without writing anything; None when a ref has no handle yet. Never waits."""
        with self._database.read() as connection:
            found = _known(connection, kind, account, list(dict.fromkeys(refs)))
        return [found[ref] for ref in refs] if all(ref in found for ref in refs) else None

    def resolve(self, handle: str, kind: Kind) -> Handle:
        return self.resolve_many([handle], kind)[0]

    def resolve_many(self, handles: Sequence[str], kind: Kind) -> list[Handle]:
        """In order. Raises on the first that is unknown (NotFound) or of another kind (InvalidRequest)."""
        tidy = [checked(handle, kind) for handle in handles]
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT handle, account, ref FROM handles"
                " WHERE handle IN (SELECT value FROM json_each(?)) AND kind = ?",
                (json.dumps(tidy), kind.value),
            ).fetchall()
        found = {row["handle"]: Handle(row["account"], row["ref"]) for row in rows}
        for handle in tidy:
            if handle not in found:
                raise unknown(handle, kind)
        return [found[handle] for handle in tidy]

    def rename(self, kind: Kind, account: str, renamed: Mapping[str, str]) -> None:
        """After a move: the handles of each old ref lead to its new ref, and the old ref is free for another mail."""
        changed = {old: new for old, new in renamed.items() if new and old != new}
        if changed:
            with self._database.transaction(durable=False) as connection:
                _rename(connection, kind, account, changed)


def _known(connection: sqlite3.Connection, kind: Kind, account: str, refs: Sequence[str]) -> dict[str, str]:
    rows = connection.execute(
        "SELECT ref, handle FROM handles WHERE account = ? AND kind = ?"
        " AND ref IN (SELECT value FROM json_each(?)) AND canonical = 1",
        (account, kind.value, json.dumps(refs)),
    )
    return {row["ref"]: row["handle"] for row in rows}


def _completed(connection: sqlite3.Connection, kind: Kind, account: str, refs: Sequence[str]) -> dict[str, str]:
    known = _known(connection, kind, account, refs)
    while missing := [ref for ref in refs if ref not in known]:
        connection.executemany(  # IGNORE: a new handle that is taken already is drawn again in the next round
            "INSERT OR IGNORE INTO handles (handle, kind, account, ref, canonical) VALUES (?, ?, ?, ?, 1)",
            [(new_handle(kind), kind.value, account, ref) for ref in missing],
        )
        known = _known(connection, kind, account, refs)
    return known


def _rename(connection: sqlite3.Connection, kind: Kind, account: str, renamed: Mapping[str, str]) -> None:
    """All rows are taken off their old refs before one is put on a new ref, so that chains and swaps come out right."""
    rows = connection.execute(
        "SELECT handle, ref, canonical FROM handles WHERE account = ? AND kind = ?"
        " AND ref IN (SELECT value FROM json_each(?))",
        (account, kind.value, json.dumps(list(renamed))),
    ).fetchall()
    connection.executemany("UPDATE handles SET canonical = NULL WHERE handle = ?", [(row["handle"],) for row in rows])
    for row in rows:
        new = renamed[row["ref"]]
        # Listed under its new ref before we knew of the move, it has a second handle already: both lead to it.
        taken = _known(connection, kind, account, [new])
        canonical = 1 if row["canonical"] and not taken else None
        connection.execute(
            "UPDATE handles SET ref = ?, canonical = ? WHERE handle = ?", (new, canonical, row["handle"])
        )
