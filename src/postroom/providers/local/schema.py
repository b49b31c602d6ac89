"""What a mailbox file contains besides the index: message bytes, further identities, and deliveries."""

from __future__ import annotations

from postroom.index.marking import mark_subjects
from postroom.index.refolding import fold_sharp_s
from postroom.index.schema import BODIES, FIRST_TABLES, FURTHER_FOLDERS, Schema

# raw.number identifies a message forever: its ref. AUTOINCREMENT never reuses a number, and each file starts at another
# one: refs from a deleted file must not match messages of its successor.
# delivery is written together with its message, so that a repeated attempt finds it and adds nothing; the copy in Sent
# is recorded under the empty recipient.
_MAILBOX = """
CREATE TABLE raw (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL,
    packed INTEGER NOT NULL,
    content BLOB NOT NULL
);
INSERT INTO sqlite_sequence (name, seq) VALUES ('raw', abs(random() % 2000000000));
CREATE INDEX raw_by_digest ON raw (digest);
CREATE TABLE identity (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    email TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    signature_html TEXT NOT NULL
);
CREATE TABLE delivery (
    attempt_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    ref TEXT NOT NULL,
    PRIMARY KEY (attempt_id, recipient)
) WITHOUT ROWID;
"""

_FOLDERS = """
INSERT INTO folder (ref, name, role) VALUES
    ('INBOX', 'INBOX', 'inbox'), ('Sent', 'Sent', 'sent'), ('Drafts', 'Drafts', 'drafts'),
    ('Trash', 'Trash', 'trash'), ('Junk', 'Junk', 'junk'), ('Archive', 'Archive', 'archive');
"""

SCHEMA = Schema((FIRST_TABLES + _MAILBOX + _FOLDERS, BODIES, fold_sharp_s, FURTHER_FOLDERS, mark_subjects))
