"""A mailbox file that is locked, corrupt or out of room: a clear error, nothing lost, and the server stays up."""

from __future__ import annotations

import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from tests.flows.caller import Caller

from postroom.settings import LocalAccount, Settings


def mailbox_file(settings: Settings) -> str:
    account = settings.accounts[0]
    assert isinstance(account, LocalAccount)
    return str(account.path)


@contextmanager
def held(path: str) -> Iterator[None]:
    """Another program in the middle of writing."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@contextmanager
def no_room() -> Iterator[None]:
    """No file may grow: what a full disk looks like to a program."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, previous)


async def test_while_another_program_writes_reading_goes_on_and_writing_waits_and_says_so(
    filled: Settings, caller: Caller
) -> None:
    email_id = (await caller.ok("list_emails", limit=1))["results"][0]["email_id"]

    with held(mailbox_file(filled)):
        assert (await caller.ok("read_email", email_id=email_id))["email_id"] == email_id
        result = await caller("mark_email", email_id=email_id, flag="starred")
        assert result.is_error
        assert "locked" in str(result.structured_content)
    assert (await caller.ok("mark_email", email_id=email_id, flag="starred"))["succeeded"] == 1
    assert (await caller.ok("read_email", email_id=email_id))["starred"]


async def test_a_file_that_is_no_mailbox_is_named_and_other_accounts_go_on(filled: Settings, caller: Caller) -> None:
    await caller.ok("list_emails", account="sam")
    for part in filled.home.glob("alex.db*"):
        part.unlink()
    (filled.home / "alex.db").write_bytes(b"this is not a database " * 400)

    error = await caller.error("list_emails", account="alex")

    assert error["code"] == "PROVIDER_ERROR"
    assert "alex.db" in error["message"]
    assert (await caller.ok("list_emails", account="sam"))["results"] == []
    assert (filled.home / "alex.db").read_bytes().startswith(b"this is not")


async def test_a_full_disk_refuses_writes_loses_nothing_and_is_over_when_there_is_room(
    filled: Settings, caller: Caller
) -> None:
    before = await caller.ok("list_emails", limit=5)
    email_id = before["results"][0]["email_id"]

    with no_room():
        error = await caller.error("create_draft", subject="x", body="y" * 50_000)
        assert error["code"] in ("PROVIDER_ERROR", "INTERNAL_ERROR")
        assert "disk" in error["message"] or "space" in error["message"]
        saved = await caller.error("create_folder", name="New")
        assert saved["code"] in ("PROVIDER_ERROR", "INTERNAL_ERROR")
        assert (await caller.ok("read_email", email_id=email_id))["email_id"] == email_id

    assert (await caller.ok("list_drafts"))["results"] == []
    assert (await caller.ok("create_draft", subject="x", body="y"))["draft_id"]
    after = await caller.ok("list_emails", limit=5)
    assert after["results"] == before["results"]
