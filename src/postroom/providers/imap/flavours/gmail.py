"""Gmail's own words: its search language (X-GM-RAW) and its labels (X-GM-LABELS), where a server offers X-GM-EXT-1.

Gmail's index holds whole words only, whichever way it is asked. Its labels are its folders: a mail with three of them
lies in three folders, under one X-GM-MSGID.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.model.errors import InvalidRequest, ProviderError
from postroom.model.query.tree import Filename, HasAttachment, Label, Leaf, Text
from postroom.model.role_names import read_as
from postroom.model.words import words
from postroom.providers.imap.flavours import criteria
from postroom.providers.imap.flavours.criteria import ALL, NONE, Bounds, Keys, any_of, exact, searchable

if TYPE_CHECKING:
    from postroom.model.folder import Folder
    from postroom.providers.imap.session.client import Session
    from postroom.providers.imap.session.wire import Item

LABELS, IDENTITY = "X-GM-LABELS", "X-GM-MSGID"

_OWN_FOLDERS = ("[Gmail]/", "[Google Mail]/")
_ENDS_A_PHRASE = re.compile('["\\\\\u201c-\u201f\u2033\uff02]')  # the language knows no way to write them within one


def said(leaf: Leaf) -> Bounds:
    """What Gmail compares in another way than other servers; its parts of words and of file names are left to us."""
    match leaf:
        case Text(prefix=True):
            return Bounds(ALL, _worded(leaf.value)) if words(leaf.value) else exact(NONE)
        case Text():
            return exact(_worded(leaf.value))
        case HasAttachment():
            return exact(_raw("has:attachment"))
        case Filename():
            surely = _worded(leaf.value, "filename:")
            return Bounds(any_of([surely, _raw("has:attachment")]), surely)
        case Label():
            return exact(Keys((b"X-GM-LABELS", searchable(leaf.name))))
    return criteria.said(leaf)


def _worded(value: str, operator: str = "") -> Keys:
    phrase = _ENDS_A_PHRASE.sub(" ", value).strip()
    return _raw(f'{operator}"{phrase}"') if words(phrase) else NONE


def _raw(query: str) -> Keys:
    """Its language leaves out Trash and Spam unless told, even where one of them is the open folder."""
    return Keys((b"X-GM-RAW", searchable(f"in:anywhere {query}")))


def read_labels(session: Session, item: Item, folder: str) -> tuple[str, ...]:
    """With that of the open folder, which Gmail leaves out; without its own marks (``\\Important``, ``\\Sent``)."""
    names = {session.read_name(name) for name in item.get(LABELS) or ()}
    own = {folder} if _is_label(folder) else set()
    return tuple(sorted({name for name in names if not name.startswith("\\")} | own, key=str.casefold))


def known_labels(session: Session, folder: Folder) -> tuple[str, ...]:
    return (folder.name,) if _is_label(folder.name) else ()


def _is_label(folder: str) -> bool:
    return folder.upper() != "INBOX" and not folder.startswith(_OWN_FOLDERS)


def set_label(session: Session, uids: Sequence[int], label: str, wanted: bool) -> None:
    """A label that does not exist yet is made by Gmail."""
    try:
        session.store(uids, f"{'+' if wanted else '-'}{LABELS}", [_written(label)])
    except ProviderError as refusal:
        raise refusal if refusal.details or refusal.retryable else _unusable() from None


def _written(label: str) -> str:
    """Labels are folders: one that means Sent would put a mail there, or make a folder that passes for it."""
    if not label.isprintable() or label.startswith(("\\", "[")) or read_as(label) is not None:
        raise _unusable()
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unusable() -> InvalidRequest:
    return InvalidRequest(
        "Gmail does not take this label; some names (Inbox, Sent, Spam, ...) are its own. Choose another one.",
        details={"field": "label"},
    )
