"""The labels of a mailbox: Gmail's own, and those that the user made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.peers.gmail.errors import Refused, bad, not_found

_CATEGORIES = ("CATEGORY_FORUMS", "CATEGORY_PERSONAL", "CATEGORY_PROMOTIONS", "CATEGORY_SOCIAL", "CATEGORY_UPDATES")
SYSTEM = (
    *("CHAT", "DRAFT", "IMPORTANT", "INBOX", "SENT", "SPAM", "STARRED", "TRASH", "UNREAD"),
    *_CATEGORIES,
)
APPLIED_BY_GMAIL_ALONE = frozenset({"CHAT", "DRAFT", "SENT"})
EXCLUSIVE = frozenset({"INBOX", "SPAM", "TRASH"})  # a message is in one of them at most

_RESERVED = re.compile(
    "(?:inbox|sent|sent mail|draft|drafts|trash|bin|spam|starred|important|unread|chat|chats|muted|migrated|all mail"
    "|scheduled|snoozed|archive|todo|voicemail)\\Z",
    re.IGNORECASE,
)
_LONGEST = 225
_MOST = 10_000


@dataclass(slots=True)
class Label:
    id: str
    name: str
    type: str = "user"
    label_list: str = "labelShow"
    message_list: str = "show"
    color: dict[str, str] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        value: dict[str, Any] = {"id": self.id, "name": self.name, "type": self.type}
        if self.type == "user" or self.label_list != "labelShow":
            value |= {"messageListVisibility": self.message_list, "labelListVisibility": self.label_list}
        return value | ({"color": dict(self.color)} if self.color else {})


class LabelSet:
    def __init__(self) -> None:
        self._labels = {name: Label(name, name, "system") for name in SYSTEM}
        self._made = 0

    def __iter__(self) -> Iterator[Label]:
        return iter(self._labels.values())

    def __contains__(self, label_id: str) -> bool:
        return label_id in self._labels

    def get(self, label_id: str) -> Label:
        if label_id not in self._labels:
            raise not_found()
        return self._labels[label_id]

    def create(self, name: str) -> Label:
        name = self.checked_name(name)
        if len(self._labels) >= _MOST:
            raise bad("Too many labels", "failedPrecondition")
        self._made += 1
        label = Label(f"Label_{self._made}", name)
        self._labels[label.id] = label
        return label

    def checked_name(self, name: str, but: str = "") -> str:
        """Unique without regard to case. Nesting is a slash in the name; no part of it may be empty."""
        parts = name.split("/")
        if len(name) > _LONGEST or any(not part.strip() or part != part.strip() for part in parts):
            raise bad("Invalid label name")
        if _RESERVED.match(name) or name.startswith("^") or name.upper() in SYSTEM:
            raise bad("Invalid label name")
        if any(label.name.casefold() == name.casefold() and label.id != but for label in self._labels.values()):
            raise Refused(409, "Label name exists or conflicts")
        return name

    def remove(self, label_id: str) -> None:
        if self.get(label_id).type == "system":
            raise bad("Invalid delete request")
        del self._labels[label_id]

    def check_inserted(self, label_ids: list[str]) -> None:
        """Which a message may have from the beginning: those of the user, and SENT."""
        self._check(label_ids, APPLIED_BY_GMAIL_ALONE - {"SENT"})

    def check_change(self, added: list[str], removed: list[str]) -> None:
        if not added and not removed:
            raise bad("No label add or removes specified")
        self._check([*added, *removed], APPLIED_BY_GMAIL_ALONE)
        if set(added) & set(removed):
            raise bad("Cannot both add and remove the same label")
        if len(EXCLUSIVE.intersection(added)) > 1:
            raise bad("Cannot add more than one of INBOX, SPAM and TRASH")

    def _check(self, label_ids: list[str], refused: frozenset[str]) -> None:
        for label_id in label_ids:
            if label_id not in self._labels or label_id in refused:
                raise bad(f"Invalid label: {label_id}")
