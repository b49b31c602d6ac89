"""Gmail's extensions: its search language (X-GM-RAW) and its labels (X-GM-LABELS), where a server offers X-GM-EXT-1.

Gmail's index holds whole words only, however it is queried. Its labels are its folders: a message with three of them
is in three folders, under one X-GM-MSGID.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest, ProviderError
from postroom.model.query.tree import Filename, HasAttachment, Label, Leaf, Text
from postroom.model.role_names import read_as
from postroom.model.words import words
from postroom.providers.imap.flavours import criteria
from postroom.providers.imap.flavours.criteria import ALL, NONE, Keys, any_of, searchable
from postroom.providers.querying import gmail_words
from postroom.providers.querying.bounds import Bounds, exact

if TYPE_CHECKING:
    from postroom.model.folder import Folder
    from postroom.providers.imap.session.client import Session
    from postroom.providers.imap.session.wire import Item

LABELS, IDENTITY = "X-GM-LABELS", "X-GM-MSGID"

_OWN_FOLDERS = ("[Gmail]/", "[Google Mail]/")


def said(leaf: Leaf) -> Bounds[Keys]:
    """What Gmail matches differently from other servers; parts of words and of file names are decided here."""
    match leaf:
        case Text(prefix=True):
            return Bounds(ALL, _worded(leaf.value)) if words(leaf.value) else exact(NONE)
        case Text():
            return exact(_worded(leaf.value))
        case HasAttachment():
            return exact(_raw(gmail_words.HAS_ATTACHMENT))
        case Filename():
            surely = _worded(leaf.value, gmail_words.FILENAME)
            return Bounds(any_of([surely, _raw(gmail_words.HAS_ATTACHMENT)]), surely)
        case Label():
            return exact(Keys((b"X-GM-LABELS", searchable(leaf.name))))
    return criteria.said(leaf)


def _worded(value: str, operator: str = "") -> Keys:
    phrase = gmail_words.phrase(value, operator)
    return _raw(phrase) if phrase else NONE


def _raw(query: str) -> Keys:
    return Keys((b"X-GM-RAW", searchable(f"{gmail_words.ANYWHERE} {query}")))


def read_labels(session: Session, item: Item, folder: str) -> tuple[str, ...]:
    """With that of the open folder, which Gmail leaves out; without system labels (``\\Important``, ``\\Sent``)."""
    names = {session.read_name(name) for name in item.get(LABELS) or ()}
    own = {folder} if _is_label(folder) else set()
    return tuple(sorted({name for name in names if not name.startswith("\\")} | own, key=str.casefold))


def known_labels(session: Session, folder: Folder) -> tuple[str, ...]:
    return (folder.name,) if _is_label(folder.name) else ()


def _is_label(folder: str) -> bool:
    return folder.upper() != "INBOX" and not folder.startswith(_OWN_FOLDERS)


def set_label(session: Session, uids: Sequence[int], label: str, wanted: bool) -> None:
    """Gmail creates a label that does not exist yet."""
    try:
        session.store(uids, f"{'+' if wanted else '-'}{LABELS}", [_written(label)])
    except ProviderError as refusal:
        raise refusal if refusal.details or refusal.retryable else _unusable() from None


def _written(label: str) -> str:
    """Labels are folders: one that means Sent would put a message there, or create a folder that passes for it."""
    if not label.isprintable() or label.startswith(("\\", "[")) or read_as(label) is not None:
        raise _unusable()
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unusable() -> InvalidRequest:
    return InvalidRequest(
        "Gmail does not accept this label; some names (Inbox, Sent, Spam, ...) are reserved. Choose another one.",
        details={"field": "label"},
    )
