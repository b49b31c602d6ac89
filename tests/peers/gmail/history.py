"""What changed in a mailbox, under ever growing ids. What is too old is forgotten, as Gmail does after about a week."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.peers.gmail.stored import StoredMessage

# History type as asked for -> field of the answer.
TYPES = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}
FIRST = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    id: int
    type: str
    message_id: str
    thread_id: str
    message_labels: tuple[str, ...]  # at that time
    labels: tuple[str, ...] = ()  # added or removed

    def shown(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"id": self.message_id, "threadId": self.thread_id}
        entry: dict[str, Any] = {"message": {**plain, "labelIds": list(self.message_labels)}}
        if not self.message_labels:
            del entry["message"]["labelIds"]
        if self.labels:
            entry["labelIds"] = list(self.labels)
        return {"id": str(self.id), "messages": [plain], TYPES[self.type]: [entry]}


class History:
    def __init__(self) -> None:
        self.current = FIRST
        self.oldest = FIRST  # the oldest id that can still be asked about
        self.changes: list[Change] = []

    def record(self, type_: str, message: StoredMessage, labels: set[str] | None = None) -> None:
        self.current += 1 + self.current % 7  # gaps, as in the real one
        message.history_id = self.current
        self.changes.append(
            Change(
                self.current,
                type_,
                message.id,
                message.thread_id,
                tuple(sorted(message.labels)),
                tuple(sorted(labels or ())),
            )
        )

    def forget(self) -> None:
        """From now on every id given out so far is too old."""
        self.current += 1
        self.oldest = self.current
        self.changes.clear()
