"""Batches that go wrong half-way, and undo after them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import MAIL, GateRig, gate_rig

from postroom.model.errors import Conflict, PostroomError, ProviderUnavailable
from postroom.service.organising import organise
from postroom.service.reading import search

GONE = ProviderUnavailable("The mail server does not answer. Try again.")


async def received(gate: GateRig, account: str, subjects: list[str]) -> list[str]:
    for subject in subjects:
        await gate.send(writing(subject, f"{account}@demo.example"))
    page = await search.list_emails(gate.gateway, account=account, limit=100)
    return [row.email_id for row in page.results]


def writing(subject: str, to: str) -> Any:
    return replace(MAIL, subject=subject, to=(to,))


async def folders(gate: GateRig, account: str, mailbox: str) -> int:
    return (await search.list_emails(gate.gateway, account=account, mailbox=mailbox)).total_count or 0


def failing_from(call: int, verb: Any) -> Any:
    """The verb, until its `call`th call, which fails, and all after it."""
    calls = 0

    async def meddled(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise GONE
        return await verb(*args, **kwargs)

    return meddled


async def test_a_batch_that_breaks_off_says_which_mails_were_done_and_can_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one", "two", "three"])
        account = await gate.gateway.accounts.open("bob")
        mailbox = account.mailbox
        monkeypatch.setattr(account, "capabilities", replace(account.capabilities, changes_at_once=1))
        monkeypatch.setattr(mailbox, "move", failing_from(2, mailbox.move), raising=False)

        view = await organise.move(gate.gateway, ids, "archive")

        assert [item.ok for item in view.results] == [True, False, False]
        assert {item.error.code for item in view.results if item.error} == {"PROVIDER_ERROR"}
        monkeypatch.undo()
        assert (await organise.undo(gate.gateway, view.operation_id)).succeeded == 3
        assert await folders(gate, "bob", "archive") == 0


async def test_a_batch_of_which_nothing_was_done_says_so_of_each_mail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one", "two"])
        mailbox = (await gate.gateway.accounts.open("bob")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)

        view = await organise.move(gate.gateway, ids, "archive")

        assert [(item.ok, item.error and item.error.code) for item in view.results] == [(False, "PROVIDER_ERROR")] * 2


@pytest.mark.parametrize("verb", ["folders", "envelopes", "move"])
async def test_an_account_that_is_away_keeps_no_mail_of_another_from_being_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = [*await received(gate, "bob", ["one", "two"]), *await received(gate, "carol", ["three"])]
        mailbox = (await gate.gateway.accounts.open("bob")).mailbox
        monkeypatch.setattr(mailbox, verb, failing_from(1, getattr(mailbox, verb)), raising=False)

        view = await organise.move(gate.gateway, ids, "archive")
        monkeypatch.undo()

        assert [item.ok for item in view.results] == [False, False, True]
        assert [await folders(gate, name, "archive") for name in ("bob", "carol")] == [0, 1]
        await organise.undo(gate.gateway, view.operation_id)
        assert [await folders(gate, name, "archive") for name in ("bob", "carol")] == [0, 0]


async def test_one_operation_stands_for_the_mails_of_all_accounts_and_folders(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = [*await received(gate, "bob", ["one", "two"]), *await received(gate, "carol", ["three"])]
        await organise.move(gate.gateway, ids[:1], "archive")

        deleted = await organise.delete(gate.gateway, ids)
        restored = await organise.undo(gate.gateway, deleted.operation_id)

        assert (deleted.succeeded, restored.succeeded) == (3, 3)
        assert await folders(gate, "bob", "archive") == 1
        assert await folders(gate, "bob", "inbox") == 1
        assert await folders(gate, "carol", "inbox") == 1
        assert (await organise.undo(gate.gateway, restored.operation_id)).succeeded == 3
        assert await folders(gate, "bob", "trash") == 2
        assert await folders(gate, "carol", "trash") == 1


async def test_an_undo_that_failed_can_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one"])
        deleted = await organise.delete(gate.gateway, ids)
        mailbox = (await gate.gateway.accounts.open("bob")).mailbox
        monkeypatch.setattr(mailbox, "move", failing_from(1, mailbox.move), raising=False)
        assert (await organise.undo(gate.gateway, deleted.operation_id)).failed == 1
        monkeypatch.undo()

        assert (await organise.undo(gate.gateway, deleted.operation_id)).succeeded == 1
        with pytest.raises(Conflict):
            await organise.undo(gate.gateway, deleted.operation_id)


async def test_the_undoing_of_a_folder_that_is_in_use_can_be_tried_again(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one"])
        _, made = await organise.create_folder(gate.gateway, "Plans", account="bob")
        moved = await organise.move(gate.gateway, ids, "Plans")
        with pytest.raises(PostroomError):
            await organise.undo(gate.gateway, made)

        await organise.undo(gate.gateway, moved.operation_id)

        assert (await organise.undo(gate.gateway, made)).succeeded == 1


async def test_an_id_in_two_spellings_is_one_mail(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        (email_id,) = await received(gate, "bob", ["one"])

        view = await organise.move(gate.gateway, [email_id, f" {email_id.upper()}"], "archive")

        assert [item.email_id for item in view.results] == [email_id]


async def test_what_is_far_too_long_to_be_an_id_is_refused_and_not_repeated(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(PostroomError) as refused:
            await organise.mark(gate.gateway, ["x" * 100_000], "read")
        assert len(refused.value.message) < 200


@pytest.mark.parametrize("place", ["sent", "Sent", "drafts"])
async def test_nothing_is_moved_to_where_only_own_writing_lies(tmp_path: Path, place: str) -> None:
    async with gate_rig(tmp_path) as gate:
        ids = await received(gate, "bob", ["one"])

        with pytest.raises(PostroomError) as refused:
            await organise.move(gate.gateway, ids, place)

        assert refused.value.code == "PERMISSION_DENIED"
        assert await folders(gate, "bob", "inbox") == 1


async def test_what_was_moved_out_of_sent_comes_back_by_undo(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await gate.send()
        (sent,) = (await search.list_emails(gate.gateway, account="alice", mailbox="sent")).results

        moved = await organise.move(gate.gateway, [sent.email_id], "archive")
        await organise.undo(gate.gateway, moved.operation_id)

        assert await folders(gate, "alice", "sent") == 1


async def test_a_label_in_another_spelling_is_the_same_label_for_removing_and_undoing(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        gateway, ids = gate.gateway, await received(gate, "bob", ["one"])

        async def labels() -> tuple[str, ...]:
            (row,) = (await search.list_emails(gateway, account="bob")).results
            return tuple(row.labels)

        added = await organise.set_label(gateway, ids, " Work ", on=True)
        assert await labels() == ("Work",)
        again = await organise.set_label(gateway, ids, "WORK", on=True)
        assert (again.operation_id, await labels()) == ("", ("Work",))
        removed = await organise.set_label(gateway, ids, "work", on=False)
        assert (removed.succeeded, await labels()) == (1, ())
        await organise.undo(gateway, removed.operation_id)
        assert [label.casefold() for label in await labels()] == ["work"]
        await organise.undo(gateway, added.operation_id)
        assert await labels() == ()
