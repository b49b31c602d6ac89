"""One zone for whoever reads: what is shown, and what a day is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import pytest
from mcp import Client
from tests.flows.caller import Caller, text_of
from tests.flows.mails import letter

from postroom.doors.mcp.serve import server_for
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import Settings, SettingsError, build

ACCOUNTS = [{"name": "alex", "provider": "local", "address": "alex@demo.example", "path": "alex.db"}]


def settings_in(zone: str, home: Path) -> Settings:
    return build({"accounts": ACCOUNTS, "server": {"timezone": zone}, "safety": {"gate": "confirm"}}, home=home)


@asynccontextmanager
async def gateway_in(zone: str, home: Path) -> AsyncIterator[Caller]:
    """With one mail of 2026-07-01, half past eleven in the evening in UTC."""
    settings = settings_in(zone, home)
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=home, neighbours=settings.accounts))
    await mailbox.connect()
    mail = letter("bob@demo.example", "Late", "Good night.", hours_ago=1, message_id="late")
    mail.replace_header("Date", "Wed, 01 Jul 2026 23:30:00 +0000")
    await mailbox.add_messages([NewMail(raw=mail.as_bytes())])
    await mailbox.close()
    with anyio.fail_after(60):
        async with Client(server_for(settings)) as client:
            yield Caller(client)


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Europe/Berlin", "2026-07-02T01:30:00+02:00"),
        ("America/New_York", "2026-07-01T19:30:00-04:00"),
        ("", "2026-07-01T23:30:00+00:00"),
    ],
)
async def test_a_mail_is_dated_in_the_zone_of_the_settings_wherever_it_is_shown(
    tmp_path: Path, zone: str, shown: str
) -> None:
    async with gateway_in(zone, tmp_path) as call:
        (row,) = (await call.ok("list_emails"))["results"]
        opened = await call.ok("read_email", email_id=row["email_id"])
        thread = await call.ok("get_thread", thread_id=row["thread_id"])
    assert {row["date"], opened["date"], thread["emails"][0]["date"]} == {shown}


@pytest.mark.parametrize(("zone", "offset"), [("Asia/Kolkata", "+05:30"), ("UTC", "+00:00")])
async def test_the_words_of_a_listing_say_which_offset_its_times_have(tmp_path: Path, zone: str, offset: str) -> None:
    there = datetime.fromisoformat("2026-07-01T23:30:00+00:00").astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
    async with gateway_in(zone, tmp_path) as call:
        await call.ok("create_draft", to="alex@demo.example", subject="Later", body="x")
        listed = text_of(await call("list_emails"))
        drafts = text_of(await call("list_drafts"))
    assert f" {there} " in listed
    assert f" Times: {offset}." in listed
    assert f" Times: {offset}." in drafts


@pytest.mark.parametrize(
    ("zone", "day"), [("Europe/Berlin", "2026-07-02"), ("America/New_York", "2026-07-01"), ("UTC", "2026-07-01")]
)
async def test_a_day_of_a_search_is_a_day_of_that_zone(tmp_path: Path, zone: str, day: str) -> None:
    next_day = f"2026-07-0{int(day[-1]) + 1}"
    async with gateway_in(zone, tmp_path) as call:
        assert (await call.ok("search_emails", query=f"after:{day} before:{next_day}"))["total_count"] == 1
        assert (await call.ok("search_emails", query=f"before:{day}"))["total_count"] == 0
        assert (await call.ok("search_emails", query=f"after:{next_day}"))["total_count"] == 0


async def test_what_waits_in_the_outbox_is_timed_in_that_zone_and_called_scheduled(tmp_path: Path) -> None:
    later = (datetime.now(UTC) + timedelta(days=30)).replace(microsecond=0)
    there = later.astimezone(ZoneInfo("Asia/Kolkata")).isoformat()
    mail = {"to": "Alex <alex@demo.example>", "subject": "Later", "body": "x", "send_at": later.isoformat()}
    async with gateway_in("Asia/Kolkata", tmp_path) as call:
        preview = await call.ok("send_email", **mail)
        sent = await call.ok("send_email", **mail, confirm=True)
        (row,) = (await call.ok("list_outbox"))["results"]
        await call.ok("cancel_send", send_id=sent["send_id"])
        (stopped,) = (await call.ok("list_outbox", include_finished=True))["results"]
    assert there.endswith("+05:30")
    assert preview["preview"]["send_at"] == there
    assert (sent["status"], there in sent["message"]) == ("scheduled", True)
    assert (row["state"], row["not_before"]) == ("scheduled", there)
    assert (row["subject"], row["recipients"]) == ("Later", ["alex@demo.example"])
    assert (stopped["state"], stopped["subject"]) == ("cancelled", "Later")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe", "../etc/passwd", "CEST"])
def test_a_zone_that_nobody_knows_is_named_at_the_start(tmp_path: Path, zone: str) -> None:
    with pytest.raises(SettingsError, match=r"server\.timezone: unknown time zone; write an IANA name"):
        settings_in(zone, tmp_path)
