"""kill -9 on both sides of each MOVE and after each commit, of a batch and of its undoing, on a server where a message
gets another number in another folder: what the journal knows of can be undone, and every handle leads to its mail."""

from __future__ import annotations

import os
import signal
import smtplib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import Record
from tests.faults.mover import settings_of
from tests.peers.accounts import letter
from tests.peers.dovecot import Dovecot
from tests.unit.service.rules.kit import rule

from postroom.model.errors import ProviderUnavailable
from postroom.service.gateway import Gateway
from postroom.service.organising import organise
from postroom.service.organising.renaming import rename_folder
from postroom.service.reading import search
from postroom.service.rules.rules import create_rule
from postroom.service.rules.running import run_rule
from postroom.service.rules.views import PlanView
from postroom.settings import Settings
from postroom.wiring import open_gateway

ROOT = Path(__file__).parents[2]
MAILS = {"one", "two", "three"}


@pytest.fixture
def settings(dovecot: Dovecot, tmp_path: Path) -> Settings:
    return settings_of(tmp_path, dovecot.imap, dovecot.new_user("moved"))


def deliver(dovecot: Dovecot, settings: Settings, *mails: bytes) -> None:
    with smtplib.LMTP(dovecot.host, dovecot.lmtp) as lmtp:
        for raw in mails:
            lmtp.sendmail("ada@friends.example", settings.accounts[0].address, raw)


def is_killed(settings: Settings, home: Path, at: int, operation_id: str = "") -> bool:
    account: Any = settings.accounts[0]
    arguments = [str(home), str(account.port), account.address, operation_id, str(at)]
    command = [sys.executable, "-m", "tests.faults.mover", *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=os.environ.copy(), check=False, timeout=60)
    assert ended.returncode in (0, -signal.SIGKILL)
    return ended.returncode != 0


def first_operation(gateway: Gateway) -> str:
    """Of those in the journal; empty where nothing was begun."""
    with gateway.store._database.read() as connection:
        row = connection.execute("SELECT operation_id FROM operations ORDER BY at LIMIT 1").fetchone()
    return row["operation_id"] if row is not None else ""


async def shown(gateway: Gateway, mailbox: str = "inbox") -> dict[str, str]:
    """Subjects by handle."""
    return {row.email_id: row.subject for row in (await search.list_emails(gateway, mailbox=mailbox)).results}


async def test_what_a_process_died_moving_can_be_undone(dovecot: Dovecot, tmp_path: Path, record_fault: Record) -> None:
    for at in count(1):
        home = tmp_path / str(at)
        settings = settings_of(home, dovecot.imap, dovecot.new_user("moved"))
        deliver(dovecot, settings, *map(letter, MAILS))
        async with open_gateway(settings) as gateway:
            before = await shown(gateway)
        was_killed = is_killed(settings, home, at)
        async with open_gateway(settings) as gateway:
            if operation_id := first_operation(gateway):
                undone = await organise.undo(gateway, operation_id)
                assert (undone.failed, at) == (0, at)
            assert await shown(gateway) == before
        if not was_killed:
            break
    record_fault("kill -9 while mails are moved, then undo", at - 1)
    assert at > 5


async def test_an_undo_that_died_after_a_move_back_goes_on(
    dovecot: Dovecot, tmp_path: Path, record_fault: Record
) -> None:
    for at in count(1):
        home = tmp_path / str(at)
        settings = settings_of(home, dovecot.imap, dovecot.new_user("moved"))
        deliver(dovecot, settings, *map(letter, MAILS))
        async with open_gateway(settings) as gateway:
            before = await shown(gateway)
            operation_id = (await organise.delete(gateway, list(before))).operation_id
        was_killed = is_killed(settings, home, at, operation_id)
        async with open_gateway(settings) as gateway:
            if not gateway.store.journal.load(operation_id).is_undone:
                assert (await organise.undo(gateway, operation_id)).failed == 0
            assert await shown(gateway) == before
        if not was_killed:
            break
    record_fault("kill -9 while that is undone, then undo again", at - 1)
    assert at > 5


@contextmanager
def answers_lost(mailbox: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The server does what it is told to, and nobody hears of it."""
    move = mailbox.move

    async def moved(*args: Any) -> None:
        await move(*args)
        raise ProviderUnavailable("The connection was lost.")

    with monkeypatch.context() as lossy:
        lossy.setattr(mailbox, "move", moved)
        yield


async def deleted_unheard(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything in the inbox; the operation."""
    with answers_lost((await gateway.accounts.open(None)).mailbox, monkeypatch):
        view = await organise.delete(gateway, list(await shown(gateway)))
    assert view.succeeded == 0
    return view.operation_id


async def twins_deleted(
    gateway: Gateway, dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """One after the other: the first, which is in Trash already, and the operation that nobody heard the end of."""
    deliver(dovecot, settings, letter("twin"))
    (former,) = await shown(gateway)
    await organise.delete(gateway, [former])
    deliver(dovecot, settings, letter("twin"))
    return former, await deleted_unheard(gateway, monkeypatch)


async def test_a_mail_that_was_in_the_folder_before_is_not_taken_for_the_moved_one(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        former, operation_id = await twins_deleted(gateway, dovecot, settings, monkeypatch)

        assert (await organise.undo(gateway, operation_id)).failed == 0

        (back,) = await shown(gateway)
        assert back != former
        assert former in await shown(gateway, "trash")


async def test_where_only_the_former_twin_is_left_it_stays_where_it_is(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        former, operation_id = await twins_deleted(gateway, dovecot, settings, monkeypatch)
        dovecot.doveadm("expunge", "-u", settings.accounts[0].address, "mailbox", "Trash", "uid", "2")

        await not_found(gateway, operation_id)

        assert list(await shown(gateway, "trash")) == [former]


async def not_found(gateway: Gateway, operation_id: str) -> None:
    undone = await organise.undo(gateway, operation_id)
    assert {item.error and item.error.code for item in undone.results} == {"NOT_FOUND"}
    assert await shown(gateway) == {}


@pytest.mark.parametrize(
    "mails",
    [
        pytest.param([letter("twin"), letter("twin")], id="two of one Message-ID"),
        pytest.param([letter("one").replace(b"Message-ID", b"X-Other")], id="no Message-ID"),
        pytest.param([letter("x" * 300)], id="a Message-ID that is too long"),
        pytest.param([letter("ü", subject="one")], id="a Message-ID of other than ASCII"),
    ],
)
async def test_what_cannot_be_told_apart_stays_where_it_is(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch, mails: list[bytes]
) -> None:
    async with open_gateway(settings) as gateway:
        deliver(dovecot, settings, *mails)
        await not_found(gateway, await deleted_unheard(gateway, monkeypatch))
        assert len(await shown(gateway, "trash")) == len(mails)


async def test_of_two_moved_mails_of_one_message_id_the_one_that_is_left_stays_where_it_is(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        deliver(dovecot, settings, letter("twin"), letter("twin"))
        operation_id = await deleted_unheard(gateway, monkeypatch)
        dovecot.doveadm("expunge", "-u", settings.accounts[0].address, "mailbox", "Trash", "uid", "2")
        await not_found(gateway, operation_id)
        assert len(await shown(gateway, "trash")) == 1


async def test_another_mail_of_the_same_message_id_is_not_taken_for_the_moved_one(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        deliver(dovecot, settings, letter("twin"))
        operation_id = await deleted_unheard(gateway, monkeypatch)
        dovecot.doveadm("expunge", "-u", settings.accounts[0].address, "mailbox", "Trash", "all")
        deliver(dovecot, settings, letter("twin", text="Forged."))
        await organise.delete(gateway, list(await shown(gateway)))

        await not_found(gateway, operation_id)


async def test_a_mail_that_is_listed_in_its_new_folder_first_has_one_mail_behind_both_ids(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        deliver(dovecot, settings, letter("one"))
        (before,) = await shown(gateway)
        operation_id = await deleted_unheard(gateway, monkeypatch)
        (listed,) = await shown(gateway, "trash")

        assert (await organise.undo(gateway, operation_id)).failed == 0

        assert list(await shown(gateway)) == [listed]
        assert (await organise.mark(gateway, [before], "read")).failed == 0


async def test_a_folder_that_was_renamed_since_is_looked_in_under_its_new_name(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        deliver(dovecot, settings, letter("one"))
        await organise.create_folder(gateway, "Plans")
        before = await shown(gateway)
        with answers_lost((await gateway.accounts.open(None)).mailbox, monkeypatch):
            moved = await organise.move(gateway, list(before), "Plans")
        await rename_folder(gateway, "Plans", "Ideas")

        assert (await organise.undo(gateway, moved.operation_id)).failed == 0

        assert await shown(gateway) == before


async def test_a_run_of_a_rule_that_was_cut_short_finds_what_it_had_moved(
    dovecot: Dovecot, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(settings) as gateway:
        deliver(dovecot, settings, letter("one"), letter("two"))
        before = await shown(gateway)
        conditions = "{field: from, operator: equals, value: ada@friends.example}"
        plan = await create_rule(gateway, rule("{type: delete}", conditions=conditions), by_operator=True)
        assert isinstance(plan, PlanView)
        with answers_lost((await gateway.accounts.open(None)).mailbox, monkeypatch), pytest.raises(ProviderUnavailable):
            await run_rule(gateway, plan.plan_id)

        ran = await run_rule(gateway, plan.plan_id)

        assert (ran.succeeded, ran.skipped) == (2, 0)
        assert await shown(gateway, "trash") == before
        operation_id = gateway.store.plans.get(plan.plan_id).operation_id
        assert (await organise.undo(gateway, operation_id)).failed == 0
        assert await shown(gateway) == before
