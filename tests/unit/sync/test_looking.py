"""A look at the server: one round trip where nothing changed, the same work however large the mailbox, and nothing
missed."""

from __future__ import annotations

import imaplib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.cyrus import Cyrus
from tests.peers.dovecot import Dovecot
from tests.peers.faultproxy import faulty
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.filling import Here, spool_everything

from postroom.index.database import Database
from postroom.providers.imap.session.client import Session
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import reading
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


class Steps:
    """Counts the steps of SQLite's virtual machine, on every connection that is opened from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        connect = Database.connect

        def counted(database: Database, **given: Any) -> sqlite3.Connection:
            connection = connect(database, **given)
            connection.set_progress_handler(self._step, 1)
            return connection

        monkeypatch.setattr(Database, "connect", counted)

    def _step(self) -> int:
        self.count += 1
        return 0


def seeded(mirrored: Mirrored, count: int) -> None:
    with mirrored.client() as client:
        for number in range(count):
            client.append("INBOX", "", None, letter(f"letter{number}"))


async def test_a_quiet_server_is_asked_in_one_round_trip(mirrored: Mirrored) -> None:
    seeded(mirrored, 3)
    with faulty(mirrored.dovecot.imap) as proxy:
        account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port, mirror="full")
        async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
            await syncing.once()
            await syncing.catch_up()
            before, asked = len(proxy.heard), proxy.round_trips
            await syncing.catch_up()
            await syncing.once()
            assert proxy.round_trips - asked == 2, proxy.heard[before:]


async def test_the_first_page_is_found_before_all_messages_of_the_inbox_are_listed(mirrored: Mirrored) -> None:
    seeded(mirrored, 60)
    heard: dict[int, bytes] = {}  # by the number of messages that were found then
    with faulty(mirrored.dovecot.imap) as proxy:
        account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port, mirror="full")

        def note(done: int, _total: int) -> None:
            heard.setdefault(done, bytes(proxy.heard))

        tools = Tools(on_progress=note)
        async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account, tools) as syncing:
            await syncing.once()
    assert b"11:60 (UID BODY.PEEK[]" in heard[50]
    assert b"SEARCH RETURN (ALL) ALL" not in heard[50]
    assert b"SEARCH RETURN (ALL) ALL" in heard[60]
    assert len(mirrored.rows()) == 60


async def test_processes_start_after_the_first_page_was_found_and_before_the_inbox_is_listed(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded(mirrored, 60)
    found_then: list[tuple[int, bytes]] = []
    with faulty(mirrored.dovecot.imap) as proxy:

        class Starting(Here):
            def __init__(self, *given: Any) -> None:
                found_then.append((len(mirrored.rows()), bytes(proxy.heard)))
                super().__init__(*given)

        spool_everything(monkeypatch.setattr)
        monkeypatch.setattr(reading, "Readers", Starting)
        monkeypatch.setattr(reading, "_FEW", 55)
        account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port, mirror="full")
        async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
            await syncing.once()
        ((found, heard),) = found_then
        later = proxy.heard[len(heard) :]
    assert found == 50
    assert b"SEARCH RETURN (ALL) ALL" in later
    assert b"1:10 (UID BODY.PEEK[]" in later
    assert len(mirrored.rows()) == 60


async def test_a_large_inbox_is_opened_once_and_not_for_every_change(mirrored: Mirrored) -> None:
    seeded(mirrored, 3)
    with faulty(mirrored.dovecot.imap) as proxy:
        account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port, mirror="full")
        async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
            await syncing.once()
            await syncing.once()  # from here on one connection has it open
            before = len(proxy.heard)
            for change in (appended, flagged, removed):
                with mirrored.client() as client:
                    change(client)
                await syncing.once()
        said = proxy.heard[before:]
    assert b"CHANGEDSINCE" in said
    assert b"INBOX" not in said
    assert {row.subject for row in mirrored.rows().values()} == {"letter1", "letter2", "new"}


@pytest.mark.parametrize("peer", ["dovecot", "middling", "poor", "cyrus"])
async def test_a_new_message_is_not_missed_where_other_connections_have_the_inbox_open_as_it_was(
    request: pytest.FixtureRequest, tmp_path: Path, peer: str
) -> None:
    """As after a fill: whichever of them is asked for it must have heard of it first."""
    server: Dovecot | Cyrus = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("stale"), Mirror(tmp_path / "mine.db"), {})
    seeded(mirrored, 2)
    account = imap_account(server, mirrored.user, **{"mirror": "full", "max_connections": 4, **mirrored.changes})
    all_of_them = threading.Barrier(4)

    def look(session: Session) -> None:
        session.open("INBOX")
        all_of_them.wait(20)

    async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
        await syncing.once()
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(mailbox._pool.run, "INBOX", look)
        for number in range(4):
            with mirrored.client() as client:
                appended(client)
            await syncing.catch_up()
            assert len(mirrored.rows()) == 3 + number


async def test_a_look_where_nothing_or_one_message_changed_costs_the_same_in_a_larger_mailbox(
    dovecot: Dovecot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch)

    async def cost(size: int) -> tuple[int, int]:
        mirrored = Mirrored(dovecot, dovecot.new_user("size"), Mirror(tmp_path / f"{size}.db"), {})
        seeded(mirrored, size)
        account = imap_account(dovecot, mirrored.user, mirror="headers")
        async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
            await syncing.once()
            steps.count = 0
            await syncing.once()
            quiet, steps.count = steps.count, 0
            with mirrored.client() as client:
                client.select("INBOX")
                client.uid("STORE", "2", "+FLAGS", "(\\Flagged)")
            await syncing.catch_up()
            return quiet, steps.count

    small, large = await cost(4), await cost(400)
    assert large[0] == small[0]
    assert large[1] < small[1] + 100, "a row that was read is several steps"


def appended(client: imaplib.IMAP4) -> None:
    client.append("INBOX", "", None, letter("new"))


def flagged(client: imaplib.IMAP4) -> None:
    client.select("INBOX")
    client.uid("STORE", "1", "+FLAGS", "(\\Flagged)")


def removed(client: imaplib.IMAP4) -> None:
    client.select("INBOX")
    client.uid("STORE", "1", "+FLAGS", "(\\Deleted)")
    client.expunge()


@pytest.mark.parametrize("peer", ["dovecot", "middling", "cyrus"])
@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (appended, {"letter0": False, "letter1": False, "new": False}),
        (flagged, {"letter0": True, "letter1": False}),
        (removed, {"letter1": False}),
    ],
    ids=["appended", "flagged", "removed"],
)
async def test_the_next_look_sees_what_another_program_did_to_the_inbox(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    peer: str,
    change: Callable[[imaplib.IMAP4], None],
    shown: dict[str, bool],
) -> None:
    """The connection has the inbox open from look to look, and what a server says of an open folder may be old."""
    server: Dovecot | Cyrus = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("look"), Mirror(tmp_path / "mine.db"), {})
    seeded(mirrored, 2)
    account = imap_account(server, mirrored.user, **{"mirror": "full", **mirrored.changes})
    async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
        await syncing.once()
        await syncing.catch_up()
        with mirrored.client() as client:
            change(client)
        await syncing.catch_up()
    assert {row.subject: row.starred for row in mirrored.rows().values()} == shown
