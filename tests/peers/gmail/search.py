"""The search language on a mailbox with labels. Parsing, words and sizes are those of the IMAP peer.

Like there, what Gmail would guess at (unbalanced quotes, unknown operators) is refused, so that nothing comes to rely
on a guess: ``BadQuery``, which is answered with 400.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.peers.gmail.label_set import SYSTEM
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.stored import StoredMessage
from tests.peers.gmail_mail import words
from tests.peers.gmail_query import BadQuery, is_within, leaf, read_query

Found = Callable[[Any], bool]

_SPAN = re.compile(r"(\d+)([hdmy])\Z")
_HOURS = {"h": 1, "d": 24, "m": 30 * 24, "y": 365 * 24}
_PLACES = {"drafts": "DRAFT", "chats": "CHAT", "bin": "TRASH"}
_CATEGORIES = {"primary": "PERSONAL", "reservations": "UPDATES", "purchases": "UPDATES"}
_PLACED = frozenset({"INBOX", "SENT", "DRAFT", "TRASH", "SPAM"})


def search(mailbox: Mailbox, query: str, label_ids: Iterable[str], *, include_hidden: bool) -> list[StoredMessage]:
    """Newest first. Spam and trash only where they are asked for: by the flag, a label or the query itself."""
    wanted = set(label_ids)
    test, names_hidden = read_query(query, lambda field, value: _leaf(mailbox, field, value))
    shows_hidden = include_hidden or names_hidden or not wanted.isdisjoint({"TRASH", "SPAM"})
    return [
        message
        for message in mailbox
        if wanted <= message.labels and (shows_hidden or not message.is_hidden) and test(message)
    ]


def fits(mailbox: Mailbox, query: str, message: StoredMessage) -> bool:
    test, _ = read_query(query, lambda field, value: _leaf(mailbox, field, value))
    return test(message)


def _leaf(mailbox: Mailbox, field: str, value: str) -> Found:
    if field in ("from", "to", "cc", "bcc", "deliveredto") and value.lower() == "me":
        value = mailbox.address
    match field:
        case "label" | "in":
            return _placed(mailbox, value)
        case "category":
            name = "CATEGORY_" + _CATEGORIES.get(value.lower(), value.upper())
            return lambda message: name in message.labels
        case "is":
            return _marked(value.lower())
        case "has" if value.lower() in ("userlabels", "nouserlabels"):
            expected = value.lower() == "userlabels"
            return lambda message: bool(message.labels - set(SYSTEM)) is expected
        case "newer_than" | "older_than":
            moment, is_newer = _ago(mailbox, value), field == "newer_than"
            return lambda message: (message.arrived >= moment) is is_newer
        case "after" | "before" | "newer" | "older" | "larger" | "smaller" | "size":
            return leaf(field, value)  # asks for nothing but the time and the size
        case "rfc822msgid":
            return lambda message: message.message_id.strip("<>") == value.strip("<>")
        case "deliveredto":
            return lambda message: _says(message.header("Delivered-To"), value)
        case "list":
            return lambda message: _says(message.header("List-ID"), value)
    test = leaf(field, value)
    return lambda message: test(message.words)


def _placed(mailbox: Mailbox, value: str) -> Found:
    name = value.lower()
    if name == "anywhere":
        return lambda message: True
    if name == "archive":
        return lambda message: message.labels.isdisjoint(_PLACED)
    ids = {label.id for label in mailbox.labels if _plain(label.name) == _plain(value)}
    ids |= {_PLACES[name]} if name in _PLACES else set()
    return lambda message: not ids.isdisjoint(message.labels)


def _plain(label: str) -> str:
    """In a query a hyphen may stand for whatever a label's name has between its words."""
    return re.sub(r"[\s/&()|-]+", "-", label.casefold()).strip("-")


def _marked(value: str) -> Found:
    match value:
        case "read":
            return lambda message: "UNREAD" not in message.labels
        case "unread" | "starred" | "important":
            return lambda message: value.upper() in message.labels
        case "sent" | "draft":
            return lambda message: value.upper() in message.labels
    raise BadQuery(f"is:{value} means nothing")


def _ago(mailbox: Mailbox, value: str) -> datetime:
    if not (found := _SPAN.match(value)):
        raise BadQuery(f"{value} is no span of time")
    return datetime.fromtimestamp(mailbox.clock(), UTC) - timedelta(hours=int(found[1]) * _HOURS[found[2]])


def _says(text: str, value: str) -> bool:
    return is_within(words(value), words(text))
