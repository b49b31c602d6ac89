"""Whatever a second client does to a mailbox at Microsoft, and however the service fails meanwhile, after a run the
mirror equals the server, message by message.

Which random histories are played: see `seeds`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.peers.web.messages import Answer
from tests.unit.sync.cloud import Cloud
from tests.unit.sync.graph_side import BusySide, act
from tests.unit.sync.seeds import SEEDS

from postroom.model.errors import PostroomError
from postroom.model.ids import Kind
from postroom.model.query.tree import Text
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import by_listing
from postroom.sync.following.syncing import Tools

pytestmark = pytest.mark.anyio

STEPS = 6


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_mirror_equals_its_server_after_every_run(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("_FIRST_PAGE", 2), ("_PAGE", 5), ("_CHANGES", 3)):
        monkeypatch.setattr(by_listing, name, size)
    chance = random.Random(f"graph {seed}")
    handles = Handles(Database(tmp_path / "state.db"))
    shown: dict[str, str] = {}
    history: list[str] = []
    async with busy_cloud(tmp_path) as it:
        for _ in range(STEPS):
            history += [act(it, chance) for _ in range(chance.randint(1, 12))]
            if chance.random() < 0.6:
                history += await disturbed(it, chance, handles)
            await it.sync(Tools(handles))
            await same(it, history)
            handles_lead_there(it, handles, shown)
            history.append("|")


@asynccontextmanager
async def busy_cloud(folder: Path) -> AsyncIterator[Cloud]:
    with ExitStack() as peers:
        yield Cloud(BusySide(peers), Mirror(folder / "mirrors" / "mine.db"))


async def disturbed(it: Cloud, chance: random.Random, handles: Handles) -> list[str]:
    """A run during which others go on using the mailbox, and requests fail. What it was."""
    history = ["("]
    peer: Any = it.side.peer
    respond: Callable[..., Answer] = peer.respond

    def disturb(request: Any, recorded: Any) -> Answer:
        if chance.random() < 0.1:
            history.append(act(it, chance))
        if chance.random() < 0.05:
            fault = chance.choice(["cut", "fail", "throttle"])
            history.append(fault)
            if fault == "cut":
                peer.cut_next("*", "*")
            else:
                status = 429 if fault == "throttle" else chance.choice([500, 503, 504])
                peer.fail_next("*", "*", status=status, retry_after=0)
        return respond(request, recorded)

    peer.respond = disturb
    try:
        with suppress(PostroomError):
            await it.sync(Tools(handles))
    finally:
        peer.respond = respond
        peer.forget_faults()
    return [*history, ")"]


async def same(it: Cloud, history: list[str]) -> None:
    listed = it.side.listed_names()
    there = {ref: row for ref, row in (await it.there()).items() if row.folder in listed}
    here = it.rows()
    assert (there.keys() - here.keys(), here.keys() - there.keys()) == (set(), set()), " ".join(history)
    for ref, row in there.items():
        assert here[ref] == row, " ".join(history)
    contents = {one.immutable_id: one.content for one in it.side.user.messages}
    for ref in there:
        kind, text = contents[ref].body
        assert it.text_of(ref).split() == (text.split() if kind == "text" else []), " ".join(history)
        word = contents[ref].text.split()[-1]
        assert ref in {row.ref for row in it.found(Text(word))}, " ".join(history)
    status = it.mirror.status()
    assert status.complete, " ".join(history)
    assert {one.name: one.messages for one in status.folders} == {
        name: sum(row.folder == name for row in there.values()) for name in listed
    }, " ".join(history)


def handles_lead_there(it: Cloud, handles: Handles, shown: dict[str, str]) -> None:
    """A ref is a message's for ever, and so is a handle."""
    for handle, ref in shown.items():
        assert handles.resolve(handle, Kind.EMAIL).ref == ref
    refs = sorted(it.rows())
    for ref, handle in zip(refs, handles.issue(Kind.EMAIL, "mine", refs), strict=True):
        assert shown.setdefault(handle, ref) == ref
