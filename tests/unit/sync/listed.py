"""A mirror of a mailbox without numbers, and a second client that acts between two requests of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.peers.accounts import letter
from tests.peers.memory_mailbox import Contents, LabelMailbox, MemoryMailbox

from postroom.model.message import Envelope
from postroom.settings import RestAccount
from postroom.sync.answering.lookup import Lookup
from postroom.sync.answering.mirrored import MirrorLayer
from postroom.sync.answering.mirrored import mirrored as with_mirror
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing, Tools

LATEST = datetime(2026, 6, 1, tzinfo=UTC)


class Shared:
    """Before a verb is answered for the n-th time, somebody else does something: `meanwhile[verb, n]`."""

    contents: Contents
    meanwhile: dict[tuple[str, int], Callable[[], Any]]

    def asked(self, verb: str) -> None:
        super().asked(verb)  # type: ignore[misc]
        action = self.meanwhile.pop((verb, self.contents.calls[verb]), None)
        if action is not None:
            action()


class Reporting(Shared, LabelMailbox):
    """It tells what changed, as JMAP does."""


class Listing(Shared, MemoryMailbox):
    """Only its listings tell, as with the REST API."""


@dataclass
class Listed:
    server: Reporting | Listing
    mirror: Mirror
    account: RestAccount
    now: float = field(default_factory=lambda: datetime.now(UTC).timestamp())
    step: float = 10.0  # seconds between two looks at the clock: a fill looks at the server after every page

    @property
    def contents(self) -> Contents:
        return self.server.contents

    def add(self, count: int, *folders: str, begin: int = 0) -> list[str]:
        """One a day, the last one is the newest."""
        return [
            self.contents.add(letter(f"{''.join(folders)}{n}"), *folders, date=LATEST + timedelta(days=n))
            for n in range(begin, begin + count)
        ]

    def put(self, ref: str, *folders: str) -> None:
        envelope, raw = self.contents.mails[ref]
        self.contents.mails[ref] = (replace(envelope, folder=folders[0], other_folders=folders[1:]), raw)
        self.contents.log.append(ref)

    def rename(self, old: str, new: str) -> None:
        """No message changes by that."""
        self.contents.folders = [replace(one, name=new) if one.name == old else one for one in self.contents.folders]
        for ref, (envelope, raw) in self.contents.mails.items():
            names = [new if name == old else name for name in envelope.folders]
            self.contents.mails[ref] = (replace(envelope, folder=names[0], other_folders=tuple(names[1:])), raw)

    def meanwhile(self, verb: str, number: int, action: Callable[[], Any]) -> None:
        """`number`: of the calls from now on, the first is 1."""
        self.server.meanwhile[verb, self.contents.calls[verb] + number] = action

    async def sync(self, **changes: Any) -> None:
        self.account = self.account.model_copy(update=changes)
        async with Syncing(self.mirror, self.server, self.account, self.tools) as syncing:  # type: ignore[arg-type]
            await syncing.once()

    async def catch_up(self) -> None:
        async with Syncing(self.mirror, self.server, self.account, self.tools) as syncing:  # type: ignore[arg-type]
            await syncing.catch_up()

    @property
    def tools(self) -> Tools:
        return Tools(clock=self._tick)

    def _tick(self) -> float:
        self.now += self.step
        return self.now

    def mailbox(self, **options: Any) -> Any:
        layer = MirrorLayer(self.server, self.mirror, self.account, **options)  # type: ignore[arg-type]
        return with_mirror(self.server, layer, "memory")  # type: ignore[arg-type]

    def rows(self) -> dict[str, Envelope]:
        with self.mirror.snapshot() as connection:
            refs = [ref for (ref,) in connection.execute("SELECT ref FROM mail")]
            found = Lookup(threads_by_headers=False).envelopes(connection, refs)
        return {row.ref: row for row in found if row is not None}

    def same(self, history: Sequence[str] = ()) -> None:
        """It has what the server has, message by message, each in its folders, and says that this is all."""
        there = {ref: envelope for ref, (envelope, _) in self.contents.mails.items()}
        here = self.rows()
        assert (sorted(there.keys() - here.keys()), sorted(here.keys() - there.keys())) == ([], []), history
        assert {ref: _shown(row) for ref, row in here.items()} == {ref: _shown(row) for ref, row in there.items()}
        status = self.mirror.status()
        assert status.complete
        assert {one.name: one.messages for one in status.folders} == {
            one.name: one.total for one in self.contents.counted()
        }, history


def _shown(row: Envelope) -> tuple[object, ...]:
    return row.folder, frozenset(row.other_folders), row.unread, row.starred, row.subject, row.date


def listed(kind: type[Reporting] | type[Listing], path: Path, **changes: Any) -> Listed:
    account = RestAccount(
        **{"name": "mine", "address": "listed@demo.example", "base_url": "http://127.0.0.1:1", "mirror": "full"}
        | changes
    )
    server = kind(account, None)
    server.contents, server.meanwhile = Contents(), {}
    return Listed(server, Mirror(path / "mirrors" / "mine.db"), account)
