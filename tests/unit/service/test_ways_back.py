"""Ways back that stay open: after a call that was given up, of a part where the rest is gone, and with what was there
before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.contract.mails import mail
from tests.gate.rigs import GateRig, gate_rig
from tests.peers.memory_mailbox import LabelMailbox, provided
from tests.unit.service.test_batch import folders, received

from postroom.model.errors import NotFound
from postroom.model.outcome import ItemResult
from postroom.service.organising import arranging, organise
from postroom.service.reading import search


async def test_a_folder_that_is_gone_keeps_no_mail_of_another_from_being_put_back(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        first, second = await received(gate, "bob", ["one", "two"])
        await organise.create_folder(gate.gateway, "Plans", account="bob")
        await organise.move(gate.gateway, [first], "Plans")
        deleted = await organise.delete(gate.gateway, [first, second])
        await arranging.delete_folder(gate.gateway, "Plans", account="bob")

        undone = await organise.undo(gate.gateway, deleted.operation_id)

        told = {item.email_id: (item.ok, item.error and item.error.code) for item in undone.results}
        assert told == {first: (False, "NOT_FOUND"), second: (True, None)}
        assert await folders(gate, "bob", "inbox") == 1


async def test_where_nothing_can_be_put_back_undo_fails_and_says_why(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one"])
        await organise.create_folder(gate.gateway, "Plans", account="bob")
        await organise.move(gate.gateway, ids, "Plans")
        deleted = await organise.delete(gate.gateway, ids)
        await arranging.delete_folder(gate.gateway, "Plans", account="bob")

        with pytest.raises(NotFound, match="folder the message was in is gone"):
            await organise.undo(gate.gateway, deleted.operation_id)


async def test_a_call_that_is_given_up_has_either_moved_a_mail_and_knows_where_or_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, LabelMailbox) as (gateway, (contents,)):
        for name in ("one", "two"):
            contents.add(mail(name), "INBOX")
        account = await gateway.accounts.open(None)
        ids = [row.email_id for row in (await search.list_emails(gateway)).results]
        monkeypatch.setattr(account, "capabilities", replace(account.capabilities, changes_at_once=1))
        move: Any = account.mailbox.move
        with anyio.CancelScope() as call:

            async def given_up(refs: list[str], folder_ref: str) -> list[ItemResult]:
                """As on a server where a message gets another ref when it is moved."""
                await move(refs, folder_ref)
                (ref,) = refs
                envelope, raw = contents.mails.pop(ref)
                contents.mails["moved"] = (replace(envelope, ref="moved"), raw)
                call.cancel()
                return [ItemResult(ref, None, "moved")]

            monkeypatch.setattr(account.mailbox, "move", given_up, raising=False)
            await organise.move(gateway, ids, "Plans")

        assert call.cancelled_caught
        found = {row.email_id: row.mailbox for row in (await search.search_emails(gateway, "")).results}
        assert sorted(found.items()) == sorted(zip(ids, ["Plans", "INBOX"], strict=True))


async def test_a_label_that_a_mail_had_beside_a_renamed_one_is_still_there_after_undo(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one", "two"])
        await organise.set_label(gate.gateway, ids, "old", True)
        await organise.set_label(gate.gateway, ids[:1], "NEW", True)

        renamed = await arranging.rename_label(gate.gateway, "old", "new", account="bob")

        assert [set(labels) for labels in await labels_of(gate, ids)] == [{"NEW"}, {"NEW"}]
        assert (await organise.undo(gate.gateway, renamed.operation_id)).failed == 0
        assert [set(labels) for labels in await labels_of(gate, ids)] == [{"old", "NEW"}, {"old"}]


async def labels_of(gate: GateRig, ids: list[str]) -> list[tuple[str, ...]]:
    rows = {row.email_id: row.labels for row in (await search.list_emails(gate.gateway, account="bob")).results}
    return [rows[email_id] for email_id in ids]
