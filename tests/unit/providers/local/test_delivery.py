from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from postroom.index.database import Database
from postroom.model.address import Address
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.query.tree import In, Query
from postroom.providers.local.delivery import without_bcc
from postroom.providers.local.provider import LocalMailbox

Raw = Callable[..., bytes]


def request(raw: bytes, *recipients: str, attempt: str = "attempt-1", **more: Any) -> SubmitRequest:
    return SubmitRequest(WireEnvelope("ann@town.example", recipients), raw, "<1@x>", attempt, **more)


async def contents(mailbox: LocalMailbox, folder: str) -> list[bytes]:
    page = await mailbox.search(Query(In(folder)), limit=100, offset=0)
    return [await mailbox.fetch_raw(envelope.ref) for envelope in page.items]


async def test_each_recipient_gets_one_copy_and_the_sender_keeps_one(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    outcome = await transport.submit(request(raw(), "BOB@town.example", "cat@town.example"))
    assert outcome.state == "accepted"
    assert outcome.accepted == ("BOB@town.example", "cat@town.example")
    for name in ("bob", "cat"):
        mailbox = await town.mailbox(name)
        assert await contents(mailbox, "inbox") == [raw()]
        assert (await mailbox.folders())[0].unread == 1
    ann = await town.mailbox("ann")
    (sent,) = (await ann.search(Query(In("sent")), limit=5, offset=0)).items
    assert (outcome.message_ref, outcome.thread_ref) == (sent.ref, sent.thread_ref)
    assert not sent.unread


async def test_a_recipient_without_a_mailbox_has_it_all_rejected(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    outcome = await transport.submit(request(raw(), "bob@town.example", "eve@elsewhere.example"))
    assert outcome.state == "rejected"
    assert outcome.refused == {"eve@elsewhere.example": "no local mailbox"}
    assert await contents(await town.mailbox("bob"), "inbox") == []
    assert await contents(await town.mailbox("ann"), "sent") == []


async def test_mail_without_any_recipient_is_rejected(town: Any, raw: Raw) -> None:
    assert (await (await town.transport("ann")).submit(request(raw()))).state == "rejected"


async def test_an_alias_receives_and_two_addresses_of_one_person_get_one_copy(town: Any, raw: Raw) -> None:
    bob = await town.mailbox("bob")
    await bob.create_alias(Address("info@town.example"), "")
    transport = await town.transport("ann")
    outcome = await transport.submit(request(raw(), "Info@town.example", "bob@town.example"))
    assert outcome.accepted == ("Info@town.example", "bob@town.example")
    assert await contents(bob, "inbox") == [raw()]


async def test_one_may_write_to_oneself(town: Any, raw: Raw) -> None:
    await (await town.transport("ann")).submit(request(raw(), "ann@town.example"))
    ann = await town.mailbox("ann")
    assert await contents(ann, "inbox") == await contents(ann, "sent") == [raw()]


async def test_blind_copies_are_seen_by_the_sender_alone(town: Any, raw: Raw) -> None:
    written = raw(Bcc="cat@town.example,\r\n\tsecret@town.example", X_After="kept")
    await (await town.transport("ann")).submit(request(written, "bob@town.example", "cat@town.example"))
    for name in ("bob", "cat"):
        assert await contents(await town.mailbox(name), "inbox") == [raw(X_After="kept")]
    assert await contents(await town.mailbox("ann"), "sent") == [written]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"A: 1\r\nBcc: x\r\n\r\nbody", b"A: 1\r\n\r\nbody"),
        (b"bCC : x,\n y\nA: 1\n\nBcc: body", b"A: 1\n\nBcc: body"),
        (b"A: 1\nResent-Bcc: x", b"A: 1\n"),
        (b"A: 1\r\n Bcc: folded into A\r\n\r\n", b"A: 1\r\n Bcc: folded into A\r\n\r\n"),
        (b"X-Bcc: kept\r\n\r\n", b"X-Bcc: kept\r\n\r\n"),
        (b"\r\nBcc: body\r\n\r\n", b"\r\nBcc: body\r\n\r\n"),
        (b"", b""),
    ],
)
def test_only_the_headers_lose_their_bcc(before: bytes, after: bytes) -> None:
    assert without_bcc(before) == after


async def test_the_same_attempt_again_delivers_nothing_twice(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    first = await transport.submit(request(raw(), "bob@town.example"))
    again = await transport.submit(request(raw(), "bob@town.example"))
    assert again == first
    assert len(await contents(await town.mailbox("bob"), "inbox")) == 1
    assert len(await contents(await town.mailbox("ann"), "sent")) == 1


async def test_another_attempt_with_the_same_bytes_is_another_mail(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    await transport.submit(request(raw(), "bob@town.example", attempt="one"))
    await transport.submit(request(raw(), "bob@town.example", attempt="two"))
    assert len(await contents(await town.mailbox("bob"), "inbox")) == 2


async def test_one_attempt_made_by_many_at_once_is_one_mail(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(transport.submit, request(raw(), "bob@town.example", "cat@town.example"))
    assert [len(await contents(await town.mailbox(name), "inbox")) for name in ("bob", "cat")] == [1, 1]


async def test_a_draft_that_was_sent_is_taken_away(town: Any, raw: Raw) -> None:
    ann = await town.mailbox("ann")
    draft = await ann.create_draft(raw())
    await (await town.transport("ann")).submit(request(raw(), "bob@town.example", draft_ref=draft.ref))
    assert (await ann.list_drafts(limit=5, offset=0)).total == 0


async def test_a_mail_that_is_no_draft_is_never_taken_away(town: Any, raw: Raw) -> None:
    ann = await town.mailbox("ann")
    ref = await ann.add_message(raw())
    outcome = await (await town.transport("ann")).submit(request(raw(), "bob@town.example", draft_ref=ref))
    assert outcome.state == "accepted"
    assert await ann.fetch_raw(ref) == raw()


async def test_no_copy_is_kept_when_none_is_wanted(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    wanted = request(raw(), "bob@town.example", save_to_sent=False)
    assert (await transport.submit(wanted)).message_ref == ""
    assert await contents(await town.mailbox("ann"), "sent") == []
    assert (await transport.reconcile(wanted)).state == "accepted"


async def test_the_copy_joins_the_thread_it_answers(town: Any, raw: Raw) -> None:
    ann = await town.mailbox("ann")
    parent = await ann.add_message(raw())
    (envelope,) = await ann.envelopes([parent])
    outcome = await (await town.transport("ann")).submit(
        request(raw(), "bob@town.example", thread_ref=envelope.thread_ref)
    )
    assert outcome.thread_ref == envelope.thread_ref


async def test_reconciling_tells_sent_from_not_sent(town: Any, raw: Raw) -> None:
    transport = await town.transport("ann")
    asked = request(raw(), "bob@town.example")
    assert (await transport.reconcile(asked)).state == "retryable"
    sent = await transport.submit(asked)
    assert await transport.reconcile(asked) == sent


async def test_a_locked_mailbox_can_be_tried_again_and_completes_what_was_begun(
    town: Any, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Database.__init__.__kwdefaults__, "wait_for_lock", 0.05)
    transport, asked = await town.transport("ann"), request(raw(), "bob@town.example", "cat@town.example")
    await town.mailbox("cat")
    other = sqlite3.connect(town.folder / "cat.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcome = await transport.submit(asked)
    assert outcome.state == "retryable"
    assert outcome.retry_after
    halfway = await transport.reconcile(asked)
    assert (halfway.state, "partly delivered" in halfway.reason) == ("retryable", True)
    other.rollback()
    assert (await transport.submit(asked)).state == "accepted"
    assert [len(await contents(await town.mailbox(name), "inbox")) for name in ("bob", "cat")] == [1, 1]


async def test_a_damaged_neighbour_hinders_only_the_mail_to_it(town: Any, raw: Raw) -> None:
    (town.folder / "cat.db").write_bytes(b"ruined" * 1000)
    transport = await town.transport("ann")
    assert (await transport.submit(request(raw(), "bob@town.example", attempt="a"))).state == "accepted"
    outcome = await transport.submit(request(raw(), "cat@town.example", attempt="b"))
    assert outcome.state == "retryable"
    assert "cat.db" in outcome.reason


KILLED = """
    import os, signal, sys
    from pathlib import Path
    import anyio
    from postroom.model.outcome import SubmitRequest, WireEnvelope
    from postroom.providers.context import ProviderContext
    from postroom.providers.local import delivery
    from postroom.providers.local.provider import LocalMailbox, LocalTransport
    from postroom.settings import LocalAccount

    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    done = 0

    def counted(verb):
        def run(*args, **kwargs):
            global done
            if done == steps:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
            return verb(*args, **kwargs)
        return run

    delivery.add_one = counted(delivery.add_one)
    names = ("ann", "bob", "cat")
    accounts = [LocalAccount(name=name, address=f"{name}@town.example", path=folder / f"{name}.db") for name in names]
    context = ProviderContext(folder, tuple(accounts))

    async def main():
        mailbox = LocalMailbox(accounts[0], context)
        await mailbox.connect()
        wire = WireEnvelope("ann@town.example", ("bob@town.example", "cat@town.example"))
        request = SubmitRequest(wire, (folder / "mail").read_bytes(), "<1@x>", "attempt-1")
        await LocalTransport(accounts[0], context, mailbox).submit(request)

    anyio.run(main)
"""


@pytest.mark.parametrize("steps", [0, 1, 2])
async def test_a_process_killed_between_two_copies_loses_and_doubles_nothing(
    town: Any, raw: Raw, tmp_path: Path, steps: int
) -> None:
    (tmp_path / "mail").write_bytes(raw())
    command = [sys.executable, "-c", dedent(KILLED), str(tmp_path), str(steps)]
    killed = await anyio.to_thread.run_sync(lambda: subprocess.run(command, check=False))
    assert killed.returncode == -signal.SIGKILL
    transport, asked = await town.transport("ann"), request(raw(), "bob@town.example", "cat@town.example")
    before = [len(await contents(await town.mailbox(name), "inbox")) for name in ("bob", "cat")]
    assert sum(before) == steps
    assert (await transport.reconcile(asked)).state == "retryable"
    assert (await transport.submit(asked)).state == "accepted"
    after = [len(await contents(await town.mailbox(name), "inbox")) for name in ("bob", "cat")]
    assert after == [1, 1]
    assert len(await contents(await town.mailbox("ann"), "sent")) == 1
