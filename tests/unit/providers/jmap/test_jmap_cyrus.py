"""Cyrus between Postroom and a mail exchange that refuses, delays and hangs up: what it says, and what it is worth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail, message_id
from tests.peers.cyrus import PASSWORD, Cyrus
from tests.peers.scripted_smtp import HANG_UP

from postroom.model.errors import AuthRequired, NotFound
from postroom.model.folder import Role
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.query.tree import Label, Query
from postroom.providers.context import ProviderContext
from postroom.providers.jmap.provider import JmapMailbox
from postroom.providers.jmap.transport import JmapTransport
from postroom.settings import JmapAccount

YOU = "you@example.test"


@pytest.fixture
async def box(cyrus: Cyrus, open_box: Callable[[JmapAccount], JmapMailbox]) -> AsyncIterator[JmapMailbox]:
    user = await asyncio.to_thread(cyrus.new_user, "sender")
    account = JmapAccount(name="mine", address=user, session_url=cyrus.url, password=PASSWORD)
    cyrus.smtp.taken.clear()
    yield open_box(account)
    cyrus.smtp.answers.clear()


async def staged(box: JmapMailbox, transport: JmapTransport, **fields: Any) -> SubmitRequest:
    sender = (await box.identities())[0].address.email
    raw = mail("one", sender=sender, to=YOU, days_ago=0, **fields)
    given = SubmitRequest(WireEnvelope(sender, (YOU,)), raw, message_id("one"), "attempt-one")
    return replace(given, staged_ref=await transport.stage(given))


@pytest.mark.parametrize(
    ("step", "answer", "state"),
    [
        ("MAIL", "550 5.7.1 not from you", "rejected"),
        ("RCPT", "550 5.1.1 nobody", "rejected"),
        ("RCPT", "451 4.7.1 later", "retryable"),
        ("END", "451 4.3.0 later", "retryable"),
        ("END", "554 5.6.0 never", "rejected"),
        ("END", HANG_UP, "unknown"),
        ("MAIL", HANG_UP, "unknown"),
    ],
)
async def test_whatever_the_mail_exchange_says_nothing_is_claimed_that_is_not_certain(
    cyrus: Cyrus, box: JmapMailbox, tmp_path: Path, step: str, answer: str, state: str
) -> None:
    transport = JmapTransport(None, ProviderContext(tmp_path), box)  # type: ignore[arg-type]
    given = await staged(box, transport)
    cyrus.smtp.answers[step] = answer
    outcome = await transport.submit(given)
    assert outcome.state == state
    assert (await transport.reconcile(given)).state == "unknown"
    assert cyrus.smtp.taken == []
    held = await transport.staged(given)
    assert held is not None
    assert held.raw == given.raw


async def test_two_submissions_at_once_send_it_once(cyrus: Cyrus, box: JmapMailbox, tmp_path: Path) -> None:
    transport = JmapTransport(None, ProviderContext(tmp_path), box)  # type: ignore[arg-type]
    given = await staged(box, transport)
    outcomes = await asyncio.gather(*(transport.submit(given) for _ in range(3)))
    assert [outcome.state for outcome in outcomes].count("accepted") == 1
    assert len(cyrus.smtp.taken) == 1


async def test_a_message_in_several_folders_leaves_the_one_it_is_shown_in(box: JmapMailbox) -> None:
    ref = (await box.create_draft(mail("one", subject="Many"))).ref
    folders = {folder.role: folder for folder in await box.folders()}
    inbox, archive, trash = (folders[role] for role in (Role.INBOX, Role.ARCHIVE, Role.TRASH))
    own = await box.create_folder("Receipts")
    (result,) = await box.put_into([ref], [archive.ref, inbox.ref, own.ref])
    assert result.ok
    assert await _folders(box, ref) == (inbox.name, "Receipts", archive.name)
    await box.move([ref], archive.ref)
    assert await _folders(box, ref) == ("Receipts", archive.name)
    await box.put_into([ref], [trash.ref, inbox.ref])
    assert await _folders(box, ref) == (trash.name, inbox.name)
    assert (await box.search(Query(), limit=10, offset=0)).items == ()
    await box.put_into([ref], [inbox.ref, own.ref])
    await box.move([ref], trash.ref)
    assert await _folders(box, ref) == (trash.name,)
    with pytest.raises(NotFound):
        await box.put_into([ref], ["no-such-folder"])


async def test_a_label_with_levels_is_kept_found_and_taken_away_again(box: JmapMailbox) -> None:
    """Cyrus 3.6 takes the ~1 that stands for / in the path of a patch (RFC 6901) for a part of the keyword."""
    ref = (await box.create_draft(mail("one"))).ref
    await box.apply_label([ref], "Projects/Aurora ~2")
    await box.set_flags([ref], add=["starred"])
    await box.apply_label([ref], "projects/aurora ~2")
    page = await box.search(Query(Label("Projects/Aurora ~2")), limit=5, offset=0)
    assert [(row.ref, [label.casefold() for label in row.labels]) for row in page.items] == [
        (ref, ["projects/aurora ~2"])
    ]
    await box.remove_label([ref], "PROJECTS/Aurora ~2")
    (row,) = await box.envelopes([ref])
    assert row is not None
    assert (row.labels, row.starred, row.draft) == ((), True, True)


async def _folders(box: JmapMailbox, ref: str) -> tuple[str, ...]:
    (row,) = await box.envelopes([ref])
    assert row is not None
    return row.folders


async def test_a_wrong_password_is_refused_and_not_shown(
    cyrus: Cyrus, open_box: Callable[[JmapAccount], JmapMailbox]
) -> None:
    account = JmapAccount(name="mine", address=YOU, session_url=cyrus.url, password="wrong-password")
    with pytest.raises(AuthRequired) as caught:
        await open_box(account).connect()
    assert "wrong" not in caught.value.message


async def test_a_password_that_was_replaced_is_used_without_a_restart(
    cyrus: Cyrus, open_box: Callable[[JmapAccount], JmapMailbox], tmp_path: Path
) -> None:
    user, place = await asyncio.to_thread(cyrus.new_user, "renewed"), tmp_path / "password"
    place.touch(mode=0o600)
    place.write_text("withdrawn")
    box = open_box(JmapAccount(name="mine", address=user, session_url=cyrus.url, password_file=place))
    with pytest.raises(AuthRequired):
        await box.folders()
    place.write_text(PASSWORD)
    assert await box.folders()
