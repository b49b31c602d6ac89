"""One user's mailbox: folders, messages, categories, rules, and a log of all changes for delta queries."""

from __future__ import annotations

import itertools
import secrets
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.peers.graph.content import Content
from tests.peers.graph.errors import Refused, bad, malformed_id, not_found
from tests.peers.graph.stored import StoredMessage, is_id, new_id

Clock = Callable[[], float]

ROOT = "msgfolderroot"
WELL_KNOWN = {
    "inbox": "Inbox",
    "drafts": "Drafts",
    "sentitems": "Sent Items",
    "deleteditems": "Deleted Items",
    "junkemail": "Junk Email",
    "archive": "Archive",
    "outbox": "Outbox",
}


@dataclass
class Folder:
    id: str
    name: str
    parent: str
    is_hidden: bool = False


@dataclass(frozen=True)
class Change:
    number: int
    folder: str
    message: StoredMessage
    is_removal: bool


class Mailbox:
    def __init__(self, address: str, name: str, clock: Clock) -> None:
        self.address, self.name, self.clock = address, name, clock
        self.id = str(uuid.uuid4())
        self.aliases: set[str] = set()
        self.delegates: set[str] = set()  # addresses of others who may open it
        self.is_enabled = True  # a mailbox that moved away, or whose licence lapsed, is not
        self.folders: dict[str, Folder] = {}
        self.well_known: dict[str, str] = {ROOT: new_id("AAMkAGI0")}
        self.folders[self.well_known[ROOT]] = Folder(self.well_known[ROOT], "Top of Information Store", "")
        for key, shown in WELL_KNOWN.items():
            self.well_known[key] = self.add_folder(shown).id
        self.messages: list[StoredMessage] = []
        self.categories: dict[str, dict[str, Any]] = {}
        self.rules: dict[str, dict[str, Any]] = {}
        self.automatic_replies: dict[str, Any] = {"status": "disabled", "externalAudience": "none"}
        self.log: list[Change] = []
        self._by_id: dict[str, StoredMessage] = {}
        self._numbers = itertools.count(1)

    # Looking

    def __iter__(self) -> Iterator[StoredMessage]:
        """Newest first."""
        return iter(sorted(self.messages, key=lambda message: message.key, reverse=True))

    def within(self, folder: str) -> list[StoredMessage]:
        """Of a folder by its id or its well-known name, newest first."""
        wanted = self.well_known.get(folder.lower(), folder)
        return [message for message in self if message.folder == wanted]

    def folder(self, name: str) -> Folder:
        """By id or well-known name."""
        found = self.folders.get(self.well_known.get(name.lower(), name))
        if found is None:
            raise not_found() if is_id(name) else malformed_id()
        return found

    def children(self, parent: str) -> list[Folder]:
        return [folder for folder in self.folders.values() if folder.parent == parent]

    def message(self, given: str) -> StoredMessage:
        found = self._by_id.get(given)
        if found is None:
            raise not_found() if is_id(given) else malformed_id()
        return found

    def conversation_of(self, content: Content) -> str:
        named = set(content.references)
        joined = (each.conversation for each in self.messages if each.content.message_id in named)
        return next(joined, "AAQkAGI2" + secrets.token_urlsafe(33) + "=")

    # Changing

    def add_folder(self, name: str, parent: str = "", *, hidden: bool = False) -> Folder:
        parent = parent or self.well_known[ROOT]
        if not name.strip():
            raise bad("The folder name is empty.", "ErrorInvalidFolderName")
        if any(folder.name.casefold() == name.casefold() for folder in self.children(parent)):
            raise Refused(409, "A folder with the specified name already exists.", "ErrorFolderExists")
        folder = Folder(new_id("AAMkAGI0"), name, parent, hidden)
        self.folders[folder.id] = folder
        return folder

    def remove_folder(self, folder: Folder) -> None:
        for child in self.children(folder.id):
            self.remove_folder(child)
        for message in self.within(folder.id):
            self.remove(message)
        del self.folders[folder.id]

    def add(self, content: Content, folder: str, *, received: float | None = None, **more: Any) -> StoredMessage:
        message = StoredMessage(
            content=content,
            folder=self.folder(folder).id,
            conversation=more.pop("conversation", "") or self.conversation_of(content),
            received=self.clock() if received is None else received,
            order=next(self._numbers),
            **more,
        )
        self.messages.append(message)
        self._by_id |= {message.immutable_id: message, message.entry_id: message}
        self.touched(message)
        return message

    def touched(self, message: StoredMessage) -> None:
        message.change += 1
        self.log.append(Change(len(self.log) + 1, message.folder, message, is_removal=False))

    def move(self, message: StoredMessage, folder: str) -> None:
        """It gets another id, for those who did not ask for immutable ones."""
        target = self.folder(folder).id
        if target == message.folder:
            return
        self._left(message)
        message.folder = target
        del self._by_id[message.entry_id]
        message.entry_id = new_id("AAMkAGI2")
        self._by_id[message.entry_id] = message
        self.touched(message)

    def remove(self, message: StoredMessage) -> None:
        self._left(message)
        self.messages.remove(message)
        for given in (message.immutable_id, message.entry_id):
            del self._by_id[given]

    def _left(self, message: StoredMessage) -> None:
        self.log.append(Change(len(self.log) + 1, message.folder, message, is_removal=True))

    def add_category(self, name: str, colour: str = "none") -> dict[str, Any]:
        if any(entry["displayName"].casefold() == name.casefold() for entry in self.categories.values()):
            raise Refused(409, "The specified category already exists.", "ErrorCategoryExists")
        entry = {"id": str(uuid.uuid4()), "displayName": name, "color": colour}
        self.categories[str(entry["id"])] = entry
        return entry


@dataclass
class Seen:
    """What a delta token stands for: everything up to a change, and what was still to be told then."""

    user: str
    folder: str
    upto: int
    waiting: list[tuple[StoredMessage, bool]] = field(default_factory=list)


def latest(changes: Iterable[Change]) -> list[tuple[StoredMessage, bool]]:
    """The last word on each message, oldest first."""
    found: dict[int, tuple[StoredMessage, bool]] = {}
    for change in changes:
        found.pop(id(change.message), None)
        found[id(change.message)] = (change.message, change.is_removal)
    return list(found.values())
