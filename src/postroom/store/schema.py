"""The tables, as numbered migrations: a list is never edited once released, only followed by the next.

Times are seconds of the wall clock. A *stamp* (wall, boottime, boot_id) is for intervals that must not shrink when the
clock is set.
"""

from __future__ import annotations

_FIRST = (
    # `canonical` is 1 for the handle that is given out for a ref and NULL for older ones that lead to the same message:
    # NULLs are distinct to UNIQUE, so that there is one canonical handle and any number of others.
    """CREATE TABLE handles (
        handle TEXT PRIMARY KEY, kind TEXT NOT NULL, account TEXT NOT NULL, ref TEXT NOT NULL, canonical INTEGER,
        UNIQUE (account, kind, ref, canonical)) WITHOUT ROWID""",
    """CREATE TABLE operations (
        operation_id TEXT PRIMARY KEY, account TEXT NOT NULL, action TEXT NOT NULL, items TEXT NOT NULL,
        detail TEXT NOT NULL, at REAL NOT NULL, undone_at REAL) WITHOUT ROWID""",
    "CREATE INDEX operations_by_time ON operations (at)",
    """CREATE TABLE outbox (
        send_id TEXT PRIMARY KEY, account TEXT NOT NULL, tool TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
        content_sha256 TEXT NOT NULL, sender TEXT NOT NULL, recipients TEXT NOT NULL, message_id TEXT NOT NULL,
        thread_ref TEXT NOT NULL, draft_ref TEXT NOT NULL, save_to_sent INTEGER NOT NULL,
        idempotency_key TEXT NOT NULL, not_before REAL, wake_at REAL NOT NULL, attempt INTEGER NOT NULL,
        outcome TEXT, approval_id TEXT NOT NULL, owner TEXT, created_at REAL NOT NULL, updated_at REAL NOT NULL)""",
    "CREATE INDEX outbox_by_state ON outbox (state, wake_at)",
    "CREATE INDEX outbox_by_content ON outbox (account, tool, content_sha256)",
    "CREATE INDEX outbox_by_age ON outbox (created_at)",
    # The bytes are stored apart, so that lists never read them and a finished send can drop them.
    "CREATE TABLE outbox_raw (send_id TEXT PRIMARY KEY, raw BLOB NOT NULL)",
    """CREATE TABLE outbox_events (
        send_id TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL, attempt INTEGER NOT NULL)""",
    "CREATE INDEX outbox_events_by_send ON outbox_events (send_id)",
    """CREATE TABLE keys (
        account TEXT NOT NULL, tool TEXT NOT NULL, key TEXT NOT NULL, send_id TEXT NOT NULL UNIQUE,
        wall REAL NOT NULL, boottime REAL NOT NULL, boot_id TEXT NOT NULL,
        PRIMARY KEY (account, tool, key)) WITHOUT ROWID""",
    """CREATE TABLE rate_tokens (
        send_id TEXT PRIMARY KEY, account TEXT NOT NULL, wall REAL NOT NULL, boottime REAL NOT NULL,
        boot_id TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX rate_tokens_by_account ON rate_tokens (account)",
    """CREATE TABLE approvals (
        approval_id TEXT PRIMARY KEY, send_id TEXT NOT NULL UNIQUE, content_sha256 TEXT NOT NULL, state TEXT NOT NULL,
        who TEXT NOT NULL, how TEXT NOT NULL, source TEXT UNIQUE, asked TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL, expires_at REAL NOT NULL,
        decided_at REAL, consumed_at REAL) WITHOUT ROWID""",
    "CREATE INDEX approvals_by_state ON approvals (state, expires_at)",
    """CREATE TABLE previews (
        account TEXT NOT NULL, content_sha256 TEXT NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (account, content_sha256)) WITHOUT ROWID""",
    """CREATE TABLE duplicates (
        account TEXT NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (account, digest)) WITHOUT ROWID""",
    """CREATE TABLE recipients (
        account TEXT NOT NULL, email TEXT NOT NULL, PRIMARY KEY (account, email)) WITHOUT ROWID""",
    """CREATE TABLE audit (
        seq INTEGER PRIMARY KEY, entry TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL)""",
    # The end of the chain is kept apart, so that entries cut off the end are missed.
    "CREATE TABLE audit_head (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE audit_mirrors (folder TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID",
)

_SECOND = (
    # When a caller wants it sent, in ISO 8601: part of what a person approves, unlike the end of an undo window.
    "ALTER TABLE outbox ADD COLUMN send_at TEXT NOT NULL DEFAULT ''",
    # 1: an attempt may have reached the recipients and nobody could find out. Never cleared.
    "ALTER TABLE outbox ADD COLUMN doubtful INTEGER NOT NULL DEFAULT 0",
    """UPDATE outbox SET doubtful = 1
        WHERE send_id IN (SELECT send_id FROM outbox_events WHERE state = 'needs_human')""",
    # A person's "drop" was noted like a provider's refusal, which it was not.
    "UPDATE outbox SET state = 'dropped' WHERE doubtful AND state = 'rejected'",
    "CREATE INDEX outbox_by_draft ON outbox (account, draft_ref) WHERE draft_ref != ''",
    # Approval files that are promised but not yet in the vault: the next process writes them.
    "CREATE TABLE unwritten_letters (approval_id TEXT PRIMARY KEY, name TEXT NOT NULL, content BLOB NOT NULL)",
    # Accounts whose login was refused: nothing is submitted for them before `probe_at`.
    """CREATE TABLE account_pauses (
        account TEXT PRIMARY KEY, reason TEXT NOT NULL, since REAL NOT NULL, failures INTEGER NOT NULL,
        probe_at REAL NOT NULL) WITHOUT ROWID""",
    # Whom Sent named was remembered too, and tools could fill Sent: only whom the provider took a message for is kept.
    "DELETE FROM recipients",
    """INSERT OR IGNORE INTO recipients (account, email) SELECT account, lower(value)
        FROM outbox, json_each(outbox.outcome, '$.accepted') WHERE state = 'done' AND outcome IS NOT NULL""",
    # What is valid for a time is so by both clocks. An older approval has no boot and is judged by the wall clock.
    "ALTER TABLE previews ADD COLUMN boottime REAL NOT NULL DEFAULT 0",
    "ALTER TABLE previews ADD COLUMN boot_id TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE approvals ADD COLUMN boottime REAL NOT NULL DEFAULT 0",
    "ALTER TABLE approvals ADD COLUMN boot_id TEXT NOT NULL DEFAULT ''",
)

_THIRD = (
    # The message it answers or forwards, to be marked once it was accepted: a handle, which follows the message when it
    # is moved, or a Message-ID. Not part of the digest: it changes nothing that is sent.
    "ALTER TABLE outbox ADD COLUMN answers_ref TEXT NOT NULL DEFAULT ''",
    # For lists of what was sent: the bytes of a finished send are gone.
    "ALTER TABLE outbox ADD COLUMN subject TEXT NOT NULL DEFAULT ''",
)

_FOURTH = (
    # What the provider was given ahead of the submission (a draft, an object to submit). Not part of the digest: it is
    # made after the approval, and what is there is compared with the frozen bytes instead.
    "ALTER TABLE outbox ADD COLUMN staged_ref TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX outbox_by_staged ON outbox (account, staged_ref) WHERE staged_ref != ''",
    # 1: the frozen content is an action of the provider's own and no RFC 5322 message.
    "ALTER TABLE outbox ADD COLUMN native INTEGER NOT NULL DEFAULT 0",
    # How long a finished send's idempotency key is kept, where the caller's dialect says so; NULL: as long as usual.
    "ALTER TABLE outbox ADD COLUMN key_seconds REAL",
    "ALTER TABLE keys ADD COLUMN kept_seconds REAL",
)

_FIFTH = (
    # Rows are never removed: the highest number of a folder is how many were ever given out there.
    """CREATE TABLE numbers (
        account TEXT NOT NULL, folder TEXT NOT NULL, number INTEGER NOT NULL, ref TEXT NOT NULL,
        PRIMARY KEY (account, folder, number), UNIQUE (account, folder, ref)) WITHOUT ROWID""",
)

_SIXTH = (
    # Rules are kept as they were written (`source`); the other columns repeat what lists and schedules need.
    """CREATE TABLE rules (
        rule_id TEXT PRIMARY KEY, account TEXT NOT NULL, name TEXT NOT NULL, name_key TEXT NOT NULL,
        source TEXT NOT NULL, version TEXT NOT NULL, enabled INTEGER NOT NULL, every_minutes INTEGER,
        is_proven INTEGER NOT NULL DEFAULT 0, created_at REAL NOT NULL, next_run_at REAL, last_run_at REAL,
        last_result TEXT NOT NULL DEFAULT '', UNIQUE (account, name_key)) WITHOUT ROWID""",
    """CREATE TABLE plans (
        plan_id TEXT PRIMARY KEY, account TEXT NOT NULL, rule_id TEXT NOT NULL, name TEXT NOT NULL,
        source TEXT NOT NULL, items TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'ready', owner TEXT,
        operation_id TEXT NOT NULL DEFAULT '', report TEXT, created_at REAL NOT NULL, expires_at REAL NOT NULL,
        is_scheduled INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX plans_by_rule ON plans (rule_id, created_at)",
    "CREATE INDEX plans_by_time ON plans (created_at)",
    """CREATE TABLE rule_forwards (
        account TEXT NOT NULL, name_key TEXT NOT NULL, mail TEXT NOT NULL, target TEXT NOT NULL, send_id TEXT NOT NULL,
        at REAL NOT NULL, PRIMARY KEY (account, name_key, mail, target)) WITHOUT ROWID""",
    # The operation that this one is a part of: undoing that one undoes all its parts.
    "ALTER TABLE operations ADD COLUMN part_of TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX operations_by_whole ON operations (part_of) WHERE part_of != ''",
)

_SEVENTH = (
    # Addresses that were only written to because a message named them for leaving its list: their copies in Sent are no
    # sign that somebody wants to write to them.
    """CREATE TABLE list_addresses (
        account TEXT NOT NULL, email TEXT NOT NULL, PRIMARY KEY (account, email)) WITHOUT ROWID""",
    # The address that an account's name stood for when it was last opened.
    "CREATE TABLE account_addresses (account TEXT PRIMARY KEY, address TEXT NOT NULL) WITHOUT ROWID",
)

_EIGHTH = (
    # The mailbox that an account's name stood for first: see `Mailboxes.kept_as`.
    "CREATE TABLE first_mailboxes (account TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
)

_NINTH = (
    # Who is undoing it: an undoing that its process did not live to finish is not taken for done.
    "ALTER TABLE operations ADD COLUMN undoer TEXT",
)

_TENTH = (
    # The arguments of the call that asked for it, so that the same call is known again when what it names is gone.
    "ALTER TABLE outbox ADD COLUMN call_sha256 TEXT NOT NULL DEFAULT ''",
)

_ELEVENTH = (
    # Saved drafts that a process looks at, changes or sends off in this moment: see `sends.drafts`.
    """CREATE TABLE draft_holds (
        account TEXT NOT NULL, draft_ref TEXT NOT NULL, owner TEXT NOT NULL,
        PRIMARY KEY (account, draft_ref)) WITHOUT ROWID""",
)

_TWELFTH = (
    # What the clocks showed at some time, and what they are believed to have shown: see `settled_time`.
    """CREATE TABLE settled_time (
        only INTEGER PRIMARY KEY CHECK (only = 1), settled REAL NOT NULL, wall REAL NOT NULL, boottime REAL NOT NULL,
        boot_id TEXT NOT NULL)""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    *(_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH, _TENTH),
    *(_ELEVENTH, _TWELFTH),
)
