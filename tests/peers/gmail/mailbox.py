"""One user's mailbox: messages, threads, drafts, labels, settings, and the history of all changes."""

from __future__ import annotations

import itertools
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tests.peers.gmail.errors import bad, not_found
from tests.peers.gmail.history import History
from tests.peers.gmail.label_set import EXCLUSIVE, LabelSet
from tests.peers.gmail.raw_headers import with_network_newlines
from tests.peers.gmail.stored import StoredMessage
from tests.peers.gmail.threading_rules import joins

Clock = Callable[[], float]
T = TypeVar("T")

_FIRST_ID = 0x19A0_0000_0000_0000


class Mailbox:
    def __init__(self, address: str, name: str, clock: Clock) -> None:
        self.address, self.name, self.clock = address, name, clock
        self.messages: dict[str, StoredMessage] = {}
        self.drafts: dict[str, str] = {}  # id of the draft -> id of the message in it
        self.labels = LabelSet()
        self.history = History()
        self.filters: dict[str, dict[str, Any]] = {}
        self.send_as: dict[str, dict[str, Any]] = {address.lower(): _primary(address, name)}
        self.forwarding_addresses: set[str] = set()  # verified ones, for filters that forward
        self.vacation: dict[str, Any] = {"enableAutoReply": False}
        # Documented is that a message joins a thread only if its headers agree. Seen was also that the thread's id is
        # enough in the sender's mailbox, whatever the subject.
        self.joins_by_thread_id_alone = False
        self.attachment_ids: dict[str, tuple[str, str, float]] = {}  # id -> message, part, end of its life
        self._numbers = itertools.count(1)
        self._by_thread: dict[str, list[StoredMessage]] = defaultdict(list)
        self._by_message_id: dict[str, list[StoredMessage]] = defaultdict(list)

    # Looking

    def __iter__(self) -> Iterator[StoredMessage]:
        """Newest first."""
        return iter(sorted(self.messages.values(), key=lambda message: message.key, reverse=True))

    def labelled(self, label_id: str) -> list[StoredMessage]:
        return [message for message in self if label_id in message.labels]

    def message(self, message_id: str) -> StoredMessage:
        return _found(self.messages, message_id)

    def thread(self, thread_id: str) -> list[StoredMessage]:
        """Oldest first."""
        messages = _found(self._by_thread, thread_id)
        return sorted(messages, key=lambda message: message.key)

    def threads(self) -> dict[str, list[StoredMessage]]:
        """Those with the newest message first."""
        found = (self.thread(thread_id) for thread_id in self._by_thread)
        return {each[-1].thread_id: each for each in sorted(found, key=lambda each: each[-1].key, reverse=True)}

    def draft(self, draft_id: str) -> StoredMessage:
        if draft_id not in self.drafts:
            raise not_found()
        return self.messages[self.drafts[draft_id]]

    # Changing

    def add(
        self, raw: bytes, labels: Iterable[str], *, internal_date: int | None = None, thread_id: str = ""
    ) -> StoredMessage:
        """`thread_id` is one that the message is known to join; otherwise it begins its own."""
        number = next(self._numbers)
        new_id = f"{_FIRST_ID + (number << 24) + secrets.randbits(24):016x}"
        moment = int(self.clock() * 1000) if internal_date is None else internal_date
        message = StoredMessage(new_id, thread_id or new_id, with_network_newlines(raw), set(labels), moment, number)
        self.messages[new_id] = message
        self._by_thread[message.thread_id].append(message)
        self._by_message_id[message.message_id].append(message)
        self.history.record("messageAdded", message)
        return message

    def thread_asked_for(self, raw: bytes, thread_id: str) -> str:
        """The thread a client names, if the message may join it: the headers must say so, too."""
        if not thread_id:
            return ""
        others = self.thread(thread_id)
        return thread_id if self.joins_by_thread_id_alone or joins(_unstored(raw), others) else ""

    def thread_found(self, raw: bytes) -> str:
        """The thread that mail from outside belongs to."""
        arrived = _unstored(raw)
        known = (one.thread_id for reference in arrived.references for one in self._by_message_id.get(reference, []))
        return next((thread for thread in dict.fromkeys(known) if joins(arrived, self.thread(thread))), "")

    def change_labels(self, message: StoredMessage, added: Iterable[str], removed: Iterable[str] = ()) -> None:
        """INBOX, SPAM and TRASH exclude each other: one that is added takes the others away."""
        wanted = set(added)
        gone = set(removed) | ((EXCLUSIVE - wanted) if wanted & EXCLUSIVE else set())
        new, old = wanted - message.labels, gone & message.labels
        message.labels = (message.labels | new) - old
        if new:
            self.history.record("labelAdded", message, new)
        if old:
            self.history.record("labelRemoved", message, old)

    def delete(self, message: StoredMessage) -> None:
        del self.messages[message.id]
        self._by_message_id[message.message_id].remove(message)
        self._by_thread[message.thread_id].remove(message)
        if not self._by_thread[message.thread_id]:
            del self._by_thread[message.thread_id]
        self.drafts.pop(message.draft_id, None)
        self.history.record("messageDeleted", message)

    def put_draft(self, raw: bytes, thread_id: str, draft_id: str = "") -> StoredMessage:
        """A new draft, or another message in an old one: the draft keeps its id, the message in it does not."""
        old = self.messages.get(self.drafts.get(draft_id, ""))
        thread = self.thread_asked_for(raw, thread_id) or self._thread_kept(raw, old)
        if old is not None:
            self.delete(old)
        message = self.add(raw, {"DRAFT"}, thread_id=thread)
        message.draft_id = draft_id or f"r{secrets.randbelow(2**63) * secrets.choice((1, -1))}"
        self.drafts[message.draft_id] = message.id
        return message

    def _thread_kept(self, raw: bytes, old: StoredMessage | None) -> str:
        """A draft stays in its thread; that of a reply only as long as its headers belong there."""
        if old is None:
            return ""
        others = [other for other in self.thread(old.thread_id) if other is not old]
        return old.thread_id if not others or joins(_unstored(raw), others) else ""


def _found(among: dict[str, T], wanted: str) -> T:
    if wanted in among:
        return among[wanted]
    if len(wanted) > 16 or not all(sign in "0123456789abcdef" for sign in wanted):
        raise bad("Invalid id value")
    raise not_found()


def _unstored(raw: bytes) -> StoredMessage:
    return StoredMessage("", "", with_network_newlines(raw), set(), 0, 0)


def _primary(address: str, name: str) -> dict[str, Any]:
    return {
        "sendAsEmail": address,
        "displayName": name,
        "replyToAddress": "",
        "signature": "",
        "isPrimary": True,
        "isDefault": True,
    }
