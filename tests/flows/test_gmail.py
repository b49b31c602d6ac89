"""A day with Gmail through the service: read, file, undo, answer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import PDF, mail
from tests.gate.rigs import CONFIRMED, gate_rig
from tests.gate.services import Gmail
from tests.peers.gmail import FakeGmail

from postroom.model.errors import PermissionDenied, ProviderUnavailable
from postroom.providers.layers.retry import Retry
from postroom.service.organising import organise
from postroom.service.reading import read, search, several
from postroom.service.reading.rendering import Reading
from postroom.service.sending import send
from postroom.service.writing import composing

LABEL = 'Projects/North & "South" 🎉'


async def test_messages_are_read_filed_restored_and_answered(tmp_path: Path) -> None:
    with FakeGmail.started() as gmail:
        accounts = Gmail(gmail).accounts()
        alice = gmail.user("alice@demo.example")
        for key in ("first", "second"):
            raw = mail(key, subject=key, sender="Bob <bob@demo.example>", to=alice.address, files=[("plan.pdf", PDF)])
            gmail.deliver(alice, raw)
        before = {ref: set(message.labels) for ref, message in alice.messages.items()}
        async with gate_rig(tmp_path, accounts=accounts) as gate:
            gateway = gate.gateway
            newest, oldest = (await search.list_emails(gateway, account="alice")).results
            filed = await organise.set_label(gateway, [newest.email_id, oldest.email_id], LABEL, True)
            binned = await organise.delete(gateway, [newest.email_id, oldest.email_id])
            assert len(alice.labelled("TRASH")) == 2
            for operation in (binned, filed):
                assert (await organise.undo(gateway, operation.operation_id)).failed == 0
            assert {ref: message.labels for ref, message in alice.messages.items()} == before
            opened = await read.list_attachments(gateway, newest.email_id, account="alice")
            assert [file.filename for file in opened] == ["plan.pdf"]
            reply = await send.order_reply(gateway, newest.email_id, composing.ReplyRequest("Yes!"), CONFIRMED)
            assert (await send.send(gateway, reply)).status == "sent"
            assert [one.recipients for one in gmail.sent] == [("bob@demo.example",)]
            thread = await read.get_thread(gateway, newest.thread_id, account="alice")
            assert len(thread.emails) == 2
            answered = (await search.search_emails(gateway, "is:answered", account="alice")).results
            assert [row.email_id for row in answered] == [newest.email_id]


@pytest.mark.parametrize("status", [500, 403])
@pytest.mark.parametrize("damage", ["text", "headers"])
async def test_a_damaged_message_keeps_none_of_its_thread_back_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Any, status: int
) -> None:
    for place in ("gmail.session.client", "http.api"):  # nobody waits between two tries
        monkeypatch.setattr(f"postroom.providers.{place}.Retry", partial(Retry, first_wait=0.0))
    with FakeGmail.started() as gmail:
        accounts = Gmail(gmail).accounts()
        alice = gmail.user("alice@demo.example")
        raws = [mail(f"a{n}", subject="Plan", answers=["a0"] if n else []) for n in range(3)]
        there = [gmail.deliver(alice, raw) for raw in raws]
        there[1].damage, there[1].damage_status = damage, status
        async with gate_rig(tmp_path, accounts=accounts) as gate:
            rows = (await search.list_emails(gate.gateway, account="alice")).results
            thread = await read.get_thread(gate.gateway, rows[0].thread_id, account="alice")
            ids = [email.row.email_id for email in thread.emails]
            assert sorted(ids) == sorted(row.email_id for row in rows)
            named = [email for email in thread.emails if email.defects]
            assert [("does not return" in email.defects[0], email.body) for email in named] == [(True, "")]
            items = await several.read_emails(gate.gateway, ids, Reading(), account="alice")
            assert [item.email_id for item in items if item.error] == [named[0].row.email_id]
            with pytest.raises((ProviderUnavailable, PermissionDenied)):
                await read.read_email(gate.gateway, named[0].row.email_id, account="alice")
