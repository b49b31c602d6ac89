"""Whatever a second client does to a mailbox of the REST API, and however the service fails meanwhile, after a run that
compares everything the mirror equals the server, message by message.

Which random histories are played: see `seeds`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.peers.rest import RestPeer
from tests.peers.rest.service import PASSWORD, User
from tests.peers.web.messages import Answer
from tests.unit.sync.seeds import SEEDS

from postroom.index import writing
from postroom.index.search import search
from postroom.model.errors import PostroomError
from postroom.model.ids import Kind
from postroom.model.query.tree import Query, Text
from postroom.providers.context import ProviderContext
from postroom.providers.registry import open_mailbox
from postroom.settings import RestAccount
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.answering.lookup import Lookup
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import by_listing
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

STEPS = 4
_KEYS = count()


@dataclass
class Rest:
    peer: RestPeer
    user: User
    chance: random.Random
    folder: Path
    now: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self.mirror = Mirror(self.folder / "mirrors" / "mine.db")
        self.handles = Handles(Database(self.folder / "state.db"))
        self.settings = RestAccount(
            name="mine", address=self.user.address, base_url=self.peer.url, password=PASSWORD, mirror="full"
        )

    async def sync(self) -> None:
        """An hour later than the last one: everything is compared."""
        self.now += 3600
        mailbox = open_mailbox(self.settings, ProviderContext(self.folder, (self.settings,)))
        tools = Tools(self.handles, clock=lambda: self.now)
        try:
            async with Syncing(self.mirror, mailbox, self.settings, tools) as syncing:
                await syncing.once()
        finally:
            await mailbox.close()

    def act(self) -> str:
        actions = (self.add, self.add, self.add, self.flag, self.flag, self.move, self.move, self.purge, self.purge,
                   self.create, self.rename, self.delete)  # fmt: skip
        action = self.chance.choice(actions)
        with self.peer.lock:
            action()
        return action.__name__

    def add(self) -> None:
        for _ in range(self.chance.randint(1, 5)):
            key = next(_KEYS)
            raw = mail(f"m{key}", text=f"The unique{key}word", days_ago=self.chance.random() * 30)
            self.user.store.add(raw, self.chance.choice(self._names()))

    def flag(self) -> None:
        if some := self._some():
            self.user.store.flag(some, self.chance.sample(["\\Seen", "\\Flagged", "\\Answered", "$Forwarded"], 2), [])

    def move(self) -> None:
        if some := self._some():
            self._put(some, self.chance.choice(self._names()))

    def purge(self) -> None:
        """For good."""
        if some := self._some():
            self.user.store._write(writing.remove, [some[1:]])
            self.user.store._read_before.pop(some, None)

    def create(self) -> None:
        self.user.store.create(f"Box {next(_KEYS)}")

    def rename(self) -> None:
        if own := self._own():
            old, new = self.chance.choice(own), f"Renamed {next(_KEYS)}"
            self.user.store.create(new)
            for ref in [ref for ref, row in self.there().items() if row[0] == old]:
                self._put(ref, new)
            self.user.store.delete(old)

    def delete(self) -> None:
        if own := self._own():
            gone = self.chance.choice(own)
            for ref in [ref for ref, row in self.there().items() if row[0] == gone]:
                self._put(ref, "Trash")
            self.user.store.delete(gone)

    def there(self) -> dict[str, tuple[str, frozenset[str], str, str]]:
        """By id: mailbox, flags, subject, text."""
        found = {}
        for name in self._names():
            for row in self.user.store.page(name, limit=1000):
                whole = self.user.store.opened(row["id"])
                assert whole is not None
                found[row["id"]] = (name, frozenset(row["flags"]), row["subject"], whole["body_text"].strip())
        return found

    def _names(self) -> list[str]:
        return [one.name for one in self.user.store.mailboxes()]

    def _own(self) -> list[str]:
        return [name for name in self._names() if name.startswith(("Box", "Renamed"))]

    def _some(self) -> str:
        return self.chance.choice(sorted(self.there()) or [""])

    def _put(self, ref: str, name: str) -> None:
        self.user.store.move(ref, next(one for one in self.user.store.mailboxes() if one.name == name))


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[RestPeer]:
    with RestPeer(tmp_path).run() as peer:
        yield peer


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_mirror_equals_its_server_after_every_run(
    peer: RestPeer, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 2)
    monkeypatch.setattr(by_listing, "_PAGE", 5)
    it = Rest(peer, peer.add_user("me@demo.example"), random.Random(f"rest {seed}"), tmp_path)
    shown: dict[str, str] = {}
    history: list[str] = []
    for _ in range(STEPS):
        history += [it.act() for _ in range(it.chance.randint(1, 10))]
        if it.chance.random() < 0.6:
            history += await disturbed(it)
        await it.sync()
        same(it, " ".join(history))
        handles_lead_there(it, shown, " ".join(history))
        history.append("|")


async def disturbed(it: Rest) -> list[str]:
    """A run during which others go on using the mailbox, and requests fail. What it was."""
    history = ["("]
    respond: Callable[..., Answer] = it.peer.respond

    def disturb(request: Any, recorded: Any) -> Answer:
        if it.chance.random() < 0.03:
            history.append(it.act())
        if it.chance.random() < 0.02:
            history.append("fault")
            it.chance.choice([it.peer.cut_next, it.peer.fail_next, it.peer.truncate_next])("*", "*")
        return respond(request, recorded)

    it.peer.respond = disturb  # type: ignore[method-assign]
    try:
        with suppress(PostroomError):
            await it.sync()
    finally:
        it.peer.respond = respond  # type: ignore[method-assign]
        it.peer.forget_faults()
    return [*history, ")"]


def same(it: Rest, history: str) -> None:
    there = it.there()
    with it.mirror.snapshot() as connection:
        refs = [ref for (ref,) in connection.execute("SELECT ref FROM mail")]
        here = {row.ref: row for row in Lookup(threads_by_headers=False).envelopes(connection, refs) if row}
        assert (there.keys() - here.keys(), here.keys() - there.keys()) == (set(), set()), history
        for ref, (mailbox, flags, subject, text) in there.items():
            row = here[ref]
            marks = {"\\Seen": not row.unread, "\\Flagged": row.starred, "\\Answered": row.answered,
                     "$Forwarded": row.forwarded, "\\Draft": row.draft}  # fmt: skip
            assert {name for name, is_set in marks.items() if is_set} == flags, (ref, history)
            assert (row.folder, row.subject) == (mailbox, subject), (ref, history)
            page = search(connection, Query(Text(text.split()[-1]), anywhere=True), limit=10, offset=0)
            assert [one.ref for one in page.items] == [ref], (ref, history)
    status = it.mirror.status()
    assert status.complete, history
    assert {one.name: one.messages for one in status.folders} == {
        name: sum(row[0] == name for row in there.values()) for name in it._names()
    }, history


def handles_lead_there(it: Rest, shown: dict[str, str], history: str) -> None:
    """No handle comes to mean another message."""
    there = it.there()
    for handle, subject in shown.items():
        ref = it.handles.resolve(handle, Kind.EMAIL).ref
        assert ref not in there or there[ref][2] == subject, history
    refs = sorted(there)
    for ref, handle in zip(refs, it.handles.issue(Kind.EMAIL, "mine", refs), strict=True):
        assert shown.setdefault(handle, there[ref][2]) == there[ref][2], history
