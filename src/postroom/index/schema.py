"""The tables of an index, and how a file that contains them is migrated.

A file belongs to one owner (the embedded mailbox, a mirror) that adds its own tables after these; `Schema` is all of
it, versioned together by ``PRAGMA user_version``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

# "Post" in ASCII: distinguishes our files from any other SQLite file.
APPLICATION_ID = 0x506F7374


Step = str | Callable[[sqlite3.Connection], None]  # a script, or what no script can do


@dataclass(frozen=True, slots=True)
class Schema:
    """`steps[n]` takes a file from version n to n + 1. Steps are only ever appended."""

    steps: tuple[Step, ...]

    @property
    def version(self) -> int:
        return len(self.steps)


# mail.id is the date in seconds and a counter (see `keys`), so that the newest rows of any search come first without
# sorting. It changes with the date; the permanent name of a message is `ref`.
MAIL = """
CREATE TABLE folder (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ref TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    role TEXT,
    total INTEGER NOT NULL DEFAULT 0,
    unread INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE mail (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL UNIQUE,
    thread TEXT NOT NULL,
    folder INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    starred INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    draft INTEGER NOT NULL,
    has_attachments INTEGER NOT NULL,
    size INTEGER NOT NULL,
    date TEXT NOT NULL,
    people TEXT NOT NULL,
    subject TEXT NOT NULL,
    snippet TEXT NOT NULL,
    message_id TEXT NOT NULL,
    in_reply_to TEXT NOT NULL,
    mail_references TEXT NOT NULL
);
CREATE INDEX mail_by_folder ON mail (folder);
CREATE INDEX mail_by_thread ON mail (thread);
"""

# The full text has no copy of what it indexes; `mail_text` keeps it, compressed, because removing a message from the
# full text needs exactly the words that went in. `state` is explained in the module of that name. `hashsize` lets a
# batch of messages be collected in memory before it is written; `automerge` has 16 batches merged at once instead of
# four and four: that saves a fifth of writing, and a search is as fast. Prefixes of other lengths are found too, a
# little slower; older files also index those of two and four letters and give the same results.
WORDS = """
CREATE VIRTUAL TABLE words USING fts5 (
    subject, sender, receiver, cc, bcc, body, state,
    content='', columnsize=0, prefix='3', tokenize='unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
INSERT INTO words (words, rank) VALUES ('automerge', 16);
CREATE TABLE mail_text (id INTEGER PRIMARY KEY, words BLOB NOT NULL);
CREATE TABLE person (id INTEGER PRIMARY KEY, email TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (email, name));
CREATE TABLE mail_people (id INTEGER PRIMARY KEY, sender TEXT NOT NULL, receiver TEXT NOT NULL, cc TEXT NOT NULL);
CREATE TABLE attachment (mail INTEGER NOT NULL, name TEXT NOT NULL);
CREATE INDEX attachment_by_mail ON attachment (mail);
"""

LABELS = """
CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE);
CREATE TABLE mail_label (label INTEGER NOT NULL, mail INTEGER NOT NULL, PRIMARY KEY (label, mail)) WITHOUT ROWID;
CREATE INDEX mail_label_by_mail ON mail_label (mail);
"""

# Every Message-ID that was seen, as a message's own or in its references, and the thread it led to.
THREADS = """
CREATE TABLE thread (id INTEGER PRIMARY KEY AUTOINCREMENT, merged_into TEXT);
CREATE TABLE thread_link (message_id TEXT PRIMARY KEY, thread TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX thread_link_by_thread ON thread_link (thread);
"""

# Counts that are always correct, and a revision that tells a watcher which folder changed.
COUNTERS = """
CREATE TRIGGER mail_added AFTER INSERT ON mail BEGIN
    UPDATE folder SET total = total + 1, unread = unread + NEW.unread, revision = revision + 1 WHERE id = NEW.folder;
END;
CREATE TRIGGER mail_removed AFTER DELETE ON mail BEGIN
    UPDATE folder SET total = total - 1, unread = unread - OLD.unread, revision = revision + 1 WHERE id = OLD.folder;
END;
CREATE TRIGGER mail_changed AFTER UPDATE OF folder, unread, starred, answered ON mail BEGIN
    UPDATE folder SET total = total - 1, unread = unread - OLD.unread, revision = revision + 1 WHERE id = OLD.folder;
    UPDATE folder SET total = total + 1, unread = unread + NEW.unread, revision = revision + 1 WHERE id = NEW.folder;
END;
CREATE TRIGGER label_added AFTER INSERT ON mail_label BEGIN
    UPDATE folder SET revision = revision + 1 WHERE id = (SELECT folder FROM mail WHERE id = NEW.mail);
END;
CREATE TRIGGER label_removed AFTER DELETE ON mail_label BEGIN
    UPDATE folder SET revision = revision + 1 WHERE id = (SELECT folder FROM mail WHERE id = OLD.mail);
END;
"""

FIRST_TABLES = MAIL + WORDS + LABELS + THREADS + COUNTERS

# The body's words, compressed before the transaction (in a mirror, perhaps only later: then they are text). If this is
# NULL, `words` contains all of them.
BODIES = """
ALTER TABLE mail_text ADD COLUMN body BLOB;
"""

# A message's folders other than `mail.folder`, in which it is shown. Only a message in several folders has rows here:
# mailboxes with one folder per message pay nothing for it. Counts and revisions stay correct for these folders too.
FURTHER_FOLDERS_TABLE = """
CREATE TABLE IF NOT EXISTS mail_folder (
    mail INTEGER NOT NULL, folder INTEGER NOT NULL, PRIMARY KEY (mail, folder)
) WITHOUT ROWID;
"""
FURTHER_FOLDERS_COUNTED = """
CREATE INDEX mail_folder_by_folder ON mail_folder (folder);
CREATE TRIGGER further_folder_added AFTER INSERT ON mail_folder BEGIN
    UPDATE folder SET total = total + 1, revision = revision + 1,
        unread = unread + (SELECT unread FROM mail WHERE id = NEW.mail) WHERE id = NEW.folder;
END;
CREATE TRIGGER further_folder_removed AFTER DELETE ON mail_folder BEGIN
    UPDATE folder SET total = total - 1, revision = revision + 1,
        unread = unread - (SELECT unread FROM mail WHERE id = OLD.mail) WHERE id = OLD.folder;
END;
CREATE TRIGGER mail_changed_elsewhere AFTER UPDATE OF unread, starred, answered ON mail BEGIN
    UPDATE folder SET unread = unread + NEW.unread - OLD.unread, revision = revision + 1
        WHERE id IN (SELECT folder FROM mail_folder WHERE mail = NEW.id);
END;
CREATE TRIGGER label_added_elsewhere AFTER INSERT ON mail_label BEGIN
    UPDATE folder SET revision = revision + 1 WHERE id IN (SELECT folder FROM mail_folder WHERE mail = NEW.mail);
END;
CREATE TRIGGER label_removed_elsewhere AFTER DELETE ON mail_label BEGIN
    UPDATE folder SET revision = revision + 1 WHERE id IN (SELECT folder FROM mail_folder WHERE mail = OLD.mail);
END;
"""

FURTHER_FOLDERS = FURTHER_FOLDERS_TABLE + FURTHER_FOLDERS_COUNTED

INDEX_TABLES = FIRST_TABLES + BODIES + FURTHER_FOLDERS
