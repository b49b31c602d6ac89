"""Whom an account has written to: what counts, and what does not stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, patch

import pytest
from tests.flows.mails import letter
from tests.gate.rigs import MAIL, GateRig, gate_rig

from postroom.model.address import Address
from postroom.model.folder import Folder, Role
from postroom.model.outcome import SubmitOutcome
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox
from postroom.safety.policy import Policy
from postroom.service.accounts.identities import create_alias
from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.service.sending.facts import known_recipients

BOB, CAROL = "bob@demo.example", "carol@demo.example"
ANYBODY = Policy()


async def known(gate: GateRig, *addresses: str, policy: Policy = ANYBODY) -> set[str]:
    account = await gate.gateway.accounts.open("alice")
    return set(await known_recipients(gate.gateway, account, map(Address, addresses), policy))


async def file(gate: GateRig, folder: str, sender: str, to: str, message_id: str, **flags: Any) -> None:
    mail = letter(sender, "old", "Hello.", hours_ago=1, message_id=message_id)
    mail.replace_header("To", to)
    settings = gate.gateway.settings
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=settings.home, neighbours=settings.accounts))
    await mailbox.connect()
    await mailbox.add_message(mail.as_bytes(), folder, **flags)
    await mailbox.close()


async def test_only_those_are_remembered_whom_the_provider_took_the_mail_for(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome("accepted", accepted=(BOB,), refused={CAROL: "no such user"})

        await gate.send(replace(MAIL, to=(BOB,), cc=(CAROL,)))

        assert await known(gate, BOB, CAROL) == {BOB}


async def test_an_alias_that_tools_made_makes_nobody_known(tmp_path: Path) -> None:
    """Writing as an address to that same address is writing to oneself only where the address is the account's own."""
    mallory = "mallory@evil.example"
    async with gate_rig(tmp_path, gate="auto") as gate:
        await create_alias(gate.gateway, mallory)
        to_itself = replace(MAIL, to=(mallory,), identity=mallory)
        await gate.send(to_itself, confirm=False)

        assert (await gate.send(to_itself)).status == "needs_approval"

        to_oneself = replace(MAIL, to=("alice@demo.example",))
        await gate.send(to_oneself, confirm=False)
        assert (await gate.send(to_oneself)).status == "sent"


@pytest.mark.parametrize("state", ["rejected", "retryable", "unknown"])
async def test_a_send_that_was_not_accepted_makes_nobody_known(tmp_path: Path, state: Any) -> None:
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome(state, reason="x")
        meddled.reconciled = lambda _: SubmitOutcome("unknown")

        await gate.send()

        assert await known(gate, BOB) == set()


async def test_whom_sent_names_is_known_for_as_long_as_it_does(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await file(gate, "Sent", "alice@demo.example", BOB, "old")
        assert await known(gate, BOB) == {BOB}

        (row,) = (await search.list_emails(gate.gateway, account="alice", mailbox="sent")).results
        await organise.move(gate.gateway, [row.email_id], "archive")

        assert await known(gate, BOB) == set()


@pytest.mark.parametrize("elsewhere", ["INBOX", "Trash", "Junk", "Archive"])
async def test_a_mail_of_which_a_copy_lies_elsewhere_proves_nothing(tmp_path: Path, elsewhere: str) -> None:
    async with gate_rig(tmp_path) as gate:
        await file(gate, "Sent", "alice@demo.example", BOB, "twice")
        await file(gate, elsewhere, "alice@demo.example", BOB, "twice")

        assert await known(gate, BOB) == set()


async def test_a_draft_in_sent_and_a_mail_of_somebody_else_prove_nothing(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        await file(gate, "Sent", "alice@demo.example", BOB, "draft", flags=("draft",))
        await file(gate, "Sent", CAROL, BOB, "hers")

        assert await known(gate, BOB) == set()


@pytest.mark.parametrize(
    ("drafts", "by_tool", "counts"), [("guess", False, True), ("guess", True, False), ("told", False, False)]
)
async def test_a_folder_that_only_its_name_makes_sent_counts_where_no_server_speaks_and_no_tool_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drafts: str, by_tool: bool, counts: bool
) -> None:
    async with gate_rig(tmp_path) as gate:
        await file(gate, "Sent", "alice@demo.example", BOB, "old")
        mailbox = (await gate.gateway.accounts.open("alice")).mailbox
        listed = [
            Folder("INBOX", "INBOX", Role.INBOX),
            Folder("Sent", "Sent", Role.SENT, is_guess=True),
            Folder("Drafts", "Drafts", Role.DRAFTS, is_guess=drafts == "guess"),
        ]

        async def folders() -> list[Folder]:
            return listed

        monkeypatch.setattr(mailbox, "folders", folders, raising=False)
        if by_tool:
            gate.gateway.store.journal.record("alice", "create_folder", [], {"folder_ref": "Sent"})

        assert await known(gate, BOB) == ({BOB} if counts else set())


async def test_undo_puts_nothing_into_a_folder_that_has_become_sent_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
        await organise.create_folder(gate.gateway, "Plans", account="bob")
        await organise.move(gate.gateway, [row.email_id], "Plans")
        away = await organise.move(gate.gateway, [row.email_id], "archive")
        mailbox = (await gate.gateway.accounts.open("bob")).mailbox
        now = [
            replace(
                folder, role=Role.SENT if folder.name == "Plans" else folder.role if folder.name != "Sent" else None
            )
            for folder in await mailbox.folders()
        ]

        async def folders() -> list[Folder]:
            return now

        monkeypatch.setattr(mailbox, "folders", folders, raising=False)
        with pytest.raises(Exception, match="holds what was written here"):
            await organise.undo(gate.gateway, away.operation_id)
        monkeypatch.undo()

        assert (await search.list_emails(gate.gateway, account="bob", mailbox="archive")).total_count == 1


async def test_nobody_is_looked_up_whom_the_operator_vouches_for_or_whom_only_the_server_could_tell(
    tmp_path: Path,
) -> None:
    routed = "carol%demo.example@relay.example"
    async with gate_rig(tmp_path) as gate:
        mailbox = (await gate.gateway.accounts.open("alice")).mailbox
        gate.gateway.store.recipients.remember("alice", [BOB, routed])

        assert await known(gate, BOB, routed) == {BOB}
        assert await known(gate, BOB, policy=Policy(allow=("*@demo.example",))) == set()
        with patch.object(mailbox, "search", AsyncMock()) as search:
            await known(gate, CAROL, policy=Policy(allow=(CAROL,)))
        assert not search.called


async def test_a_list_that_was_written_to_only_to_leave_it_is_not_known_by_that(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        for address in (BOB, CAROL):
            await file(gate, "Sent", "alice@demo.example", address, address)
        gate.gateway.store.recipients.note_lists("alice", [BOB])

        assert await known(gate, BOB, CAROL) == {CAROL}
