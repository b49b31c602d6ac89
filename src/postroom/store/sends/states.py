"""The states of a send and the ways between them: the whole table, and the only one.

    PREPARED -> AWAITING_APPROVAL -> APPROVED -> RESERVED -> [HELD] -> STAGED -> SENDING(n)
    SENDING -> ACCEPTED -> DONE
            -> REJECTED                    definite permanent refusal
            -> RETRYABLE                   provably not accepted -> SENDING(n+1)
            -> UNKNOWN -> RECONCILING -> ACCEPTED | RETRYABLE | NEEDS_HUMAN

CANCELLED is reached from every state in which no submission is under way (RETRYABLE stands before SENDING(n+1)),
EXPIRED where an approval was never given. NEEDS_HUMAN is also where a promised send stops that cannot go on: a policy
that forbids it now, a server that refuses it, days of failure. Only a person leads out of it. DROPPED is a person's
decision on a send that may have been sent: it is over, and nobody knows how it ended.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    PREPARED = "prepared"
    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    RESERVED = "reserved"
    HELD = "held"
    STAGED = "staged"
    SENDING = "sending"
    ACCEPTED = "accepted"
    DONE = "done"
    REJECTED = "rejected"
    RETRYABLE = "retryable"
    UNKNOWN = "unknown"
    RECONCILING = "reconciling"
    NEEDS_HUMAN = "needs_human"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    DROPPED = "dropped"


ALLOWED: dict[State, frozenset[State]] = {
    State.PREPARED: frozenset({State.AWAITING_APPROVAL, State.RESERVED, State.CANCELLED}),
    State.AWAITING_APPROVAL: frozenset({State.APPROVED, State.CANCELLED, State.EXPIRED}),
    State.APPROVED: frozenset({State.RESERVED, State.CANCELLED, State.NEEDS_HUMAN}),
    State.RESERVED: frozenset({State.HELD, State.STAGED, State.CANCELLED, State.NEEDS_HUMAN}),
    State.HELD: frozenset({State.STAGED, State.CANCELLED, State.NEEDS_HUMAN}),
    State.STAGED: frozenset({State.SENDING, State.CANCELLED, State.NEEDS_HUMAN}),
    State.SENDING: frozenset({State.ACCEPTED, State.REJECTED, State.RETRYABLE, State.UNKNOWN, State.NEEDS_HUMAN}),
    State.ACCEPTED: frozenset({State.DONE}),
    State.RETRYABLE: frozenset({State.SENDING, State.CANCELLED, State.NEEDS_HUMAN}),
    State.UNKNOWN: frozenset({State.RECONCILING}),
    State.RECONCILING: frozenset({State.ACCEPTED, State.RETRYABLE, State.NEEDS_HUMAN}),
    State.NEEDS_HUMAN: frozenset(),
    State.DONE: frozenset(),
    State.REJECTED: frozenset(),
    State.CANCELLED: frozenset(),
    State.EXPIRED: frozenset(),
    State.DROPPED: frozenset(),
}

# What a person may decide about a send that nobody else could: it went out, send it again, or send it no more.
BY_A_PERSON: dict[State, frozenset[State]] = {
    State.NEEDS_HUMAN: frozenset({State.ACCEPTED, State.RETRYABLE, State.CANCELLED, State.DROPPED})
}

FINISHED = frozenset({State.DONE, State.REJECTED, State.CANCELLED, State.EXPIRED, State.DROPPED})
UNSENT = frozenset({State.REJECTED, State.CANCELLED, State.EXPIRED})  # finished; possibly sent only where `doubtful`
CANCELLABLE = frozenset(state for state, ways in ALLOWED.items() if State.CANCELLED in ways)

# Goes out later if nobody stops it, without another decision of a person.
BY_THEMSELVES = frozenset({State.APPROVED, State.RESERVED, State.HELD, State.STAGED, State.SENDING, State.RETRYABLE})

# A process at work holds the row in these states; in all others the row is free for any process.
OWNED = frozenset({State.PREPARED, State.RESERVED, State.STAGED, State.SENDING, State.RECONCILING, State.ACCEPTED})
# Where work waits for a worker, once the row is free and its time has come.
WORKABLE = frozenset(
    {
        State.APPROVED,
        State.RESERVED,
        State.HELD,
        State.STAGED,
        State.RETRYABLE,
        State.UNKNOWN,
        State.RECONCILING,
        State.ACCEPTED,
    }
)
