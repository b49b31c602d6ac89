"""Delta queries that the service no longer knows: said in each of its ways, alone and under a mirror."""

from __future__ import annotations

import json
import random
import secrets
import string
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request

from postroom.index.rows import ENVELOPE, envelopes_of
from postroom.model.errors import CursorExpired, ProviderError, ProviderUnavailable
from postroom.providers.context import ProviderContext
from postroom.providers.graph import changes
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.registry import open_mailbox
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing

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


async def told(mailbox: GraphMailbox, cursor: str, limit: int = 10) -> tuple[set[str], str]:
    """What is reported as removed until there is no more, and the cursor then."""
    removed: set[str] = set()
    has_more = True
    while has_more:
        page = await mailbox.changed_since(cursor, limit=limit)
        removed |= set(page.removed)
        cursor, has_more = page.cursor, page.has_more
    return removed, cursor


async def test_what_was_moved_to_a_new_folder_and_deleted_there_before_that_was_read_is_reported(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    moved, other = (graph.deliver(alice, mail(f"m{number}")) for number in range(2))
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    alice.move(moved, alice.add_folder("Zoo").id)
    alice.touched(other)
    page = await mailbox.changed_since(cursor, limit=1)
    assert (page.changed, page.has_more) == ((moved.immutable_id,), True)
    alice.remove(moved)
    assert (await told(mailbox, page.cursor, limit=1))[0] == {moved.immutable_id}


@pytest.mark.parametrize("is_shown", [True, False], ids=["listed by then", "still hidden"])
async def test_what_was_moved_to_a_folder_that_is_not_listed_and_deleted_there_is_reported(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, is_shown: bool
) -> None:
    stored = graph.deliver(alice, mail("one"))
    folder = alice.add_folder("Made meanwhile", hidden=True)
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    alice.move(stored, folder.id)
    page = await mailbox.changed_since(cursor, limit=10)
    assert page.changed == (stored.immutable_id,)
    folder.is_hidden = not is_shown
    alice.remove(stored)
    assert (await told(mailbox, page.cursor))[0] == {stored.immutable_id}


async def test_a_message_in_a_hidden_folder_is_not_asked_for_again_and_again(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    stored = graph.deliver(alice, mail("one"))
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    alice.move(stored, alice.add_folder("Hidden", hidden=True).id)
    for _ in range(2):
        cursor = (await told(mailbox, cursor))[1]
    graph.forget()
    await told(mailbox, cursor)
    assert graph.count("messages.get") == 0


def after(graph: FakeGraph, number: int, action: Callable[[], object]) -> None:
    """Somebody does something just before a delta query is answered for that many times."""
    respond, calls = graph.respond, count(1)

    def disturbed(request: Request, recorded: Recorded) -> Answer:
        if recorded.operation == "messages.delta" and next(calls) == number:
            action()
        return respond(request, recorded)

    graph.respond = disturbed  # type: ignore[method-assign]


async def test_a_folder_that_goes_while_everything_is_read_for_the_first_time_is_left_out(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    folder = alice.add_folder("Old")
    graph.deliver(alice, mail("one"), folder.id)
    after(graph, 2, lambda: alice.remove_folder(folder))
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    stored = graph.deliver(alice, mail("two"))
    page = await mailbox.changed_since(cursor, limit=10)
    assert (page.changed, page.removed) == ((stored.immutable_id,), ())


async def test_a_mark_that_is_forgotten_while_everything_is_read_for_the_first_time_is_begun_again(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_LARGEST_PAGE", 2)
    for number in range(5):
        graph.deliver(alice, mail(f"m{number}"))
    before = sorted(alice.well_known.values(), key=lambda ref: alice.folders[ref].name.casefold())
    after(graph, before.index(alice.well_known["inbox"]) + 2, lambda: forget(graph, *FORGOTTEN[0], ELSEWHERE))
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    stored = graph.deliver(alice, mail("new"))
    page = await mailbox.changed_since(cursor, limit=10)
    assert page.changed == (stored.immutable_id,)


async def test_a_service_that_forgets_every_mark_at_once_is_not_asked_for_ever(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_LARGEST_PAGE", 1)
    for number in range(3):
        graph.deliver(alice, mail(f"m{number}"))
    monkeypatch.setattr(graph.delta_tokens, "given_for", lambda state: secrets.token_urlsafe(24))
    with pytest.raises(ProviderUnavailable, match="Try again later"):
        await mailbox.changed_since("", limit=10)


async def test_the_marks_of_thousands_of_folders_are_one_cursor(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        alice.add_folder(f"Folder {number}")
    with monkeypatch.context() as patch:  # few folders with long tokens take less time than many
        patch.setattr(secrets, "token_urlsafe", lambda _: "".join(random.choices(string.ascii_letters, k=30_000)))
        cursor = (await mailbox.changed_since("", limit=10)).cursor
    stored = graph.deliver(alice, mail("new"))
    assert (await mailbox.changed_since(cursor, limit=10)).changed == (stored.immutable_id,)


async def test_a_mark_whose_pages_form_a_loop_is_given_up_and_everything_is_compared(
    graph: FakeGraph, alice: Mailbox, tmp_path: Path
) -> None:
    mirror = Mirror(tmp_path / "mirrors" / "work.db")
    first = graph.deliver(alice, mail("one"))
    await mirrored(mirror, graph, alice)
    second = graph.deliver(alice, mail("two"))
    body = {"value": [], "@odata.nextLink": f"{graph.base_url}/me/mailFolders/x/messages/delta?$skiptoken=same"}
    graph.answer_next("GET", "messages.delta", json.dumps(body), times=2)
    assert await mirrored(mirror, graph, alice) == (True, {first.immutable_id, second.immutable_id})


async def test_the_names_of_marks_may_be_spelt_as_the_documents_spell_them(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    respond = graph.respond

    def spelt(request: Request, recorded: Recorded) -> Answer:
        answer = respond(request, recorded)
        body = answer.body.replace(b"$deltatoken", b"$deltaToken").replace(b"$skiptoken", b"$skipToken")
        return replace(answer, body=body)

    monkeypatch.setattr(graph, "respond", spelt)
    for number in range(3):
        graph.deliver(alice, mail(f"m{number}"))
    monkeypatch.setattr(changes, "_LARGEST_PAGE", 1)
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    stored = graph.deliver(alice, mail("new"))
    assert (await mailbox.changed_since(cursor, limit=10)).changed == (stored.immutable_id,)
