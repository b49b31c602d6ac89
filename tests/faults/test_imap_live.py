"""Mail that comes to a real Dovecot is told to subscribed clients, whatever happens to the connection in between."""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_types import TextResourceContents
from tests.flows.listener import Listener, listening
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.faultproxy import FaultProxy, faulty

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, build

INBOX = "mail://mine/inbox"
ERAS = ("legacy", "2026-07-28")


@pytest.fixture
def proxy(dovecot: Dovecot) -> Iterator[FaultProxy]:
    with faulty(dovecot.imap) as proxy:
        yield proxy


@pytest.fixture
def settings(dovecot: Dovecot, proxy: FaultProxy, tmp_path: Path) -> Settings:
    account = {
        "name": "mine",
        "provider": "imap",
        "address": dovecot.new_user("live"),
        "host": dovecot.host,
        "port": proxy.port,
        "security": "none",
        "password": PASSWORD,
        "timeout": 5,
    }
    return build({"accounts": [account]}, home=tmp_path)


def deliver(dovecot: Dovecot, settings: Settings, subject: str) -> None:
    with smtplib.LMTP(dovecot.host, dovecot.lmtp) as lmtp:
        lmtp.sendmail("ada@friends.example", settings.accounts[0].address, letter(subject))


async def inbox_of(listener: Listener) -> str:
    (content,) = (await listener.client.read_resource(INBOX)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.mark.parametrize("era", ERAS)
async def test_a_delivered_mail_is_told_and_is_there(dovecot: Dovecot, settings: Settings, era: str) -> None:
    async with listening(server_for(settings), era, INBOX) as listener:
        for subject in ("first", "second"):
            deliver(dovecot, settings, subject)
            assert await listener.next() == INBOX
            assert subject in await inbox_of(listener)


@pytest.mark.parametrize("era", ERAS)
async def test_a_subscription_outlives_its_connection_and_tells_what_came_meanwhile(
    dovecot: Dovecot, proxy: FaultProxy, settings: Settings, era: str
) -> None:
    async with listening(server_for(settings), era, INBOX) as listener:
        proxy.cut_all()
        deliver(dovecot, settings, "meanwhile")
        assert await listener.next() == INBOX
        assert "meanwhile" in await inbox_of(listener)
        deliver(dovecot, settings, "afterwards")
        assert await listener.next() == INBOX
        assert "afterwards" in await inbox_of(listener)


async def test_a_server_that_is_away_at_first_is_told_of_when_it_answers(
    dovecot: Dovecot, proxy: FaultProxy, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.doors.mcp.live.PATIENCE", 0.1)
    proxy.reset(cut_after_down=0)
    async with listening(server_for(settings), "2026-07-28", INBOX) as listener:
        assert listener.honoured == [INBOX]
        proxy.reset()
        assert await listener.next() == INBOX
