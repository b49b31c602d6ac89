"""Whatever a second client does, after a run the mirror equals the server, message by message.

MIRROR_SEEDS is how many random histories are played; the few of every run are always the same ones.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.dovecot import Dovecot, running_dovecot
from tests.peers.faultproxy import faulty
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.second_client import SecondClient, There

from postroom.index.search import search
from postroom.model.errors import PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.query.tree import Query, Text
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.mirror import Mirror
from postroom.sync.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

SEEDS = int(os.environ.get("MIRROR_SEEDS", "2"))
STEPS = 8
BASIC = "IMAP4rev1 LITERAL+ ID NAMESPACE UIDPLUS IDLE UNSELECT MOVE"


@pytest.fixture(scope="module")
def poor() -> Iterator[Dovecot]:
    """It has neither CONDSTORE nor LIST-STATUS, and says so."""
    with running_dovecot(capability=BASIC) as server:
        yield server


@pytest.fixture(scope="module")
def middling() -> Iterator[Dovecot]:
    with running_dovecot(capability=f"{BASIC} CONDSTORE ENABLE ESEARCH LIST-EXTENDED LIST-STATUS") as server:
        yield server


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("peer", ["dovecot", "middling", "poor"])
async def test_a_mirror_equals_its_server_after_every_run(
    peer: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dovecot: Dovecot = request.getfixturevalue(peer)
    mirrored = Mirrored(dovecot, dovecot.new_user("truth"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    chance = random.Random(f"{peer} {seed}")
    second = SecondClient(mirrored, chance)
    handles = Handles(Database(tmp_path / "state.db"))
    shown: dict[str, str] = {}  # handle -> the key of the message it was issued for
    alone: set[str] = set()  # the keys of messages that the server had once after the previous run
    history: list[str] = []
    for _ in range(STEPS):
        history += second.act(chance.randint(1, 8))
        if chance.random() < 0.4:
            history.append("cut")
            await _cut_run(mirrored, chance, handles)
        await mirrored.sync(Tools(handles))
        server = second.everything()
        _same(mirrored, server, history)
        _handles_lead_there(handles, shown, server, alone, history)
        alone = {key for key, refs in _copies(server).items() if len(refs) == 1}
        history.append("|")
    await _same_as_the_provider_says(mirrored)


async def _cut_run(mirrored: Mirrored, chance: random.Random, handles: Handles) -> None:
    with faulty(mirrored.dovecot.imap) as proxy:
        account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port, mirror="full")
        proxy.reset(cut_after_down=chance.randint(600, 12_000))
        with suppress(PostroomError):
            async with (
                opened(account) as mailbox,
                Syncing(mirrored.mirror, mailbox, account, Tools(handles)) as syncing,
            ):
                await syncing.once()


def _same(mirrored: Mirrored, server: dict[str, There], history: list[str]) -> None:
    wanted = {ref: one for ref, one in server.items() if "\\Deleted" not in one.flags}
    rows = mirrored.rows()
    assert rows.keys() == wanted.keys(), history
    for ref, one in wanted.items():
        assert _state(rows[ref]) == _state_of(one), (ref, history)
    with mirrored.mirror.snapshot() as connection:
        for key in {one.key for one in wanted.values()}:
            page = search(connection, Query(Text(f"unique{key}word"), anywhere=True), limit=100, offset=0)
            assert {row.ref for row in page.items} == {one.ref for one in wanted.values() if one.key == key}, history
    status = mirrored.mirror.status()
    assert status.complete
    assert {folder.name for folder in status.folders} >= {one.folder for one in server.values()}
    counts = {folder.name: folder.messages for folder in status.folders}
    for name, count in counts.items():
        assert count == sum(one.folder == name for one in wanted.values()), (name, history)


def _state(row: Envelope) -> tuple[object, ...]:
    labels = frozenset(row.labels)
    return row.folder, row.unread, row.starred, row.answered, row.forwarded, row.draft, labels, row.size


def _state_of(one: There) -> tuple[object, ...]:
    flags = one.flags
    labels = frozenset(flag for flag in flags if flag[0] not in "\\$")
    return (
        one.folder,
        "\\Seen" not in flags,
        "\\Flagged" in flags,
        "\\Answered" in flags,
        "$Forwarded" in flags,
        "\\Draft" in flags,
        labels,
        len(one.raw),
    )


def _handles_lead_there(
    handles: Handles, shown: dict[str, str], server: dict[str, There], alone: set[str], history: list[str]
) -> None:
    """No handle means another message than before. One that was somewhere once, and is now somewhere else once, was
    moved: its handle leads there."""
    copies = _copies(server)
    for handle, key in shown.items():
        ref = handles.resolve(handle, Kind.EMAIL).ref
        assert ref not in server or server[ref].key == key, (handle, ref, history)
        if key in alone and len(copies.get(key, ())) == 1 and b"Message-ID" in server[copies[key][0]].raw:
            assert ref == copies[key][0] or "\\Deleted" in server[copies[key][0]].flags, (handle, key, history)
    refs = sorted(ref for ref, one in server.items() if "\\Deleted" not in one.flags)
    for ref, handle in zip(refs, handles.issue(Kind.EMAIL, "mine", refs), strict=True):
        assert shown.setdefault(handle, server[ref].key) == server[ref].key, history


def _copies(server: dict[str, There]) -> dict[str, list[str]]:
    copies: dict[str, list[str]] = {}
    for ref, one in server.items():
        copies.setdefault(one.key, []).append(ref)
    return copies


async def _same_as_the_provider_says(mirrored: Mirrored) -> None:
    rows = mirrored.rows()
    async with mirrored.mailbox() as mailbox:
        asked = await mailbox.envelopes(list(rows))
    assert {row.ref: row for row in asked if row is not None} == rows
