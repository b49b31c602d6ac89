"""Whatever a second client does to a JMAP mailbox on Cyrus, after a run the mirror equals the server, email by email.

Which random histories are played: see `seeds`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.peers.cyrus import PASSWORD, Cyrus
from tests.peers.faultproxy import faulty
from tests.peers.raw_jmap import RawJmap
from tests.unit.sync.jmap_client import JmapClient
from tests.unit.sync.seeds import SEEDS

from postroom.index.search import search
from postroom.model.errors import PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.query.tree import Query, Text
from postroom.providers.context import ProviderContext
from postroom.providers.jmap.provider import JmapMailbox
from postroom.providers.layers.layered import Call, Layered
from postroom.settings import JmapAccount
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.answering.lookup import Lookup
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import by_listing
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

STEPS = 8


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_mirror_equals_its_server_after_every_run(
    cyrus: Cyrus, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 2)
    monkeypatch.setattr(by_listing, "_PAGE", 5)
    monkeypatch.setattr(by_listing, "_CHANGES", 3)
    user = cyrus.new_user("truth")
    chance = random.Random(f"jmap {seed}")
    second = JmapClient(RawJmap(cyrus.url, user, PASSWORD), chance)
    mirror, handles = Mirror(tmp_path / "mirrors" / "mine.db"), Handles(Database(tmp_path / "state.db"))
    shown: dict[str, str] = {}
    history: list[str] = []
    with faulty(cyrus.http) as proxy:
        account = JmapAccount(
            name="mine", address=user, session_url=f"http://{cyrus.host}:{proxy.port}", password=PASSWORD, mirror="full"
        )
        async with opened(account, tmp_path) as mailbox:
            for _ in range(STEPS):
                history += second.act(chance.randint(1, 8))
                if chance.random() < 0.4:
                    history += ["(", *await disturbed(mirror, mailbox, account, handles, second), ")"]
                if chance.random() < 0.4:
                    history.append("cut")
                    proxy.reset(cut_after_down=chance.randint(600, 12_000))
                    with suppress(PostroomError):
                        await synced(mirror, mailbox, account, handles)
                    proxy.reset()
                await synced(mirror, mailbox, account, handles)
                same(mirror, second, history)
                handles_lead_there(mirror, handles, shown)
                history.append("|")


async def disturbed(
    mirror: Mirror, mailbox: JmapMailbox, account: JmapAccount, handles: Handles, second: JmapClient
) -> list[str]:
    """A run during which the second client goes on; what it did."""
    history: list[str] = []

    def told(verb: str, call: Call) -> Call:
        async def told(*args: Any, **kwargs: Any) -> Any:
            if second.chance.random() < 0.3:
                history.extend(await anyio.to_thread.run_sync(second.act, 1))
            return await call(*args, **kwargs)

        return told

    with suppress(PostroomError):
        await synced(mirror, Layered(mailbox, "jmap", [told]), account, handles)  # type: ignore[arg-type]
    return history


@asynccontextmanager
async def opened(account: JmapAccount, home: Path) -> AsyncIterator[JmapMailbox]:
    mailbox = JmapMailbox(account, ProviderContext(home, (account,), proxies=False))
    try:
        yield mailbox
    finally:
        await mailbox.close()


async def synced(mirror: Mirror, mailbox: JmapMailbox, account: JmapAccount, handles: Handles) -> None:
    async with Syncing(mirror, mailbox, account, Tools(handles)) as syncing:
        await syncing.once()


def rows(mirror: Mirror) -> dict[str, Envelope]:
    with mirror.snapshot() as connection:
        refs = [ref for (ref,) in connection.execute("SELECT ref FROM mail")]
        return {row.ref: row for row in Lookup(threads_by_headers=False).envelopes(connection, refs) if row}


def same(mirror: Mirror, second: JmapClient, history: list[str]) -> None:
    there, here = second.everything(), rows(mirror)
    assert (there.keys() - here.keys(), here.keys() - there.keys()) == (set(), set()), history
    for ref, (mailboxes, keywords, subject, thread) in there.items():
        row = here[ref]
        flags = {"$seen": not row.unread, "$flagged": row.starred, "$answered": row.answered,
                 "$forwarded": row.forwarded}  # fmt: skip
        assert {*row.labels, *(name for name, is_set in flags.items() if is_set)} == keywords, (ref, history)
        assert (set(row.folders), row.subject) == (mailboxes, subject), (ref, history)
        assert row.thread_ref == thread, (ref, history)
    with mirror.snapshot() as connection:
        for row in here.values():
            word = f"unique{row.subject.split()[-1]}word"
            page = search(connection, Query(Text(word), anywhere=True), limit=100, offset=0)
            assert [one.ref for one in page.items] == [row.ref], history
    status = mirror.status()
    assert status.complete
    assert {folder.name for folder in status.folders} == second.names(), history
    for folder in status.folders:
        assert folder.messages == sum(folder.name in one[0] for one in there.values()), (folder.name, history)


def handles_lead_there(mirror: Mirror, handles: Handles, shown: dict[str, str]) -> None:
    """`shown` is which message each handle was issued for; it is brought up to date."""
    here = rows(mirror)
    for handle, subject in shown.items():
        ref = handles.resolve(handle, Kind.EMAIL).ref
        assert ref not in here or here[ref].subject == subject
    refs = sorted(here)
    for ref, handle in zip(refs, handles.issue(Kind.EMAIL, "mine", refs), strict=True):
        assert shown.setdefault(handle, here[ref].subject) == here[ref].subject
