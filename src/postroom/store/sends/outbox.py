"""The outbox: every send from the moment it is prepared until its outcome is known.

The promise: no accepted request is lost, there is no automatic duplicate, and what cannot be decided is shown to a
person. It rests on three rules. A state changes by compare-and-swap only. RESERVED takes the rate token, the
idempotency key and the approval in one transaction. SENDING is on disk before the first irreversible byte is sent.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Unpack

from postroom.model.errors import Conflict, InternalError, PermissionDenied, ProviderUnavailable
from postroom.model.ids import Kind, new_handle
from postroom.model.message import Page
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.sends import approvals, drafts, send_rows
from postroom.store.sends.history import Previews
from postroom.store.sends.idempotency import Keys
from postroom.store.sends.owner import Owner
from postroom.store.sends.rate import Rate
from postroom.store.sends.send_rows import LONGEST_REST, NewSend, Send, SendEvent, among
from postroom.store.sends.states import CANCELLABLE, FINISHED, UNSENT, State
from postroom.store.sends.submissions import Submissions
from postroom.store.sends.transitions import Changes, Transitions, refused
from postroom.store.settled_time import SettledTime

KEPT_SECONDS = 30 * 86_400.0
SHOWN_SECONDS = 7 * 86_400.0  # how long a send that reached nobody, or not everybody, is listed without being asked for
# A shared mailbox has its owner's name before the slash.
_OF_ACCOUNTS = (
    "(:account IS NULL OR account = :account) AND (:owners IS NULL OR"
    " substr(account, 1, instr(account || '/', '/') - 1) IN (SELECT value FROM json_each(:owners)))"
)

# These are entered only by their own methods (reserve, Approvals), which take what the state requires.
_GUARDED = frozenset({State.AWAITING_APPROVAL, State.APPROVED, State.RESERVED, State.EXPIRED})
_RESERVABLE = frozenset({State.PREPARED, State.APPROVED})
_LEFT_OVER = frozenset({State.CANCELLED, State.REJECTED, State.DROPPED})
_WITHDRAWABLE = frozenset({State.PREPARED, State.AWAITING_APPROVAL, State.RESERVED, State.STAGED})

Verdict = Literal["sent", "resend", "drop"]
_VERDICTS = {"sent": State.ACCEPTED, "resend": State.RETRYABLE, "drop": State.CANCELLED}


@dataclass(frozen=True, slots=True)
class Reservation:
    """`replayed`: the key stands for an earlier send, which is the one in `send`; nothing new was reserved.
    `is_late`: another call has used the preview that this one relied on, and nothing was reserved either."""

    send: Send
    replayed: bool = False
    is_late: bool = False


class Outbox:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        settled: SettledTime,
        owner: Owner,
        keys: Keys,
        rate: Rate,
        previews: Previews,
        draft_holds: drafts.DraftHolds,
        submissions: Submissions,
        transitions: Transitions,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settled = settled
        self._owner = owner
        self._keys = keys
        self._rate = rate
        self._previews = previews
        self._draft_holds = draft_holds
        self._submissions = submissions
        self._transitions = transitions

    def prepare(self, new: NewSend) -> Send:
        """Freeze a send. It is not accepted yet: whoever prepared it goes on to reserve it or to ask a person."""
        send_id = new_handle(Kind.SEND)
        with self._database.transaction(durable=False) as connection:  # the next transition syncs it too
            send = send_rows.insert(connection, send_id, new, owner=self._owner.name, at=self._clock.wall())
        self._transitions.own.add(send_id)
        return send

    def reserve(self, send_id: str, *, hold_until: float | None = None, takes_preview: bool = False) -> Reservation:
        """PREPARED or APPROVED becomes RESERVED, with its approval, preview, key and token; or nothing changes.
        `hold_until` is the end of an undo window, which a schedule of its own makes needless.

        Where the key stands for an earlier send of the same content, this one is cancelled and that one is returned;
        it is cancelled, too, where it takes a preview that is no longer there. Conflict, RateLimited and
        PermissionDenied (no valid approval) leave everything as it was.
        """
        with self._database.transaction() as connection:
            send = send_rows.load(connection, send_id)
            if send.state is not State.PREPARED:  # the first yes counts, also where another process asked the question
                self._mine(connection, send_id)
            if send.state not in _RESERVABLE:
                raise refused(send, State.RESERVED)
            if (earlier := self._earlier(connection, send)) is not None:
                self._transitions.move(connection, send_id, _RESERVABLE, State.CANCELLED)
                return Reservation(earlier, replayed=True)
            if takes_preview and not self._previews.take(connection, send.account, send.content_sha256):
                late = self._transitions.move(connection, send_id, _RESERVABLE, State.CANCELLED)
                return Reservation(late, is_late=True)
            self._take(connection, send)
            changes: Changes = {} if send.not_before else {"not_before": hold_until}
            return Reservation(self._transitions.move(connection, send_id, _RESERVABLE, State.RESERVED, changes))

    def advance(
        self, send_id: str, *, expect: State | Collection[State], to: State, **changes: Unpack[Changes]
    ) -> Send:
        """One step along the table. Conflict when the send is elsewhere, or another process works on it.

        To SENDING: counts the attempt and stamps the rate token; RateLimited when the window has filled meanwhile.
        """
        if to in _GUARDED:
            raise InternalError(f"A send cannot be moved to {to.value} by advance.")
        expected = {expect} if isinstance(expect, State) else expect
        with self._database.transaction() as connection:
            self._mine(connection, send_id)
            return self._transitions.move(connection, send_id, expected, to, changes)

    def note_submission(self, sending: Send) -> None:
        """Beside the state file, before the first byte is sent. ProviderUnavailable where that fails."""
        self._submissions.note(sending.send_id, sending.attempt)

    def catch_up(self, send: Send, reason: str) -> Send | None:
        """Where it was submitted since the state file was as it is, that learns of it and puts it before a person."""
        last = self._submissions.last(send.send_id)
        if last <= send.attempt:
            return None
        with self._database.transaction() as connection:
            self._mine(connection, send.send_id)
            connection.execute("UPDATE outbox SET attempt = ?, doubtful = 1 WHERE send_id = ?", (last, send.send_id))
            told: Changes = {"outcome": {**(send.outcome or {}), "reason": reason}}
            return self._transitions.move(connection, send.send_id, {send.state}, State.NEEDS_HUMAN, told)

    def cancel(self, send_id: str) -> Send:
        """From any state in which no submission is under way; Conflict otherwise. Any process may."""
        with self._database.transaction() as connection:
            cancelled = self._transitions.move(connection, send_id, CANCELLABLE, State.CANCELLED)
        self._note_stopped(cancelled)
        return cancelled

    def withdraw(self, send_id: str) -> Send:
        """Take back what was prepared or asked about and promised to nobody: its key is free again."""
        with self._database.transaction() as connection:
            return self._transitions.move(connection, send_id, _WITHDRAWABLE, State.CANCELLED, withdrawn=True)

    def resolve(self, send_id: str, verdict: Verdict) -> Send:
        """A person's answer for a send that needs one: it was sent, send it again, or drop it."""
        with self._database.transaction() as connection:
            send = send_rows.load(connection, send_id)
            to = State.DROPPED if verdict == "drop" and send.may_have_left else _VERDICTS[verdict]
            changes: Changes = {"outcome": {**(send.outcome or {}), "decided": verdict}}
            if verdict == "resend":
                changes["staged_ref"] = ""  # what became of it is not known: it is looked for before it is staged again
            decided = self._transitions.move(connection, send_id, {State.NEEDS_HUMAN}, to, changes, by_a_person=True)
            if verdict == "resend":
                self._submissions.resume(send_id)
        if verdict == "drop":
            self._note_stopped(decided)
        if verdict == "sent":
            self._note_sent(decided)
        return decided

    def _note_stopped(self, send: Send) -> None:
        with suppress(ProviderUnavailable):  # it is stopped all the same, as long as no backup is put back
            self._submissions.note_stopped(send.send_id)

    def _note_sent(self, send: Send) -> None:
        """By somebody, by some way: to a backup that is put back, it is one submission more than that knows of."""
        with suppress(ProviderUnavailable):
            self._submissions.note(send.send_id, send.attempt + 1)

    def was_stopped(self, send_id: str) -> bool:
        """Since the state file was as it is, and not sent again by a person since."""
        return self._submissions.is_stopped(send_id)

    def get(self, send_id: str) -> Send:
        with self._database.read() as connection:
            return send_rows.load(connection, send_id)

    def is_own(self, send_id: str) -> bool:
        """Whether this store prepared it. Any other may have been found in a backup that was restored."""
        return send_id in self._transitions.own

    def request(self, send_id: str) -> SubmitRequest:
        """The frozen bytes and their envelope, as a transport takes them. Conflict once the send is finished, and what
        was staged for it gone."""
        with self._database.read() as connection:
            send = send_rows.load(connection, send_id)
            row = connection.execute(
                "SELECT CAST(raw AS BLOB) AS raw FROM outbox_raw WHERE send_id = ?", (send.send_id,)
            ).fetchone()
        if row is None:
            raise refused(send, State.SENDING)
        return SubmitRequest(
            WireEnvelope(send.sender, send.recipients), row["raw"], send.message_id, send.send_id,
            send.thread_ref, send.draft_ref, send.save_to_sent, send.staged_ref,
        )  # fmt: skip

    def note_staged(self, send_id: str, staged_ref: str) -> Send:
        """What the provider now holds of it; empty when that is not known. Whatever the state is: what was staged for a
        send that somebody stopped meanwhile must not be forgotten either."""
        with self._database.transaction() as connection:
            send = send_rows.load(connection, send_id)
            connection.execute("UPDATE outbox SET staged_ref = ? WHERE send_id = ?", (staged_ref, send.send_id))
            return send_rows.load(connection, send.send_id)

    def may_be_staged(self, send_id: str) -> bool:
        with self._database.read() as connection:
            return send_rows.may_be_staged(connection, send_rows.load(connection, send_id))

    def nothing_staged(self, send_id: str) -> None:
        """Of this finished send the provider holds nothing, or nothing of ours: there is nothing left to compare."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE outbox SET staged_ref = '' WHERE send_id = ?", (send_id,))
            send_rows.drop_bytes(connection, send_id)

    def left_staged(self, *, limit: int = 10) -> list[Send]:
        """Sends that ended without being sent, and of which the provider may still hold what was staged."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM outbox WHERE (wake_at <= ?1 OR wake_at > ?1 + ?2)"
                " AND state IN (SELECT value FROM json_each(?3))"
                " AND (staged_ref != '' OR EXISTS (SELECT 1 FROM outbox_raw WHERE send_id = outbox.send_id)) LIMIT ?4",
                (self._clock.wall(), LONGEST_REST, among(_LEFT_OVER), limit),
            ).fetchall()
        return [send_rows.from_row(row) for row in rows]

    def put_off_clearing(self, send_id: str, until: float) -> None:
        """What was staged for a finished send could not be taken away now."""
        with self._database.transaction(durable=False) as connection:
            connection.execute("UPDATE outbox SET wake_at = ? WHERE send_id = ?", (until, send_id))

    def latest(self, account: str, tool: str, content_sha256: str) -> Send | None:
        """The newest send of exactly this content that has gone out or still may; an open question does not count."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT * FROM outbox WHERE account = ? AND tool = ? AND content_sha256 = ?"
                " AND (doubtful OR state NOT IN (SELECT value FROM json_each(?)))"
                " ORDER BY created_at DESC, rowid DESC LIMIT 1",
                (account, tool, content_sha256, among(UNSENT | {State.PREPARED})),
            ).fetchone()
        return None if row is None else send_rows.from_row(row)

    def latest_answering(self, account: str, tool: str, answers_ref: str) -> Send | None:
        """The newest send by that tool, about that message, that has gone out or still may."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT * FROM outbox WHERE account = ? AND tool = ? AND answers_ref = ?"
                " AND (doubtful OR state NOT IN (SELECT value FROM json_each(?)))"
                " ORDER BY created_at DESC, rowid DESC LIMIT 1",
                (account, tool, answers_ref, among(UNSENT | {State.PREPARED})),
            ).fetchone()
        return None if row is None else send_rows.from_row(row)

    def asked_about(self, account: str, tool: str, content_sha256: str, idempotency_key: str) -> Send | None:
        """The send of exactly this content and key whose question waits for its answer."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT * FROM outbox WHERE account = ? AND tool = ? AND content_sha256 = ? AND idempotency_key = ?"
                " AND state = ? ORDER BY created_at DESC, rowid DESC LIMIT 1",
                (account, tool, content_sha256, idempotency_key, State.PREPARED),
            ).fetchone()
        return None if row is None else send_rows.from_row(row)

    def of_draft(self, account: str, draft_ref: str) -> Send | None:
        """The send on its way, or before a person, that this saved draft went into, or that staging made it for."""
        return self.of_drafts(account, [draft_ref]).get(draft_ref)

    def of_drafts(self, account: str, draft_refs: Collection[str]) -> dict[str, Send]:
        """Those of the drafts that belong to such a send, and to which."""
        with self._database.read() as connection:
            return drafts.on_their_way(connection, account, draft_refs)

    def last_of_draft(self, account: str, draft_ref: str, *, without: str = "") -> Send | None:
        """The last send of the saved draft, other than the one `without`, that went out or may have."""
        with self._database.read() as connection:
            return drafts.last_sent(connection, account, draft_ref, without)

    def list(
        self,
        *,
        account: str | None = None,
        owners: Collection[str] | None = None,
        states: Collection[State] = tuple(State),
        limit: int = 20,
        offset: int = 0,
    ) -> Page[Send]:
        """Newest first; all of them with `limit` -1. With `owners`, only those of these accounts and of the shared
        mailboxes they open."""
        where = "state IN (SELECT value FROM json_each(:states))"
        return self._page(where, limit, offset, account=account, owners=owners, states=among(states))

    def list_open(
        self, *, account: str | None = None, owners: Collection[str] | None = None, limit: int = 20, offset: int = 0
    ) -> Page[Send]:
        """What is not over, and what ended lately without reaching everyone, unless somebody stopped it."""
        where = (
            "(state NOT IN (SELECT value FROM json_each(:finished)) OR updated_at > :lately AND"
            " (state IN (SELECT value FROM json_each(:unsent)) OR json_extract(outcome, '$.refused') != '{}'))"
        )
        unsent = among({State.REJECTED, State.EXPIRED, State.DROPPED})
        values = {"finished": among(FINISHED), "unsent": unsent, "lately": self._clock.wall() - SHOWN_SECONDS}
        return self._page(where, limit, offset, account=account, owners=owners, **values)

    def _page(
        self, where: str, limit: int, offset: int, *, owners: Collection[str] | None, **values: object
    ) -> Page[Send]:
        rows_where = f"FROM outbox WHERE {where} AND {_OF_ACCOUNTS}"
        values |= {"owners": None if owners is None else json.dumps(sorted(owners)), "limit": limit, "offset": offset}
        with self._database.read() as connection:
            total = connection.execute(f"SELECT count(*) {rows_where}", values).fetchone()[0]
            rows = connection.execute(
                f"SELECT * {rows_where} ORDER BY created_at DESC, rowid DESC LIMIT :limit OFFSET :offset", values
            ).fetchall()
        return Page(tuple(map(send_rows.from_row, rows)), total, limit, offset, offset + len(rows) < total)

    def unfinished(self) -> dict[State, int]:
        """How many sends there are in each state that is not final. Raises also where none could be changed."""
        counting = "SELECT state, count(*) FROM outbox WHERE state NOT IN (SELECT value FROM json_each(?)) GROUP BY 1"
        self._submissions.check()
        with self._database.read() as connection:
            self._database.check_in_place()
            return {State(state): number for state, number in connection.execute(counting, (among(FINISHED),))}

    def sent_refs(self, account: str, *, without: str) -> frozenset[str]:
        """The provider's refs of what the account's other sends became."""
        ref = "json_extract(outcome, '$.message_ref')"
        found = f"SELECT {ref} FROM outbox WHERE account = ? AND send_id <> ? AND {ref} <> ''"  # noqa: S608
        with self._database.read() as connection:
            return frozenset(str(row[0]) for row in connection.execute(found, (account, without)))

    def events(self, send_id: str) -> tuple[SendEvent, ...]:
        """Every state it has been in, oldest first."""
        with self._database.read() as connection:
            send = send_rows.load(connection, send_id)
            rows = connection.execute(
                "SELECT state, at, attempt FROM outbox_events WHERE send_id = ? ORDER BY rowid", (send.send_id,)
            ).fetchall()
        return tuple(SendEvent(State(row["state"]), row["at"], row["attempt"]) for row in rows)

    def prune(self, connection: sqlite3.Connection) -> None:
        """Forget sends that are finished, or were never continued, after 30 days, unless a key stands for them."""
        old = connection.execute(
            "SELECT send_id FROM outbox WHERE updated_at < ? AND state IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.send_id = outbox.send_id)",
            (self._settled.wall(connection) - KEPT_SECONDS, among(FINISHED | {State.PREPARED})),
        ).fetchall()
        for table in ("outbox_raw", "outbox_events", "approvals", "outbox"):
            connection.executemany(f"DELETE FROM {table} WHERE send_id = :send_id", map(dict, old))  # noqa: S608 (ours)

    def _mine(self, connection: sqlite3.Connection, send_id: str) -> None:
        """Conflict where another process holds it. A dead holder's sends are freed by `WorkList.recover` first."""
        send = send_rows.load(connection, send_id)
        if send.owner not in (None, self._owner.name):
            raise Conflict(
                f"Another process is working on the send {send.send_id}. Call list_outbox to see the result.",
                details={"send_id": send.send_id, "state": send.state.value},
            )

    def _earlier(self, connection: sqlite3.Connection, send: Send) -> Send | None:
        if not send.idempotency_key:
            return None
        held = self._keys.judge(connection, send.account, send.tool, send.idempotency_key, send.content_sha256)
        return None if held is None or held.send_id == send.send_id else held

    def _take(self, connection: sqlite3.Connection, send: Send) -> None:
        if send.state is State.PREPARED:
            self._draft_holds.check_free(connection, send)
        if send.approval_id and not approvals.consume(
            connection, send.approval_id, send.content_sha256, self._clock.wall()
        ):
            raise PermissionDenied(
                "The approval of this send is missing, already used or for different content. Nothing was sent; "
                "send the email again to request a new approval."
            )
        self._rate.take(connection, send.account, send.send_id)
        if send.idempotency_key:
            self._keys.take(connection, send)
