"""What a mirror shows as done already, or as it has to be, is so only if its server says so: another program may have
changed it since."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.gate.rigs import gate_rig
from tests.gate.services import Gmail
from tests.peers.gmail import FakeGmail

from postroom.service.accounts import mirrors
from postroom.service.gateway import Gateway
from postroom.service.organising import organise
from postroom.service.reading import search

pytestmark = pytest.mark.anyio


@dataclass
class Mirrored:
    """An account with a mirror that is complete and fresh, and one message in its inbox."""

    gateway: Gateway
    gmail: FakeGmail
    message: Any
    email_id: str

    @property
    def user(self) -> Any:
        return self.gmail.user("alice@demo.example")


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Mirrored]:
    with FakeGmail.started() as gmail:
        accounts = [{**one, "mirror": "full"} for one in Gmail(gmail).accounts()[:1]]
        message = gmail.deliver(gmail.user("alice@demo.example"), mail("one"), {"INBOX"})
        async with gate_rig(tmp_path, accounts=accounts) as gate:
            gateway = gate.gateway
            await mirrors.sync(gateway, mirrors.mirrored_accounts(gateway.settings))
            page = await search.list_emails(gateway, account="alice")
            assert page.complete
            yield Mirrored(gateway, gmail, message, page.results[0].email_id)


async def test_a_message_that_was_marked_unread_meanwhile_is_marked_as_read(it: Mirrored) -> None:
    it.user.change_labels(it.message, ["UNREAD"])
    done = await organise.mark(it.gateway, [it.email_id], "read")
    assert (done.succeeded, it.message.labels) == (1, {"INBOX"})


async def test_a_message_that_was_moved_away_meanwhile_is_moved_back(it: Mirrored) -> None:
    it.user.change_labels(it.message, ["TRASH"])
    done = await organise.move(it.gateway, [it.email_id], "INBOX")
    assert (done.succeeded, it.message.labels) == (1, {"INBOX"})


async def test_one_that_was_deleted_for_good_meanwhile_is_gone(it: Mirrored) -> None:
    it.user.delete(it.message)
    done = await organise.mark(it.gateway, [it.email_id], "read")
    assert (done.failed, done.operation_id) == (1, "")


async def test_what_is_as_wanted_at_the_server_is_not_changed(it: Mirrored) -> None:
    it.gmail.forget()
    done = await organise.mark(it.gateway, [it.email_id], "read")
    assert (done.succeeded, done.operation_id) == (1, "")
    assert it.gmail.count("messages.batchModify") == 0


async def test_what_another_program_changed_since_is_left_alone_by_undo(it: Mirrored) -> None:
    deleted = await organise.delete(it.gateway, [it.email_id])
    work = it.user.labels.create("Work").id
    it.user.change_labels(it.message, [work], ["TRASH"])
    undone = await organise.undo(it.gateway, deleted.operation_id)
    assert (undone.failed, it.message.labels) == (1, {work})
