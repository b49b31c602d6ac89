"""A folder that its server refuses, and a move whose answer was lost, as people and agents see them: named at the
terminal, dated in answers, and whole again when they can be read."""

from __future__ import annotations

import imaplib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.faults.test_mirror_process import CONFIG, postroom
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.faultproxy import FaultProxy, faulty
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.test_refused_readers import in_use

from postroom.doors.mcp.server import build_server
from postroom.settings import load
from postroom.sync.file.mirror import Mirror
from postroom.wiring import open_gateway

WHY = "The mail server says that another program is using it. Try again later."


@pytest.fixture
def proxy(dovecot: Dovecot, tmp_path: Path) -> Iterator[FaultProxy]:
    user = dovecot.new_user("refused")
    with Mirrored(dovecot, user, Mirror(tmp_path / "none.db"), {}).client() as client:
        client.append("INBOX", "", None, letter("new", text="An elephant."))
        client.append("Archive", "", None, letter("old", text="An elephant."))
    with faulty(dovecot.imap) as made:
        config = CONFIG.format(user=user, host=dovecot.host, port=made.port)
        (tmp_path / "postroom.toml").write_text(config)
        yield made


def told(home: Path, *words: str) -> tuple[int, str]:
    process = postroom(home, *words)
    said, _ = process.communicate(timeout=120)
    return process.returncode, said


def mirror_found(home: Path) -> str:
    _, said = told(home, "doctor")
    found = re.search(r"^(\S+ +mine: mirror: .*)$", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def test_sync_and_doctor_name_the_folder_and_say_why_until_it_can_be_read(tmp_path: Path, proxy: FaultProxy) -> None:
    assert told(tmp_path, "sync")[0] == 0
    in_use(proxy)
    status, said = told(tmp_path, "sync", "--reset")
    assert (status, "mine: 1 messages" in said, f"Archive: {WHY}" in said) == (1, True, True), said
    assert re.match(rf"(?!ok).*Archive: {re.escape(WHY)}", mirror_found(tmp_path))
    proxy.reset()
    status, said = told(tmp_path, "sync")
    assert (status, "mine: 2 messages" in said, "up to date" in said, WHY in said) == (0, True, True, False), said
    assert mirror_found(tmp_path).startswith("ok")


def test_an_inbox_that_is_in_use_is_named_and_the_account_works(tmp_path: Path, proxy: FaultProxy) -> None:
    in_use(proxy, "INBOX")
    status, said = told(tmp_path, "sync")
    assert (status, "mine: 1 messages" in said, f"INBOX: {WHY}" in said) == (1, True, True), said
    _, said = told(tmp_path, "search", "in:Archive elephant")
    assert "old" in said
    proxy.reset()
    status, said = told(tmp_path, "sync")
    assert (status, "mine: 2 messages" in said) == (0, True), said


@asynccontextmanager
async def client_of(home: Path, mirror: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setenv("POSTROOM_HOME", str(home))
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    config = home / "postroom.toml"
    config.write_text(config.read_text().replace('mirror = "full"', f'mirror = "{mirror}"'))
    settings = load(config)
    async with Client(build_server(lambda: open_gateway(settings), settings)) as client:
        yield client


def second_client(home: Path, dovecot: Dovecot) -> imaplib.IMAP4:
    found = re.search(r'address = "(.*)"', (home / "postroom.toml").read_text())
    assert found is not None
    client = imaplib.IMAP4(dovecot.host, dovecot.imap)
    client.login(found[1], PASSWORD)
    return client


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer
    found: dict[str, Any] = answer.structured_content
    return found


@pytest.mark.anyio
async def test_an_agent_reads_the_others_as_ever_and_sees_how_old_the_refused_one_is(
    tmp_path: Path, proxy: FaultProxy, dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(tmp_path, "sync")[0] == 0
    async with client_of(tmp_path, "full", monkeypatch) as client:
        ids = {
            row["subject"]: row["email_id"]
            for row in (await called(client, "search_emails", query="elephant"))["results"]
        }
        in_use(proxy)
        proxy.cut_all()
        second_client(tmp_path, dovecot).append("Archive", "", None, letter("older"))
        await called(client, "create_folder", name="Sums")  # whoever reads next looks anew
        assert [row["subject"] for row in (await called(client, "list_emails"))["results"]] == ["new"]
        found = await called(client, "search_emails", query="elephant")
        assert {row["subject"] for row in found["results"]} == {"new", "old"}
        assert (found["complete"], bool(found["as_of"])) == (True, True)
        found = await called(client, "list_emails", mailbox="Archive")
        assert ([row["email_id"] for row in found["results"]], bool(found["as_of"])) == ([ids["old"]], True)
        assert "elephant" in (await client.call_tool("read_email", {"email_id": ids["old"]})).model_dump_json()
        names = {folder["name"] for folder in (await called(client, "list_folders"))["folders"]}
        assert {"INBOX", "Archive"} <= names


@pytest.mark.anyio
async def test_without_a_mirror_an_agent_is_told_what_the_server_says_and_other_folders_are_read(
    tmp_path: Path, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_use(proxy)
    async with client_of(tmp_path, "off", monkeypatch) as client:
        assert [row["subject"] for row in (await called(client, "list_emails"))["results"]] == ["new"]
        answer = await client.call_tool("list_emails", {"mailbox": "Archive"})
        assert answer.is_error
        assert WHY in answer.model_dump_json()
        in_use(proxy, "INBOX")
        proxy.cut_all()
        found = await called(client, "list_emails", mailbox="Archive")
        assert [row["subject"] for row in found["results"]] == ["old"]


@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["swallow_after", "cut_before_client"], ids=["made", "not made"])
async def test_an_agent_that_looks_after_a_move_whose_answer_was_lost_sees_whether_it_was_made(
    tmp_path: Path, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    assert told(tmp_path, "sync")[0] == 0
    async with client_of(tmp_path, "full", monkeypatch) as client:
        (row,) = (await called(client, "list_emails"))["results"]
        proxy.reset(**{fault: b"MOVE"})
        answer = await client.call_tool("move_email", {"email_id": row["email_id"], "to_mailbox": "Archive"})
        assert "may or may not have happened" in answer.model_dump_json()
        proxy.reset()
        is_made = fault == "swallow_after"
        archived = (await called(client, "list_emails", mailbox="Archive"))["results"]
        assert (row["email_id"] in [one["email_id"] for one in archived]) == is_made, "under the id it had"
        assert len((await called(client, "list_emails"))["results"]) == (not is_made)
        assert not (await client.call_tool("read_email", {"email_id": row["email_id"]})).is_error
