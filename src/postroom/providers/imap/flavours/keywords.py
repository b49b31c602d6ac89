"""A message's keywords as its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.providers.keywords import keyword_of, labels_of

if TYPE_CHECKING:
    from postroom.model.folder import Folder
    from postroom.providers.imap.session.client import Session
    from postroom.providers.imap.session.wire import Item


def read_labels(session: Session, item: Item, folder: str) -> tuple[str, ...]:
    return labels_of([flag.decode("ascii", "replace") for flag in item.get("FLAGS") or () if isinstance(flag, bytes)])


def known_labels(session: Session, folder: Folder) -> tuple[str, ...]:
    return labels_of(session.reopen(folder.ref).keywords)


def set_label(session: Session, uids: Sequence[int], label: str, wanted: bool) -> None:
    session.store(uids, "+FLAGS" if wanted else "-FLAGS", [keyword_of(label)])
