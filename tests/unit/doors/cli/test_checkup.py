"""What `doctor` says about an account that does not work."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NoReturn

import pytest
from tests.peers.accounts import imap_account
from tests.peers.daemon import free_ports
from tests.peers.dovecot import Dovecot

from postroom.doors.cli import checkup
from postroom.model.errors import AuthRequired, ProviderUnavailable
from postroom.service.accounts.mirrors import remove_mirror, sync
from postroom.service.gateway import Gateway
from postroom.service.sending.order import Wishes
from postroom.service.sending.send import order_mail, send
from postroom.service.views import FolderView
from postroom.service.writing.composing import DraftRequest
from postroom.service.writing.draft import list_drafts
from postroom.settings import build
from postroom.settings.clients import Client, create
from postroom.store.handles import Handles
from postroom.sync.file.mirror import mirror_files
from postroom.wiring import open_gateway

ACCOUNTS = [
    {"name": "box", "provider": "local", "address": "box@example.com"},
    {"name": "mine", "provider": "imap", "address": "me@gmail.com", "host": "imap.gmail.com", "password": "x"},
]


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_gateway(build({"accounts": ACCOUNTS}, home=tmp_path)) as gateway:
        yield gateway


async def findings(gateway: Gateway, name: str) -> dict[str, checkup.Finding]:
    return {finding.what.partition(": ")[2]: finding async for finding in checkup.account(gateway, name)}


async def test_a_healthy_local_account_needs_no_login_to_send(gateway: Gateway) -> None:
    found = await findings(gateway, "box")
    assert list(found) == ["connect", "folders", "read", "draft", "send", "outbox"]
    assert all(finding.ok for finding in found.values())
    assert found["send"].text == "needs no login"


async def test_a_missing_folder_fails_with_its_harm_and_its_name(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def two_folders(gateway: Gateway, account: str) -> tuple[FolderView, ...]:
        return FolderView(account, "INBOX", "inbox", 0, 0), FolderView(account, "Sent", "sent", 0, 0)

    monkeypatch.setattr("postroom.service.accounts.folders.list_folders", two_folders)
    folders = (await findings(gateway, "box"))["folders"]
    assert not folders.ok
    for said in ("no draft can be saved", "nothing can be deleted", "Drafts, Trash"):
        assert said in folders.text
    assert "Sent" not in folders.text


async def test_a_refused_login_ends_the_walk_and_says_what_the_provider_wants(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(gateway: Gateway, account: str) -> NoReturn:
        raise AuthRequired("The mail server refused the login.")

    monkeypatch.setattr("postroom.service.accounts.folders.reach", refused)
    found = await findings(gateway, "mine")
    assert list(found) == ["connect"]
    assert "https://myaccount.google.com/apppasswords" in found["connect"].text


async def test_the_test_draft_is_deleted_also_where_its_id_cannot_be_noted(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise ProviderUnavailable("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(Handles, "issue_each", full)
        draft = (await findings(gateway, "box"))["draft"]
    assert (draft.ok, draft.text) == (False, "The disk is full.")
    assert (await list_drafts(gateway, account="box")).total_count == 0


async def test_the_login_at_managesieve_is_tried_where_a_host_is_set(dovecot: Dovecot, tmp_path: Path) -> None:
    sieve = {"sieve_host": dovecot.host, "sieve_port": dovecot.sieve, "sieve_security": "none", "timeout": 5}
    fine = imap_account(dovecot, **sieve)
    wrong = fine.model_copy(update={"name": "wrong", "sieve_port": free_ports(1)[0]})
    async with open_gateway(build({"accounts": [fine, wrong]}, home=tmp_path)) as gateway:
        assert (await findings(gateway, fine.name))["sieve"] == checkup.Finding(
            f"{fine.name}: sieve", True, "logged in; 0 rules of Postroom's"
        )
        failed = (await findings(gateway, "wrong"))["sieve"]
    assert not failed.ok
    assert "ManageSieve" in failed.text


async def test_a_folder_to_leave_out_that_does_not_exist_is_named(dovecot: Dovecot, tmp_path: Path) -> None:
    fine = imap_account(dovecot, mirror="full", mirror_leave_out=["Sent", "junk"])
    wrong = fine.model_copy(update={"name": "wrong", "mirror_leave_out": ("Sent", "Privat")})
    async with open_gateway(build({"accounts": [fine, wrong]}, home=tmp_path)) as gateway:
        assert (await findings(gateway, fine.name))["mirror_leave_out"].ok
        failed = (await findings(gateway, "wrong"))["mirror_leave_out"]
    assert not failed.ok
    assert "'Privat'" in failed.text
    assert "Sent" not in failed.text


def test_clients_that_nobody_could_be_are_found(tmp_path: Path) -> None:
    settings = build({"accounts": ACCOUNTS}, home=tmp_path)
    assert list(checkup.clients(settings)) == [], "no token is required"
    create(settings, Client(name="laptop", digest=""))
    (tmp_path / "tokens").touch(0o600)
    with_file = build({"accounts": ACCOUNTS, "server": {"tokens_file": "tokens"}}, home=tmp_path)

    (fine,), (without_token,) = checkup.clients(settings), checkup.clients(with_file)
    create(settings, Client(name="desk", digest="", accounts=("box",)))
    (left_over,) = checkup.clients(build({"accounts": [{**ACCOUNTS[1], "name": "other"}]}, home=tmp_path))
    (tmp_path / "clients.json").write_text("{")
    (broken,) = checkup.clients(settings)

    assert (fine.ok, fine.text) == (True, "1 with a token of their own, 0 in server.tokens")
    assert not without_token.ok
    assert "server.tokens_file" in without_token.text
    assert not left_over.ok
    assert "Client desk has no account: there is none called box." in left_over.text
    assert not broken.ok
    assert "clients.json cannot be read" in broken.text


def test_mirrors_of_no_account_are_named_with_their_size_and_how_to_remove_them(tmp_path: Path) -> None:
    accounts = [*ACCOUNTS, {**ACCOUNTS[1], "name": "kept", "mirror": "full"}]
    folder = tmp_path / "mirrors"
    folder.mkdir()
    for name in ("kept.db", "mine.db", "old.work.db", "old.work.db-wal", "old.work.spool"):
        (folder / name).write_bytes(b"x" * 2**20)
    for name in ("old.work.lock", "locked.lock"):
        (folder / name).touch()
    (folder / "notes.txt").write_text("of somebody else")
    settings = build({"accounts": accounts}, home=tmp_path)
    found = [one for one in checkup.settings_and_home(settings) if one.what == "mirrors"]
    assert all(one.ok for one in found)
    off, renamed = (one.text for one in found)
    assert "the mail of mine, 1.0 MB" in off
    assert off.endswith(f"To remove it: rm {folder}/mine.db")
    assert "the mail of old.work, 3.0 MB" in renamed
    subprocess.run(["sh", "-c", renamed.partition("To remove it: ")[2]], check=True)
    assert {file.name for file in folder.iterdir()} == {"kept.db", "mine.db", "locked.lock", "notes.txt"}


def test_a_home_without_mirrors_has_none_left_behind(tmp_path: Path) -> None:
    found = checkup.settings_and_home(build({"accounts": ACCOUNTS}, home=tmp_path))
    assert [one.what for one in found] == ["settings", "home"]


async def test_sends_of_an_account_that_the_settings_no_longer_have_are_mentioned(tmp_path: Path) -> None:
    box, mine = ({"name": name, "provider": "local", "address": f"{name}@example.com"} for name in ("box", "mine"))
    held = {"hold_seconds": 600, "gate": "confirm"}
    async with open_gateway(build({"accounts": [mine, box], "safety": held}, home=tmp_path)) as before:
        for account in ("mine", "box"):
            request = DraftRequest(to=["box@example.com"], subject="hello", body="hello")
            order = await order_mail(before, request, Wishes(confirm=True), account)
            assert (await send(before, order)).status == "held"
        assert [found async for found in checkup.strangers(before)] == []
    async with open_gateway(build({"accounts": [box], "safety": held}, home=tmp_path)) as after:
        (found,) = [found async for found in checkup.strangers(after)]
    assert found.text == "has sends of mine, not in these settings: postroom outbox list shows them"


async def test_the_mirror_of_another_mailbox_with_this_name_is_neither_counted_nor_removed(
    dovecot: Dovecot, tmp_path: Path
) -> None:
    first, second = (imap_account(dovecot, mirror="full") for _ in range(2))
    assert first.name == second.name
    async with open_gateway(build({"accounts": [first]}, home=tmp_path)) as gateway:
        (synced,) = await sync(gateway, [first])
        assert synced.status.complete
        assert (await findings(gateway, first.name))["mirror"].text.startswith("0 of 0 messages")
    async with open_gateway(build({"accounts": [second]}, home=tmp_path)) as gateway:
        found = (await findings(gateway, second.name))["mirror"]
    assert found.text.startswith("none; the file is of another mailbox with this account's name")
    assert not remove_mirror(tmp_path, second)
    assert list(mirror_files(tmp_path)) == [first.name]
    assert not remove_mirror(tmp_path, first)
    assert mirror_files(tmp_path) == {}


async def test_the_outbox_is_not_ok_while_nothing_can_be_sent_for_want_of_a_file(tmp_path: Path) -> None:
    async with open_gateway(build({"accounts": ACCOUNTS}, home=tmp_path)) as gateway:
        (tmp_path / "state.db.submissions").mkdir()
        found = {finding.what: finding async for finding in checkup.account(gateway, ACCOUNTS[0]["name"])}
    outbox = found[f"{ACCOUNTS[0]['name']}: outbox"]
    assert not outbox.ok
    assert "state.db.submissions" in outbox.text
