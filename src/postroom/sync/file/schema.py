"""What a mirror's file contains besides the index.

`mail.ref` is the provider's current ref. It changes when a message is moved or its folder is reset; the row, its words
and its content stay, and `renamed` tells the handles (see `handles`).
"""

from __future__ import annotations

from postroom.index.marking import mark_subjects
from postroom.index.schema import INDEX_TABLES, Schema

# mirrored_folder.number is folder.id.
#   identity  the server's id of a folder, the same after a rename; empty where it has none.
#   epoch     numbers of another epoch mean other messages (IMAP's UIDVALIDITY).
#   cursor    up to where changes are known; empty before the first time, and after an interrupted comparison.
#   low       everything from this number upwards is in the index: the fill goes downwards from the newest.
#             NULL: not begun. Without numbers, the second since 1970 from which on everything is in the index.
#   is_filled nothing below `low` is missing: it is older than the settings ask for, or there is nothing.
#   as_of     when the server last confirmed the folder's state, in seconds since 1970; NULL: never.
#   is_left_out  by the settings.
#   refusal   why the server did not let it be read when that was last tried; empty: it did.
#   refused_at  when that was; NULL where it did, or where it said that nobody may.
#   is_gone   the server no longer has it; it is removed when what was in it has been looked for elsewhere.
#
# mirrored.ref is mail.ref. `number` is the message's number in `folder`, both 0 where the provider has no numbers.
# `walk` is the latest comparison of everything that saw it there (see `by_listing`).
# `identity` is the same in all folders and after a move (see `identity`); empty where nothing tells, and pending where
# the bytes in the spool do. `added_at` is when the message was first seen there.
#
# content.id is mirrored.id; `form` is explained in `contents`.
#
# former are messages that disappeared: where one appears elsewhere later, it was moved, and its handles follow.
#
# renamed are changes of refs that the store's handles do not know yet. They are written together with the change, so
# that a killed process loses none.
_MIRROR = """
CREATE TABLE mirrored_folder (
    number INTEGER PRIMARY KEY,
    identity TEXT NOT NULL DEFAULT '',
    epoch TEXT NOT NULL DEFAULT '',
    cursor TEXT NOT NULL DEFAULT '',
    low INTEGER,
    is_filled INTEGER NOT NULL DEFAULT 0,
    as_of REAL,
    is_left_out INTEGER NOT NULL DEFAULT 0,
    is_gone INTEGER NOT NULL DEFAULT 0,
    server_total INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE mirrored (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL UNIQUE,
    folder INTEGER NOT NULL,
    number INTEGER NOT NULL,
    identity TEXT NOT NULL,
    added_at REAL NOT NULL,
    walk INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX mirrored_by_place ON mirrored (folder, number);
CREATE INDEX mirrored_by_identity ON mirrored (identity) WHERE identity != '';
CREATE INDEX mail_by_message_id ON mail (message_id) WHERE message_id != '';
CREATE TABLE content (id INTEGER PRIMARY KEY, form INTEGER NOT NULL, content BLOB NOT NULL);
CREATE TABLE former (
    ref TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    gone_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX former_by_identity ON former (identity) WHERE identity != '';
CREATE TABLE renamed (id INTEGER PRIMARY KEY AUTOINCREMENT, old TEXT NOT NULL, new TEXT NOT NULL);
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

# What a mirror that was thrown away had: see `carrying`.
_CARRIED = """
CREATE TABLE carried (ref TEXT PRIMARY KEY, identity TEXT NOT NULL) WITHOUT ROWID;
"""

# Messages whose bytes are in the spool: see the module of that name. spooled.id is mirrored.id.
_SPOOLED = """
CREATE TABLE spooled (id INTEGER PRIMARY KEY, place BLOB NOT NULL);
"""

_REFUSED = """
ALTER TABLE mirrored_folder ADD COLUMN refusal TEXT NOT NULL DEFAULT '';
ALTER TABLE mirrored_folder ADD COLUMN refused_at REAL;
"""

# Few: those of which there is only what a list shows, among others (see `unread`).
_BARE = "CREATE INDEX IF NOT EXISTS mirrored_bare ON mirrored (id) WHERE identity = '';"

# carried.resets: after how many resets in a row, of which none was completed, it was first seen there. The step also
# tells earlier versions, which do not know them, of identities that are pending and of words that are not packed yet.
_CARRIED_AGAIN = "ALTER TABLE carried ADD COLUMN resets INTEGER NOT NULL DEFAULT 0;"

SCHEMA = Schema((INDEX_TABLES + _MIRROR, _CARRIED, _SPOOLED, mark_subjects, _REFUSED, _BARE, _CARRIED_AGAIN))
