"""What changed in a mailbox since the last check, for the whole of it or folder by folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from postroom.model.by_fields import pickled_by_fields
from postroom.model.folder import Folder


@dataclass(frozen=True, slots=True)
class ChangePage:
    """`changed` are messages that are new, moved, or have other flags or labels; `removed` no longer exist. A message
    that got another ref by moving is in both, under its new and its old ref. Call again with `cursor` while `has_more`,
    and keep the last one for the next time."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    cursor: str
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder as the server sees it now. While `cursor` stays the same nothing in it changed; empty where only a
    comparison can tell. `identity` stays the same when the folder is renamed; empty where the server has none. An empty
    `epoch`: the server names the folder, and did not tell its state; a `refusal` is why, where that is known."""

    folder: Folder
    epoch: str
    cursor: str
    identity: str = ""
    refusal: str = ""


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class Marks:
    """What may change on a message that stays where it is."""

    unread: bool = True
    starred: bool = False
    answered: bool = False
    forwarded: bool = False
    draft: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """By number within the folder. `marks` are those of new and changed messages, None for one that is to be removed
    and no longer shown. `gone` are no longer there; if `present` is given, neither is any that it does not name. If
    `epoch` is another than before, all earlier numbers are void."""

    epoch: str
    marks: Mapping[int, Marks | None]
    gone: Sequence[int] = ()
    present: Sequence[int] | None = None


class Evidence(NamedTuple):
    """What a server tells at once of all messages, and what differs if one has the number of another. It may only
    estimate `size`."""

    size: int
    arrived: datetime | None


@dataclass(frozen=True, slots=True)
class Identified:
    """What a server tells of whether a message is one that was seen before, in another place. `identity` is its id of
    the content; empty where it has none. None as `marks`: not shown."""

    number: int
    ref: str
    identity: str
    arrived: datetime | None
    marks: Marks | None


class BulkMail(NamedTuple):
    """A message as received, for another process to read. `raw` is not all of it where it was too large to be fetched
    whole, or could not be; `size` is what the server says, and some only estimate it (Exchange). A tuple: they come by
    the thousand."""

    number: int
    ref: str
    identity: str
    raw: bytes
    size: int
    arrived: datetime | None
    marks: Marks
    folder: str  # Folder.name
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Announced:
    """A folder in which something changed. `mails` are those that came since the last time, as they were not before
    `asked_at` (of `time.monotonic`); none where they are many, or are not known."""

    folder_ref: str
    epoch: str = ""
    mails: Sequence[BulkMail] = ()
    asked_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Rest:
    """The part of a folder that a mirror does not have yet: messages numbered below `below` in that epoch; None: the
    whole folder. Of these, those dated before `since` need not be found."""

    folder_ref: str
    epoch: str = ""
    below: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """As much of a message as putting it in order needs. `number` is that within its folder."""

    ref: str
    date: datetime
    folder_ref: str
    number: int

    @property
    def place(self) -> tuple[float, str, int]:
        """Ascending: the latest date first, then by folder, the latest arrival first."""
        return -self.date.timestamp(), self.folder_ref, -self.number


@dataclass(frozen=True, slots=True)
class Hits:
    """The newest of those that match, newest first. `total` None: too many to count."""

    hits: Sequence[Hit]
    total: int | None
