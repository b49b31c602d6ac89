"""A query applied to one message, for the parts of it that a server cannot apply itself.

Words are compared as `model.words` splits them; a phrase is those words in a row, a prefix the beginning of the last
one. from:, to:, cc: and filename: match substrings, ignoring case and accents. A message without a date is neither
before nor after anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from postroom.model.address import Address
from postroom.model.message import Envelope
from postroom.model.query.tree import (
    After,
    And,
    Before,
    Correspondent,
    Filename,
    Flag,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Leaf,
    MessageId,
    Node,
    Not,
    Or,
    Smaller,
    Subject,
    Text,
)
from postroom.model.words import folded, letters_and_words

FolderMatches = Callable[[str], bool]


def matches(
    node: Node | None,
    envelope: Envelope,
    body_text: str = "",
    filenames: Sequence[str] = (),
    *,
    folder_matches: FolderMatches | None = None,
) -> bool:
    """`body_text` is the visible text (`mime.render.search_text`). `folder_matches` says whether the message is in the
    folder of that name or role; without it only the names of its folders are compared."""
    return node is None or _holds(node, _Mail(envelope, body_text, filenames, folder_matches))


@dataclass(frozen=True)
class _Mail:
    """What a query compares, computed once and only when needed."""

    envelope: Envelope
    body_text: str
    filenames: Sequence[str]
    folder_matches: FolderMatches | None

    @cached_property
    def subject_words(self) -> str:
        return _row(self.envelope.subject)

    @cached_property
    def all_words(self) -> str:
        """Every searched text, separated so that no phrase spans two of them."""
        envelope = self.envelope
        people = (envelope.sender, *envelope.to, *envelope.cc, *envelope.bcc)
        texts = (*(text for person in people for text in (person.name, person.email)), self.body_text)
        return "\n".join([self.subject_words, *map(_row, texts)])

    def is_in(self, folder: str) -> bool:
        if self.folder_matches is not None:
            return self.folder_matches(folder)
        return folder.casefold() in {name.casefold() for name in self.envelope.folders}


def _holds(node: Node, mail: _Mail) -> bool:
    if isinstance(node, Not):
        return not _holds(node.node, mail)
    if isinstance(node, And):
        return all(_holds(child, mail) for child in node.nodes)
    if isinstance(node, Or):
        return any(_holds(child, mail) for child in node.nodes)
    return _leaf_holds(node, mail)


def _leaf_holds(leaf: Leaf, mail: _Mail) -> bool:  # noqa: C901 - one arm per leaf of the language
    envelope = mail.envelope
    match leaf:
        case Text():
            return _in_a_row(leaf.value, mail.all_words, prefix=leaf.prefix)
        case Subject():
            return _in_a_row(leaf.value, mail.subject_words)
        case Correspondent():
            return any(_is_part(leaf.value, person) for person in _people(envelope, leaf.field))
        case Filename():
            return any(folded(leaf.value) in folded(name) for name in mail.filenames)
        case HasAttachment():
            return envelope.has_attachments
        case Is():
            return _has_flag(envelope, leaf.flag)
        case In():
            return mail.is_in(leaf.folder)
        case Label():
            return leaf.name.casefold() in {label.casefold() for label in envelope.labels}
        case After():
            return envelope.date is not None and envelope.date >= leaf.moment
        case Before():
            return envelope.date is not None and envelope.date < leaf.moment
        case Larger():
            return envelope.size > leaf.size
        case Smaller():
            return envelope.size < leaf.size
        case MessageId():
            return envelope.message_id == leaf.value


def _has_flag(envelope: Envelope, flag: Flag) -> bool:
    return {
        "unread": envelope.unread,
        "read": not envelope.unread,
        "starred": envelope.starred,
        "unstarred": not envelope.starred,
        "draft": envelope.draft,
        "answered": envelope.answered,
        "forwarded": envelope.forwarded,
    }[flag]


def _people(envelope: Envelope, field: str) -> Sequence[Address]:
    return {"from": (envelope.sender,), "to": envelope.to, "cc": envelope.cc}[field]


def _is_part(value: str, person: Address) -> bool:
    wanted = folded(value)
    return wanted in folded(person.email) or ("@" not in wanted and wanted in folded(person.name))


def _row(text: str) -> str:
    """The words with spaces around each, so that consecutive words are a substring."""
    return f" {' '.join(letters_and_words(text))} "


def _in_a_row(wanted: str, row: str, *, prefix: bool = False) -> bool:
    sought = _row(wanted)
    return bool(sought.strip()) and (sought.rstrip() if prefix else sought) in row
