"""Labels: Gmail's folders, a user's folders and labels (which are one thing), and marks that Gmail does not have.

A message is shown in Trash or Spam if it is there, else in Drafts, the inbox or Sent, else under its first label,
else in the archive, which is no label at all. Labels of a message in Trash stay on it, but it counts as in Trash only.

Gmail has no mark for "answered" and "forwarded": two hidden labels stand for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import TYPE_CHECKING

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PostroomError, ProviderUnavailable
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.role_names import read_as
from postroom.providers.gmail.session.wire import (
    DRAFT,
    INBOX,
    JSON,
    SENT,
    SPAM,
    TRASH,
    UNITS,
    Get,
    number_of,
    objects_of,
    text_of,
)

if TYPE_CHECKING:
    from postroom.providers.gmail.session.client import Client

ARCHIVE = "ARCHIVE"  # no label of Gmail's
ANSWERED, FORWARDED = "postroom-answered", "postroom-forwarded"
MARKS = (ANSWERED, FORWARDED)
PLACES: dict[str, tuple[str, Role]] = {
    INBOX: ("INBOX", Role.INBOX),
    SENT: ("Sent", Role.SENT),
    DRAFT: ("Drafts", Role.DRAFTS),
    TRASH: ("Trash", Role.TRASH),
    SPAM: ("Spam", Role.JUNK),
}
DISCARDED = frozenset({TRASH, SPAM})
_SHOWN_FIRST = (TRASH, SPAM, DRAFT, INBOX, SENT)
_KEPT = 30.0  # seconds that the list of labels is used for reading
_COUNTED = 18  # labels of the user whose messages are counted along with the list


@dataclass(frozen=True, slots=True)
class Label:
    id: str
    name: str


class LabelSet:
    """The labels at one moment."""

    def __init__(self, labels: Iterable[Label] = ()) -> None:
        self.own = sorted(labels, key=lambda label: label.name.casefold())
        self._by_id = {label.id: label for label in self.own}
        self._by_name = {label.name.casefold(): label for label in self.own}
        self._marks = [label for label in self.own if label.name in MARKS]
        names = chain(("Archive", "Archived"), (f"Archive {number}" for number in count(2)))
        self.archive = next(name for name in names if name.casefold() not in self._by_name)

    def knows(self, ids: Iterable[str]) -> bool:
        return all(label in self._by_id or label.isupper() for label in ids)

    def named(self, name: str) -> Label | None:
        return self._by_name.get(name.casefold())

    def name_of(self, label_id: str) -> str:
        return self._by_id[label_id].name

    def user_ids(self, ids: Iterable[str]) -> list[str]:
        """Those of the user's, in the order of their names; marks are none."""
        wanted = set(ids)
        return [label.id for label in self.own if label.id in wanted and label.name not in MARKS]

    def tags(self, ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.name_of(label) for label in self.user_ids(ids))

    def marks(self, ids: Iterable[str]) -> set[str]:
        wanted = set(ids)
        return {label.name for label in self._marks if label.id in wanted}

    def place_ids(self, ids: Sequence[str]) -> list[str]:
        """Refs of the folders a message is in, the one it is shown in first."""
        given = set(ids)
        if discarded := [label for label in (TRASH, SPAM) if label in given]:
            return discarded[:1]
        found = [label for label in _SHOWN_FIRST if label in given] + self.user_ids(given)
        return found or [ARCHIVE]

    def places(self, ids: Sequence[str]) -> list[str]:
        return [self._folder_name(place) for place in self.place_ids(ids)]

    @cached_property
    def _folders(self) -> list[Folder]:
        return self.folders()

    def folders(self, counts: dict[str, JSON] | None = None) -> list[Folder]:
        fixed = [(place, name, role) for place, (name, role) in PLACES.items()]
        own = [(label.id, label.name, None) for label in self.own if label.name not in MARKS]
        entries = [*fixed, (ARCHIVE, self.archive, Role.ARCHIVE), *own]
        return [_folder(*entry, (counts or {}).get(entry[0], {})) for entry in entries]

    def find(self, wanted: str) -> Folder | None:
        return match_folder(self._folders, wanted)

    def folder(self, wanted: str) -> Folder:
        found = self.find(wanted)
        if found is None:
            raise NotFound("There is no such folder. Call list_folders to see their names.", reason="folder_unknown")
        return found

    def folder_of_ref(self, ref: str) -> str:
        if ref in PLACES or ref == ARCHIVE or (ref in self._by_id and self.name_of(ref) not in MARKS):
            return ref
        raise NotFound("There is no such folder. Call list_folders to see their names.", reason="folder_unknown")

    def _folder_name(self, place: str) -> str:
        return self.archive if place == ARCHIVE else PLACES[place][0] if place in PLACES else self.name_of(place)


def _folder(ref: str, name: str, role: Role | None, counts: JSON) -> Folder:
    total, unread = (number_of(counts[key]) if key in counts else None for key in ("messagesTotal", "messagesUnread"))
    return Folder(ref, name, role, total, unread, is_label=True)


class Labels:
    """Asks Gmail for its labels, and makes new ones."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known = LabelSet()
        self._asked_at: float | None = None
        self.naming = 0  # see `protocol.FolderNames`

    async def current(self) -> LabelSet:
        return self._accept(await self._client.get(Get("labels", UNITS["labels"])))

    async def recent(self, ids: Iterable[str] = ()) -> LabelSet:
        """Not older than half a minute, and knowing these labels."""
        return self._known if self._is_fresh and self._known.knows(ids) else await self.current()

    @property
    def _is_fresh(self) -> bool:
        return self._asked_at is not None and self._clock() - self._asked_at < _KEPT

    async def counted(self) -> list[Folder]:
        """The list and the counts of the usual folders, in one request."""
        ids = [*PLACES, *(label.id for label in self._known.own[:_COUNTED])]
        listed, *counts = await self._client.get_all(
            [Get("labels", UNITS["labels"]), *(Get(f"labels/{label}", UNITS["labels"]) for label in ids)]
        )
        if isinstance(listed, PostroomError):
            raise listed
        found = {label: one for label, one in zip(ids, counts, strict=True) if isinstance(one, dict)}
        return self._accept(listed).folders(found)

    async def named(self, name: str) -> Label | None:
        found = self._known.named(name) if self._is_fresh else None
        return found or (await self.current()).named(name)

    async def made(self, name: str) -> Label:
        """The label of that name, made where there is none: one that a recent list lacks is not looked for again, since
        Gmail refuses a second one of the same name."""
        return (await self.recent()).named(name) or await self.make(name)

    async def make(self, name: str) -> Label:
        hidden = {"labelListVisibility": "labelHide", "messageListVisibility": "hide"} if name in MARKS else {}
        try:
            new = await self._client.post("labels", {"name": name, **hidden}, units=UNITS["label.change"])
        except Conflict:
            if found := (await self.current()).named(name):
                return found
            raise
        except InvalidRequest as refusal:
            raise unusable() from refusal
        finally:
            self._asked_at = None
        return Label(text_of(new.get("id")), text_of(new.get("name")))

    async def rename(self, label_id: str, name: str) -> None:
        self._asked_at = None
        await self._client.patch(f"labels/{label_id}", {"name": name}, units=UNITS["label.change"])

    async def remove(self, label_id: str) -> None:
        self._asked_at = None
        await self._client.delete(f"labels/{label_id}", units=UNITS["label.change"])

    def _accept(self, answer: JSON) -> LabelSet:
        """A response without a list, taken for an empty one, would say that all labels were deleted; Gmail's own are
        always in it."""
        if not objects_of(answer.get("labels")):
            raise ProviderUnavailable("Gmail answered without a list of labels. Try again later.")
        found = [
            Label(text_of(one.get("id")), text_of(one.get("name")))
            for one in objects_of(answer.get("labels"))
            if one.get("type") == "user" and one.get("id") and one.get("name")
        ]
        new = LabelSet(found)
        self.naming += new.own != self._known.own
        self._known, self._asked_at = new, self._clock()
        return self._known


def check_label(name: str) -> str:
    """Labels are folders: one that means Sent would pass for it, and make its messages look like one's own."""
    if not name.strip() or not name.isprintable() or read_as(name) is not None or name.casefold() in MARKS:
        raise unusable()
    return name.strip()


def unusable() -> InvalidRequest:
    return InvalidRequest(
        "Gmail does not accept this label; some names (Inbox, Sent, Spam, ...) are reserved. Choose another one.",
        details={"field": "label"},
    )
