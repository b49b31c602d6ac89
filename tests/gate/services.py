"""Web mail services for the tests of the gate: a fake of each, with fresh mailboxes under the usual names.

All of them send drafts; what differs between them is said here, so that one test covers all.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.gate.rigs import ACCOUNTS
from tests.peers.gmail import FakeGmail
from tests.peers.graph import FakeGraph

Step = tuple[str, str]  # method and operation of a request


class MailService(ABC):
    """`create`, `read` and `send` are the requests that a send consists of; `save` is the one that puts a message into
    the place of a saved draft."""

    name: ClassVar[str]
    create: ClassVar[Step]
    read: ClassVar[Step]
    send: ClassVar[Step]
    save: ClassVar[Step]
    fake: Any

    @classmethod
    @contextmanager
    @abstractmethod
    def started(cls) -> Iterator[MailService]: ...

    @abstractmethod
    def account(self, name: str) -> dict[str, Any]: ...

    @abstractmethod
    def inbox(self, name: str) -> list[bytes]: ...

    @abstractmethod
    def drafts_left(self) -> int:
        """Of alice."""

    @abstractmethod
    def change_draft(self, old: bytes, new: bytes) -> None:
        """As somebody would in another program."""

    @abstractmethod
    def delete_drafts(self) -> None: ...

    @abstractmethod
    def trash_drafts(self) -> None: ...

    @abstractmethod
    def send_drafts(self) -> None: ...

    @abstractmethod
    def draft(self) -> bytes:
        """The only one that alice has."""

    @property
    def sent(self) -> int:
        return len(self.fake.sent)

    def accounts(self) -> list[dict[str, Any]]:
        """Whatever the mailboxes held before is forgotten, and who could be written to."""
        with self.fake.lock:
            self.fake.users.clear()
            self.fake.sent.clear()
        return [self.account(name) for name in ACCOUNTS]

    def furnish(self, home: Path) -> None:
        (home / "accounts.json").write_text(json.dumps(self.accounts()))

    def user(self, name: str = "alice") -> Any:
        return self.fake.user(f"{name}@demo.example")


class Gmail(MailService):
    name = "Gmail"
    create, read, send = ("POST", "drafts.create"), ("GET", "drafts.get"), ("POST", "drafts.send")
    save = ("PUT", "drafts.update")

    def __init__(self, fake: FakeGmail) -> None:
        self.fake = fake

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[MailService]:
        with FakeGmail.started() as fake:
            fake.quota.per_user_per_minute = fake.quota.per_project_per_minute = None
            yield cls(fake)

    def account(self, name: str) -> dict[str, Any]:
        user = self.user(name)
        place = {"provider": "gmail", "base_url": self.fake.url, "units_per_minute": 10**7}
        return {"name": name, "address": user.address, "token": self.fake.token(user), **place}

    def inbox(self, name: str) -> list[bytes]:
        return [message.raw for message in self.user(name).labelled("INBOX")]

    def drafts_left(self) -> int:
        return len(self.user().drafts)

    def change_draft(self, old: bytes, new: bytes) -> None:
        (draft_id,) = self.user().drafts
        self.user().put_draft(self.user().draft(draft_id).raw.replace(old, new), "", draft_id)

    def delete_drafts(self) -> None:
        for message in list(self.user().labelled("DRAFT")):
            self.user().delete(message)

    def trash_drafts(self) -> None:
        for message in list(self.user().labelled("DRAFT")):
            self.user().change_labels(message, {"TRASH"})

    def send_drafts(self) -> None:
        for message in list(self.user().labelled("DRAFT")):
            self.fake.send(self.user(), message.raw)
            self.user().delete(message)

    def draft(self) -> bytes:
        (message,) = self.user().labelled("DRAFT")
        return bytes(message.raw)


class Graph(MailService):
    name = "Graph"
    create, read, send = ("POST", "messages.create"), ("GET", "messages.content"), ("POST", "messages.send")
    save = ("POST", "messages.create")

    def __init__(self, fake: FakeGraph) -> None:
        self.fake = fake

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[MailService]:
        with FakeGraph.started() as fake:
            yield cls(fake)

    def account(self, name: str) -> dict[str, Any]:
        user = self.user(name)
        place = {"provider": "graph", "base_url": self.fake.base_url}
        return {"name": name, "address": user.address, "token": self.fake.token(user), **place}

    def inbox(self, name: str) -> list[bytes]:
        return [message.raw for message in self.user(name).within("inbox")]

    def drafts_left(self) -> int:
        return len(self.user().within("drafts"))

    def change_draft(self, old: bytes, new: bytes) -> None:
        from tests.peers.graph.content import Content

        (draft,) = self.user().within("drafts")
        draft.content = Content(draft.raw.replace(old, new))
        self.user().touched(draft)

    def delete_drafts(self) -> None:
        for message in self.user().within("drafts"):
            self.user().remove(message)

    def trash_drafts(self) -> None:
        for message in self.user().within("drafts"):
            self.user().move(message, "deleteditems")

    def send_drafts(self) -> None:
        for message in self.user().within("drafts"):
            self.fake.submit(self.user(), message)

    def draft(self) -> bytes:
        (message,) = self.user().within("drafts")
        return bytes(message.raw)


SERVICES: dict[str, type[MailService]] = {service.name: service for service in (Gmail, Graph)}


def read_accounts(home: Path) -> list[dict[str, Any]]:
    accounts: list[dict[str, Any]] = json.loads((home / "accounts.json").read_text())
    return accounts
