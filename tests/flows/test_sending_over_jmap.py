"""The whole way on a real Cyrus: tool call, gate, submission, the copy in Sent; and the commands around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from tests.flows.caller import Caller
from tests.peers.cyrus import PASSWORD, Cyrus

from postroom.__main__ import main
from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, build


@pytest.fixture
def settings(cyrus: Cyrus, tmp_path: Path) -> Settings:
    account = {
        "name": "alice",
        "provider": "jmap",
        "address": cyrus.new_user("alice"),
        "session_url": cyrus.url,
        "password": PASSWORD,
    }
    cyrus.smtp.taken.clear()
    return build({"accounts": [account], "safety": {"gate": "preview"}}, home=tmp_path)


async def test_a_previewed_mail_is_submitted_once_and_stands_in_sent(cyrus: Cyrus, settings: Settings) -> None:
    mail = {"to": "bob@example.test", "bcc": "carol@example.test", "subject": "Grüße aus 東京", "body": "Bis bald!"}
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        assert (await call.ok("send_email", **mail))["status"] == "preview"
        assert cyrus.smtp.taken == []
        sent = await call.ok("send_email", **mail, confirm=True)
        assert sent["status"] == "sent"
        assert set(sent["accepted"]) == {"bob@example.test", "carol@example.test"}
        (taken,) = cyrus.smtp.taken
        assert taken.rcpt_tos == ["bob@example.test", "carol@example.test"]
        assert b"carol" not in taken.content
        (copy,) = (await call.ok("list_emails", mailbox="sent"))["results"]
        assert copy["subject"] == "Grüße aus 東京"
        assert (await call.ok("list_drafts"))["results"] == []


async def test_a_draft_is_written_sent_and_gone(cyrus: Cyrus, settings: Settings) -> None:
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        draft = await call.ok("create_draft", to="bob@example.test", subject="Plan", body="Step one.")
        order = {"draft_id": draft["draft_id"]}
        assert (await call.ok("send_draft", **order))["status"] == "preview"
        assert (await call.ok("send_draft", **order, confirm=True))["status"] == "sent"
        assert len(cyrus.smtp.taken) == 1
        assert (await call.ok("list_drafts"))["results"] == []


def test_doctor_walks_through_an_account_end_to_end(
    cyrus: Cyrus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CYRUS_PASSWORD", PASSWORD)
    config = tmp_path / "postroom.toml"
    config.write_text(
        f'[[accounts]]\nname = "work"\nprovider = "jmap"\naddress = "{cyrus.new_user()}"\n'
        f'session_url = "{cyrus.url}"\npassword_env = "CYRUS_PASSWORD"\n'
    )
    assert main(["doctor", "--config", str(config)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "work" in line]
    assert [line.split(": ")[1] for line in lines] == ["connect", "folders", "read", "draft", "send", "outbox"]
    assert all(line.startswith("ok") for line in lines)
    assert main(["accounts", "--check", "--config", str(config)]) == 0
