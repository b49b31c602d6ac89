"""The state of a message as tokens in the full text: its folders, flags and labels, whether it has attachments.

A search is then one expression over words and state together; looking each hit up in `mail` would cost ten times as
much. State changes often and words never, so a change replaces single tokens: the full text stores each token
independently of the others of its message.

Each token is one private-use character. None comes from a message's text, and a single character has no prefix, so
that removing one token cannot remove the entry of a common prefix.

Beside the state stand the words of the subject, each with a mark before it. A word has one list of the messages that
contain it anywhere: to find those that have it in the subject, all of them would be passed over, the more the larger
the mailbox is. A marked word has a list of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache

from postroom.model.query.tree import Flag
from postroom.model.words import words as split

ANY = "\ue000"  # every message has it
HAS_ATTACHMENT = "\ue001"
FLAGS = {"unread": "\ue002", "starred": "\ue003", "answered": "\ue004", "draft": "\ue005"}  # by column of `mail`
PERSON = "\ue010"  # starts the token of a correspondent, see `people`
_OF_SUBJECT = "\ue011"  # starts a word of the subject

# What a flag of the query language means for a column.
CLAIMS: dict[Flag, tuple[str, bool]] = {
    "unread": ("unread", True),
    "read": ("unread", False),
    "starred": ("starred", True),
    "unstarred": ("starred", False),
    "answered": ("answered", True),
    "draft": ("draft", True),
}

_COLUMNS = "subject, sender, receiver, cc, bcc, body, state"
ADD = f"INSERT INTO words (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
DROP = f"INSERT INTO words (words, rowid, {_COLUMNS}) VALUES ('delete', ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_NO_WORDS = ("",) * 6

Words = tuple[str, ...]  # of every column except the state


def folder_token(folder: int) -> str:
    return chr(0xF0000 + folder)


def label_token(label: int) -> str:
    return chr(0x100000 + label)


def state_of(connection: sqlite3.Connection, key: int) -> str:
    row = connection.execute(
        f"SELECT folder, has_attachments, {', '.join(FLAGS)} FROM mail WHERE id = ?",  # noqa: S608
        (key,),
    ).fetchone()
    labels = connection.execute("SELECT label FROM mail_label WHERE mail = ?", (key,))
    further = connection.execute("SELECT folder FROM mail_folder WHERE mail = ?", (key,))
    folders = [row[0], *(folder for (folder,) in further)]
    return state_text(folders, row[1], row[2:], [label for (label,) in labels])


def state_text(folders: Iterable[int], has_attachments: bool, flags: Sequence[bool], labels: Iterable[int]) -> str:
    """`flags` in the order of FLAGS."""
    return _state_text(tuple(folders), bool(has_attachments), tuple(flags), tuple(labels))


@lru_cache(maxsize=1024)  # most messages of a folder have the same
def _state_text(
    folders: tuple[int, ...], has_attachments: bool, flags: tuple[bool, ...], labels: tuple[int, ...]
) -> str:
    tokens = [ANY, *map(folder_token, folders), *([HAS_ATTACHMENT] if has_attachments else [])]
    tokens += [token for token, is_set in zip(FLAGS.values(), flags, strict=True) if is_set]
    return " ".join([*tokens, *map(label_token, labels)])


def marked(subject: str) -> str:
    """Its words in order, as the full text has them beside the state; empty if there are none."""
    return " ".join([_OF_SUBJECT + word for word in split(subject)])


def add_words(connection: sqlite3.Connection, words: Iterable[tuple[int, Words, str]]) -> None:
    """Add messages, each with its state."""
    connection.executemany(ADD, [(key, *texts, _with_subject(state, texts)) for key, texts, state in words])


def drop_words(connection: sqlite3.Connection, words: Iterable[tuple[int, Words]]) -> None:
    """Remove messages, before their rows are removed. The words must be those that were added."""
    rows = [(key, *texts, _with_subject(state_of(connection, key), texts)) for key, texts in words]
    connection.executemany(DROP, rows)


def _with_subject(state: str, texts: Words) -> str:
    return f"{state} {marked(texts[0])}"


def exchange(connection: sqlite3.Connection, keys: Iterable[int], *, drop: str = "", add: str = "") -> None:
    """Replace tokens that these messages have by tokens that they do not have. The full text counts entries, so
    removing and adding always go together, even if one of them is empty."""
    for key in sorted(keys):
        connection.execute(DROP, (key, *_NO_WORDS, drop))
        connection.execute(ADD, (key, *_NO_WORDS, add))
