"""Short handles for refs: one message has one handle, a handle never comes to mean another message, a move breaks
none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from postroom.model.errors import InvalidRequest, NotFound, ProviderUnavailable
from postroom.model.ids import Kind, is_handle, new_handle
from postroom.sqlite.database import remembered
from postroom.store.database import Database
from postroom.store.mailboxes import Mailboxes

_WORDS = {
    Kind.EMAIL: ("an email id", "List or search emails again to get a current email_id."),
    Kind.THREAD: ("a thread id", "List or search emails again to get a current thread_id."),
    Kind.DRAFT: ("a draft id", "Call list_drafts to get a current draft_id."),
    Kind.OPERATION: ("an operation id", "Use the operation_id that the change you want to undo returned."),
    Kind.SEND: ("a send id", "Call list_outbox to see the sends."),
    Kind.APPROVAL: ("an approval id", "List the approvals to see their ids."),
    Kind.RULE: ("a rule id", "Call list_rules to see the rules."),
    Kind.PLAN: ("a plan id", "Call run_rule_plan to make a new plan."),
}
_BETTER_HINTS = {
    (Kind.DRAFT, Kind.EMAIL): "To read a draft, list the emails of mailbox drafts: each has its email_id there.",
}
_KINDS = {kind.value: kind for kind in Kind}
_MOST = 10_000  # handles of one kind and account that are kept in memory


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
        hint = _BETTER_HINTS.get((other, kind), _WORDS[kind][1])
        raise InvalidRequest(
            f"{tidy} is {_WORDS[other][0]}, but {_WORDS[kind][0]} is needed here. {hint}",
            reason="unknown_id",
            details={"id": tidy},
        )
    return tidy


def unknown(handle: str, kind: Kind) -> NotFound:
    shown = handle[:40]
    return NotFound(
        f"{shown!r} is not {_WORDS[kind][0]} that Postroom knows. {_WORDS[kind][1]}",
        reason="unknown_id",
        details={"id": shown},
    )


class _Seen:
    """Handles by their refs, as long as nobody writes to the file: then a ref may come to have another one."""

    def __init__(self, _connection: sqlite3.Connection) -> None:
        self._found: dict[tuple[str, Kind], dict[str, str]] = {}

    def handles(self, mailbox: str, wanted: Mapping[Kind, Sequence[str]]) -> list[list[str]] | None:
        """In order; None where one was not looked up, or was not found."""
        try:
            return [list(map(self._of(mailbox, kind).__getitem__, refs)) for kind, refs in wanted.items()]
        except KeyError:
            return None

    def look_up(self, connection: sqlite3.Connection, mailbox: str, kind: Kind, refs: Sequence[str]) -> None:
        found = self._of(mailbox, kind)
        if len(found) > _MOST:
            found.clear()
        missing = [ref for ref in refs if ref not in found]
        if missing:
            found |= _known(connection, kind, mailbox, missing)

    def _of(self, mailbox: str, kind: Kind) -> dict[str, str]:
        return self._found.setdefault((mailbox, kind), {})


class Handles:
    """Kept by mailbox (see `Mailboxes`): one that an account's name no longer stands for has none that are known."""

    def __init__(self, database: Database, mailboxes: Mailboxes | None = None) -> None:
        self._database = database
        self._mailboxes = mailboxes or Mailboxes(database)

    def issue(self, kind: Kind, account: str, refs: Sequence[str]) -> list[str]:
        """One handle per ref, in order; the same ref always gets the same one, whichever process asks."""
        return self.issue_each(account, {kind: refs})[0]

    def issue_each(self, account: str, wanted: Mapping[Kind, Sequence[str]]) -> list[list[str]]:
        """`issue` for several kinds in one go."""
        known = self.known(account, wanted)
        if known is not None:
            return known
        mailbox = self._mailboxes.kept_as(account)
        with self._database.transaction(durable=False) as connection:
            return [_completed(connection, kind, mailbox, refs) for kind, refs in wanted.items()]

    def known(self, account: str, wanted: Mapping[Kind, Sequence[str]]) -> list[list[str]] | None:
        """What `issue_each` would answer without writing anything; None when a ref has no handle yet, or the file is
        locked. Never waits."""
        try:
            return self._known(self._mailboxes.kept_as(account), wanted)
        except ProviderUnavailable:
            return None

    def _known(self, mailbox: str, wanted: Mapping[Kind, Sequence[str]]) -> list[list[str]] | None:
        with self._database.snapshot(waits=False) as connection:
            seen = remembered(connection, _Seen)
            for kind, refs in wanted.items():
                seen.look_up(connection, mailbox, kind, refs)
            return seen.handles(mailbox, wanted)

    def resolve(self, handle: str, kind: Kind, *, waits: bool = True) -> Handle:
        return self.resolve_many([handle], kind, waits=waits)[0]

    def resolve_many(self, handles: Sequence[str], kind: Kind, *, waits: bool = True) -> list[Handle]:
        """In order. Raises on the first that is unknown (NotFound) or of another kind (InvalidRequest)."""
        tidy = [checked(handle, kind) for handle in handles]
        with self._database.read(waits=waits) as connection:
            rows = connection.execute(
                "SELECT handle, account, ref FROM handles WHERE handle IN (SELECT value FROM json_each(?))",
                (json.dumps(tidy),),
            ).fetchall()
        found = {row["handle"]: row for row in rows}
        return [self._resolved(found.get(handle), handle, kind) for handle in tidy]

    def _resolved(self, row: sqlite3.Row | None, handle: str, kind: Kind) -> Handle:
        account = self._mailboxes.account_of(row["account"]) if row is not None else None
        if row is None or account is None:
            raise unknown(handle, kind)
        return Handle(account, row["ref"])

    def owners(self, kind: Kind, refs: Sequence[str]) -> dict[str, list[str]]:
        """The accounts for which each of the refs was ever shown; none for one that was only shown for a mailbox that
        its account's name stood for before."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT ref, account FROM handles WHERE kind = ? AND ref IN (SELECT value FROM json_each(?))",
                (kind.value, json.dumps(list(refs))),
            ).fetchall()
        found: dict[str, set[str]] = {}
        for row in rows:
            account = self._mailboxes.account_of(row["account"])
            found.setdefault(row["ref"], set()).update(() if account is None else (account,))
        return {ref: sorted(accounts) for ref, accounts in found.items()}

    def rename(self, kind: Kind, account: str, renamed: Mapping[str, str]) -> None:
        """After a move: the handles of each old ref lead to its new ref, and the old ref is free for another
        message."""
        changed = {old: new for old, new in renamed.items() if new and old != new}
        if changed:
            with self._database.transaction(durable=False) as connection:
                _rename(connection, kind, self._mailboxes.kept_as(account), changed)

    def follow(self, connection: sqlite3.Connection, account: str, ref_after: Callable[[str], str]) -> None:
        """After a folder was renamed: every handle of the account leads to what its ref is now."""
        mailbox = self._mailboxes.kept_as(account)
        rows = connection.execute("SELECT kind, ref FROM handles WHERE account = ?", (mailbox,)).fetchall()
        changed: dict[str, dict[str, str]] = {}
        for kind, ref in rows:
            if (new := ref_after(ref)) != ref:
                changed.setdefault(kind, {})[ref] = new
        for kind, renamed in changed.items():
            _rename(connection, Kind(kind), mailbox, renamed)


def _known(connection: sqlite3.Connection, kind: Kind, mailbox: str, refs: Iterable[str]) -> dict[str, str]:
    wanted = list(dict.fromkeys(refs))
    if len(wanted) == 1:  # for a message that is read, JSON would be most of the cost
        found = connection.execute(
            "SELECT ref, handle FROM handles WHERE account = ? AND kind = ? AND ref = ? AND canonical = 1",
            (mailbox, kind.value, wanted[0]),
        )
        return dict(found.fetchall())
    row = connection.execute(  # CROSS: ref by ref through the index
        "SELECT json_group_object(ref, handle) FROM json_each(?) AS wanted CROSS JOIN handles"
        " ON account = ? AND kind = ? AND ref = wanted.value AND canonical = 1",
        (json.dumps(wanted), mailbox, kind.value),
    ).fetchone()
    known: dict[str, str] = json.loads(row[0])
    return known


def _completed(connection: sqlite3.Connection, kind: Kind, mailbox: str, refs: Sequence[str]) -> list[str]:
    known = _known(connection, kind, mailbox, refs)
    while missing := dict.fromkeys(ref for ref in refs if ref not in known):
        connection.executemany(  # IGNORE: a new handle that is taken already is drawn again in the next round
            "INSERT OR IGNORE INTO handles (handle, kind, account, ref, canonical) VALUES (?, ?, ?, ?, 1)",
            [(new_handle(kind), kind.value, mailbox, ref) for ref in missing],
        )
        known |= _known(connection, kind, mailbox, missing)
    return [known[ref] for ref in refs]


def _rename(connection: sqlite3.Connection, kind: Kind, mailbox: str, renamed: Mapping[str, str]) -> None:
    """All rows are taken off their old refs before one is put on a new ref, so that chains and swaps come out right."""
    rows = connection.execute(
        "SELECT handle, ref, canonical FROM handles WHERE account = ? AND kind = ?"
        " AND ref IN (SELECT value FROM json_each(?))",
        (mailbox, kind.value, json.dumps(list(renamed))),
    ).fetchall()
    connection.executemany("UPDATE handles SET canonical = NULL WHERE handle = ?", [(row["handle"],) for row in rows])
    for row in rows:
        new = renamed[row["ref"]]
        # Listed under its new ref before we knew of the move, it has a second handle already: both lead to it.
        taken = _known(connection, kind, mailbox, [new])
        canonical = 1 if row["canonical"] and not taken else None
        connection.execute(
            "UPDATE handles SET ref = ?, canonical = ? WHERE handle = ?", (new, canonical, row["handle"])
        )
