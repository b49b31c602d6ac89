"""Mirrors of a Gmail and a Graph mailbox, and a second client that changes these, at any moment of a run."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.contract.mails import mail
from tests.peers.gmail import FakeGmail
from tests.peers.gmail import mailbox as gmail_mailbox
from tests.peers.graph import FakeGraph
from tests.peers.graph import mailbox as graph_mailbox
from tests.peers.graph.content import Content
from tests.peers.graph.writing import fields_of, written

from postroom.index.search import search
from postroom.model.message import Envelope
from postroom.model.query.tree import Node, Query
from postroom.providers.context import ProviderContext
from postroom.providers.layers.layered import Call, Layered
from postroom.providers.registry import open_mailbox
from postroom.settings import GmailAccount, GraphAccount
from postroom.sync.answering.lookup import Lookup
from postroom.sync.file.contents import message_of
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing, Tools

_KEYS = count()


class GmailSide:
    """What a second client does with a Gmail mailbox."""

    def __init__(self, peers: ExitStack) -> None:
        self.peer = peers.enter_context(FakeGmail.started())
        self.peer.quota.per_user_per_minute = self.peer.quota.per_project_per_minute = None
        self.user: gmail_mailbox.Mailbox = self.peer.user("me@gmail.example")
        self.settings = GmailAccount(
            name="mine",
            address=self.user.address,
            base_url=self.peer.url,
            token=self.peer.token(self.user),  # type: ignore[arg-type]
            units_per_minute=10**7,
            mirror="full",
        )

    def refs(self) -> set[str]:
        return set(self.user.messages)

    def _labels(self) -> list[str]:
        return [label.id for label in self.user.labels if label.type == "user"]

    def deliver(self, chance: random.Random) -> None:
        labels = chance.choice([{"INBOX", "UNREAD"}, {"SENT"}, {"SPAM"}, set[str](), {"INBOX", *self._labels()[:1]}])
        key = f"m{next(_KEYS)}"
        self.peer.deliver(self.user, mail(key, days_ago=chance.random() * 30), labels)

    def mark(self, chance: random.Random) -> None:
        if found := list(self.user):
            label = chance.choice(["UNREAD", "STARRED", *self._labels()])
            message = chance.choice(found)
            drop = label in message.labels
            self.user.change_labels(message, () if drop else (label,), (label,) if drop else ())

    def move(self, chance: random.Random) -> None:
        if found := list(self.user):
            message = chance.choice(found)
            if "DRAFT" not in message.labels:
                self.user.change_labels(message, [chance.choice(["INBOX", "TRASH", "SPAM"])])

    def remove(self, chance: random.Random) -> None:
        if found := list(self.user):
            self.delete(chance.choice(found))

    def delete(self, message: Any) -> None:
        self.user.delete(message)

    def draft(self, chance: random.Random) -> None:
        known = list(self.user.drafts)
        again = chance.choice(known) if known and chance.random() < 0.5 else ""
        self.user.put_draft(mail(f"d{next(_KEYS)}"), "", again)

    def new_folder(self, chance: random.Random) -> None:
        new = self.user.labels.create(f"Label {next(_KEYS)}")
        if found := list(self.user):
            message = chance.choice(found)
            if "DRAFT" not in message.labels:
                self.user.change_labels(message, [new.id], ["INBOX"])

    def rename_folder(self, chance: random.Random) -> None:
        """To any name; below another or up again; in other letters; or to that of another, which gets this one's."""
        if own := self._labels():
            label, other = (self.user.labels.get(chance.choice(own)) for _ in range(2))
            new = f"{chance.choice('AzM')}{next(_KEYS)}"
            names = [new, f"{other.name}/{new}"[-200:], label.name.swapcase(), other.name]
            wanted = chance.choice(names)
            if wanted == other.name:
                other.name = label.name
            self.rename(label.id, wanted)

    def rename(self, label: str, name: str) -> None:
        """Of that the history has nothing: no message changes by it."""
        self.user.labels.get(label).name = name

    def make_again(self, chance: random.Random) -> None:
        """A label that is deleted, and another of its name, which other messages have."""
        if own := self._labels():
            name = self.user.labels.get(gone := chance.choice(own)).name
            self.take_label_away(gone, is_reported=chance.random() < 0.5)
            new = self.user.labels.create(chance.choice([name, name.swapcase()]))
            for message in chance.sample(found := list(self.user), min(2, len(found))):
                self.user.change_labels(message, [new.id])

    def remove_folder(self, chance: random.Random) -> None:
        if own := self._labels():
            self.take_label_away(chance.choice(own), is_reported=chance.random() < 0.5)

    def take_label_away(self, gone: str, *, is_reported: bool = True) -> None:
        """Google does not say whether the history then names the messages that had it."""
        self.user.labels.remove(gone)
        for message in self.user.labelled(gone):
            if is_reported:
                self.user.change_labels(message, (), {gone})
            else:
                message.labels -= {gone}

    def show_elsewhere(self, chance: random.Random) -> None:
        """A label that is hidden in Gmail's lists, or shown again."""
        if own := self._labels():
            label = self.user.labels.get(chance.choice(own))
            label.label_list = chance.choice(["labelShow", "labelShowIfUnread", "labelHide"])
            label.message_list = chance.choice(["show", "hide"])

    def send_draft(self, chance: random.Random) -> None:
        """The draft is gone, and another message is in Sent."""
        if self.user.drafts:
            draft = self.user.draft(chance.choice(list(self.user.drafts)))
            raw, thread = draft.raw, draft.thread_id
            self.peer.send(self.user, raw, thread, joined=True)
            self.user.delete(draft)

    def put_back(self, chance: random.Random) -> None:
        """Out of Trash, and into no other place."""
        if found := self.user.labelled("TRASH"):
            self.user.change_labels(chance.choice(found), (), {"TRASH"})

    def answer(self, chance: random.Random) -> None:
        """A message in a thread that is there."""
        if found := [one for one in self.user if "DRAFT" not in one.labels]:
            subject = f"Re: {(other := chance.choice(found)).subject.removeprefix('Re: ')}"
            name = other.message_id.strip("<>").partition("@")[0]
            raw = mail(f"a{next(_KEYS)}", subject=subject, answers=[name])
            self.peer.deliver(self.user, raw, chance.choice([{"INBOX", "UNREAD"}, {"SENT"}]))

    def forget(self, _: random.Random) -> None:
        self.user.history.forget()


class GraphSide:
    """What a second client does with a mailbox at Microsoft."""

    def __init__(self, peers: ExitStack) -> None:
        self.peer = peers.enter_context(FakeGraph.started())
        self.user: graph_mailbox.Mailbox = self.peer.user("me@contoso.example")
        self.settings = GraphAccount(
            name="mine",
            address=self.user.address,
            base_url=self.peer.base_url,
            token=self.peer.token(self.user),  # type: ignore[arg-type]
            mirror="full",
        )

    def refs(self) -> set[str]:
        return {message.immutable_id for message in self.user.messages}

    def _own(self) -> list[graph_mailbox.Folder]:
        fixed = set(self.user.well_known.values())
        return [folder for folder in self.user.folders.values() if folder.id not in fixed]

    def _folder(self, chance: random.Random) -> str:
        return chance.choice(["inbox", "sentitems", "deleteditems", "archive", *(one.id for one in self._own())])

    def deliver(self, chance: random.Random) -> None:
        raw = mail(f"m{next(_KEYS)}", days_ago=chance.random() * 30)
        self.peer.deliver(self.user, raw, self._folder(chance))

    def mark(self, chance: random.Random) -> None:
        if self.user.messages:
            message = chance.choice(self.user.messages)
            message.is_read = not message.is_read
            message.categories = chance.choice([[], ["Red"], ["Red", "Work"]])
            self.user.touched(message)

    def move(self, chance: random.Random) -> None:
        if found := [one for one in self.user.messages if not one.is_draft]:
            self.user.move(chance.choice(found), self._folder(chance))

    def remove(self, chance: random.Random) -> None:
        if self.user.messages:
            self.delete(chance.choice(self.user.messages))

    def delete(self, message: Any) -> None:
        self.user.remove(message)

    def draft(self, chance: random.Random) -> None:
        """A new one, or one that is changed, or one that is sent."""
        drafts = [one for one in self.user.messages if one.is_draft]
        if not drafts or chance.random() < 0.4:
            self.user.add(Content(mail(f"d{next(_KEYS)}")), "drafts", is_draft=True, is_read=True)
            return
        message = chance.choice(drafts)
        self.edit(message, f"Changed {next(_KEYS)}")
        if chance.random() < 0.5:
            self.send(message)

    def edit(self, message: Any, subject: str) -> None:
        fields = fields_of(message.content) | {
            "subject": subject,
            "body": {"contentType": "text", "content": f"The text of {subject}"},
        }
        message.content = Content(written(fields, message.content.files, ("", self.user.address)))
        self.user.touched(message)

    def send(self, message: Any) -> None:
        message.is_draft, message.received = False, self.user.clock()
        self.user.move(message, "sentitems")

    def new_folder(self, chance: random.Random) -> None:
        parent = chance.choice(["", *(one.id for one in self._own())])
        new = self.user.add_folder(f"Folder {next(_KEYS)}", parent)
        if found := [one for one in self.user.messages if not one.is_draft]:
            self.user.move(chance.choice(found), new.id)

    def rename_folder(self, chance: random.Random) -> None:
        if own := self._own():
            chance.choice(own).name = f"Renamed {next(_KEYS)}"

    def remove_folder(self, chance: random.Random) -> None:
        if own := self._own():
            folder, trash = chance.choice(own), self.user.well_known["deleteditems"]
            if folder.parent == trash or chance.random() < 0.5:
                self.user.remove_folder(folder)
            else:
                folder.parent = trash

    def forget(self, _: random.Random) -> None:
        self.peer.delta_tokens.forget()


SIDES: dict[str, Callable[[ExitStack], GmailSide | GraphSide]] = {"gmail": GmailSide, "graph": GraphSide}
ACTIONS = ("deliver", "deliver", "mark", "mark", "move", "move", "remove", "draft", "new_folder", "rename_folder")
RARE = ("remove_folder", "forget")
OF_LABELS = ("rename_folder", "make_again", "show_elsewhere", "send_draft", "put_back", "answer")  # Gmail's alone


@dataclass
class Cloud:
    """`before` is called with the name of each verb that reaches the provider's mailbox, before it does."""

    side: Any
    mirror: Mirror
    before: Callable[[str], None] = field(default=lambda verb: None)

    @asynccontextmanager
    async def mailbox(self) -> AsyncIterator[Any]:
        context = ProviderContext(self.mirror.path.parent, (self.side.settings,))
        bare = open_mailbox(self.side.settings, context)
        try:
            yield Layered(bare, self.side.settings.provider, [self._told])
        finally:
            await bare.close()

    def _told(self, verb: str, call: Call) -> Call:
        async def told(*args: Any, **kwargs: Any) -> Any:
            with self.side.peer.lock:
                self.before(verb)
            return await call(*args, **kwargs)

        return told

    async def sync(self, tools: Tools | None = None, mailbox: Any = None) -> None:
        if mailbox is None:
            async with self.mailbox() as mailbox:
                return await self.sync(tools, mailbox)
        async with Syncing(self.mirror, mailbox, self.side.settings, tools) as syncing:
            await syncing.once()
        return None

    def do(self, chance: random.Random) -> str:
        """One thing that the second client does; what it was."""
        actions = (*ACTIONS, *OF_LABELS) if isinstance(self.side, GmailSide) else ACTIONS
        action = chance.choice(actions if chance.random() < 0.93 else RARE)
        with self.side.peer.lock:
            getattr(self.side, action)(chance)
        return action

    def rows(self) -> dict[str, Envelope]:
        """Everything in the index, by ref."""
        with self.mirror.snapshot() as connection:
            refs = [ref for (ref,) in connection.execute("SELECT ref FROM mail")]
            return {row.ref: row for row in Lookup(threads_by_headers=False).envelopes(connection, refs) if row}

    def found(self, node: Node, limit: int = 100) -> list[Envelope]:
        """What the mirror finds, anywhere."""
        with self.mirror.snapshot() as connection:
            return list(search(connection, Query(node, anywhere=True), limit=limit, offset=0).items)

    def text_of(self, ref: str) -> str:
        """What somebody reads who opens the message in the mirror."""
        with self.mirror.snapshot() as connection:
            message = message_of(connection, ref)
        assert message is not None
        return message.body.text

    async def there(self, mailbox: Any = None) -> dict[str, Envelope]:
        """Everything on the server, by ref, as somebody sees it who asks for the first time."""
        if mailbox is None:
            async with self.mailbox() as mailbox:
                return await self.there(mailbox)
        found: dict[str, Envelope] = {}
        page = None
        while page is None or page.has_more:
            page = await mailbox.search(Query(anywhere=True), limit=100, offset=len(found))
            found |= {row.ref: row for row in page.items}
        return found


@asynccontextmanager
async def cloud_of(provider: str, folder: Path) -> AsyncIterator[Cloud]:
    with ExitStack() as peers:
        yield Cloud(SIDES[provider](peers), Mirror(folder / "mirrors" / "mine.db"))
