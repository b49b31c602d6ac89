"""Where servers differ beyond missing features: how a condition is expressed, and where labels are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from postroom.model.folder import Folder, Role
from postroom.providers.imap.flavours import criteria, gmail, keywords
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.wire import Item


@dataclass(frozen=True, slots=True)
class Flavour:
    say: criteria.Say
    label_item: str  # what FETCH calls a message's labels, besides its flags
    identity_item: str  # identifies one message in every folder; empty where the server has no such id
    read_labels: Callable[[Session, Item, str], tuple[str, ...]]  # of one fetched message in the folder of that name
    known_labels: Callable[[Session, Folder], Iterable[str]]
    set_label: Callable[[Session, Sequence[int], str, bool], None]
    collections: frozenset[Role]  # folders whose messages are all in other folders too
    keeps_removed: bool  # a message removed from a folder stays elsewhere; only Trash deletes it


_ANY = Flavour(
    criteria.said,
    label_item="",
    identity_item="",
    read_labels=keywords.read_labels,
    known_labels=keywords.known_labels,
    set_label=keywords.set_label,
    collections=frozenset({Role.ALL, Role.FLAGGED}),
    keeps_removed=False,
)
_GMAIL = Flavour(
    gmail.said,
    label_item=gmail.LABELS,
    identity_item=gmail.IDENTITY,
    read_labels=gmail.read_labels,
    known_labels=gmail.known_labels,
    set_label=gmail.set_label,
    collections=frozenset({Role.FLAGGED}),  # an archived message without a label is only in All Mail
    keeps_removed=True,
)


def flavour_of(session: Session) -> Flavour:
    return _GMAIL if session.has("X-GM-EXT-1") else _ANY


def identities(session: Session, uids: Sequence[int]) -> dict[int, str]:
    """Identifies one message in every folder it is in; empty where the server has no such id."""
    name = flavour_of(session).identity_item
    items = session.fetch(uids, f"UID {name}") if name else {}
    return {uid: item[name].decode() for uid, item in items.items() if isinstance(item.get(name), bytes)}
