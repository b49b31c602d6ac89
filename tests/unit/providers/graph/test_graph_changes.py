"""Delta queries that the service no longer knows: said in each of its ways, alone and under a mirror."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer

from postroom.index.rows import ENVELOPE, envelopes_of
from postroom.model.errors import CursorExpired, ProviderError
from postroom.providers.context import ProviderContext
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.registry import open_mailbox
from postroom.sync.mirror import Mirror
from postroom.sync.syncing import Syncing

from .conftest import settings

ELSEWHERE = "https://evil.example/v1.0/me/mailFolders/x/messages/delta?$deltatoken=stolen"
# Microsoft's ways of saying it: as 410 with the place to begin at, by several codes, one in another, and as 400.
FORGOTTEN = [
    (410, {"code": "SyncStateNotFound"}),
    (410, {"code": "syncStateNotFound"}),
    (410, {"code": "resyncRequired"}),
    (410, {"code": "Gone", "innerError": {"code": "SyncStateInvalid"}}),
    (410, {}),
    (400, {"code": "SyncStateNotFound"}),
    (404, {"code": "SyncStateNotFound"}),
]


def forget(graph: FakeGraph, status: int, error: dict[str, object], location: str) -> None:
    body = json.dumps({"error": error}).encode()
    answer = Answer(status, body, {"content-type": "application/json", "location": location})
    graph._ask(Fault("GET", "messages.delta", "answer", answer=answer))


@pytest.mark.parametrize("is_own", [True, False], ids=["own host", "another host"])
@pytest.mark.parametrize(("status", "error"), FORGOTTEN)
async def test_what_is_forgotten_is_read_anew_and_the_place_that_is_named_is_not_asked(
    graph: FakeGraph, mailbox: GraphMailbox, status: int, error: dict[str, object], is_own: bool
) -> None:
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    graph.forget()
    own = f"{graph.base_url}/me/mailFolders/x/messages/delta?$deltatoken=other"
    forget(graph, status, error, own if is_own else ELSEWHERE)
    with pytest.raises(CursorExpired):
        await mailbox.changed_since(cursor, limit=10)
    assert graph.count("messages.delta") == 1


async def test_a_mailbox_without_a_licence_is_no_reason_to_read_everything_again(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    alice.is_enabled = False
    with pytest.raises(ProviderError, match="no mailbox"):
        await mailbox.changed_since(cursor, limit=10)


async def mirrored(mirror: Mirror, graph: FakeGraph, user: Mailbox) -> tuple[bool, set[str]]:
    """Whether a run was completed, and what the mirror has then."""
    account = settings(graph, user, mirror="headers")
    mailbox = open_mailbox(account, ProviderContext(Path("unused"), (account,)))
    await mailbox.connect()
    async with Syncing(mirror, mailbox, account) as syncing:
        status = await syncing.once()
    await mailbox.close()
    with mirror.snapshot() as connection:
        rows = connection.execute(f"SELECT {ENVELOPE} FROM mail").fetchall()
    return status.complete, {row.ref for row in envelopes_of(rows)}


@pytest.mark.parametrize(("status", "error"), FORGOTTEN)
async def test_a_mirror_whose_mark_is_forgotten_ends_up_with_what_is_there(
    graph: FakeGraph, alice: Mailbox, tmp_path: Path, status: int, error: dict[str, object]
) -> None:
    mirror = Mirror(tmp_path / "mirrors" / "work.db")
    first, second = (graph.deliver(alice, mail(f"m{number}", days_ago=number)) for number in range(2))
    assert await mirrored(mirror, graph, alice) == (True, {first.immutable_id, second.immutable_id})
    alice.remove(first)  # which the forgotten delta would have told
    third = graph.deliver(alice, mail("m3"))
    forget(graph, status, error, ELSEWHERE)
    assert await mirrored(mirror, graph, alice) == (True, {second.immutable_id, third.immutable_id})


async def test_a_mailbox_whose_licence_lapsed_takes_nothing_out_of_its_mirror(
    graph: FakeGraph, alice: Mailbox, tmp_path: Path
) -> None:
    mirror = Mirror(tmp_path / "mirrors" / "work.db")
    stored = graph.deliver(alice, mail("one"))
    await mirrored(mirror, graph, alice)
    account = settings(graph, alice, mirror="headers")
    mailbox = open_mailbox(account, ProviderContext(Path("unused"), (account,)))
    await mailbox.connect()
    alice.is_enabled = False
    async with Syncing(mirror, mailbox, account) as syncing:
        with pytest.raises(ProviderError):
            await syncing.once()
    await mailbox.close()
    alice.is_enabled = True
    assert await mirrored(mirror, graph, alice) == (True, {stored.immutable_id})
