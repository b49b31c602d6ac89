"""Answering an invitation: to its organizer, as the one who was invited, in a form that calendars understand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult
from tests.flows.caller import Caller
from tests.unit.mime.attached import INVITATION

from postroom.doors.mcp.serve import server_for
from postroom.mime.calendar.events import parse_calendar
from postroom.mime.calendar.reply import reply_to
from postroom.model.address import Address
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import Settings, build

ME = Address("alex@demo.example", 'Alex "R" Rivera')
NOW = datetime(2026, 11, 16, 21, 40, 5, 123456, tzinfo=UTC)


def answered(written: str = INVITATION, comment: str = "", now: datetime = NOW) -> list[str]:
    content = written.encode()
    text = reply_to(content, parse_calendar(content).events[0], ME, "accept", comment, now)
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    return text.replace("\r\n ", "").split("\r\n")


def test_an_answer_repeats_what_identifies_the_event_and_says_the_answer() -> None:
    lines = answered()

    assert lines[:4] == ["BEGIN:VCALENDAR", "PRODID:-//Postroom//Postroom//EN", "VERSION:2.0", "METHOD:REPLY"]
    assert "UID:plan-1@example.com" in lines
    assert "SEQUENCE:2" in lines
    assert 'ORGANIZER;CN="Lee, Ada":mailto:ada@example.com' in lines
    assert [line for line in lines if line.startswith("ATTENDEE")] == [
        'ATTENDEE;PARTSTAT=ACCEPTED;CN="Alex R Rivera":mailto:alex@demo.example'
    ]
    assert "DTSTAMP:20261116T214005Z" in lines
    assert lines.index("BEGIN:VTIMEZONE") < lines.index("END:VTIMEZONE") < lines.index("BEGIN:VEVENT")
    assert not any("Reminder" in line or "DESCRIPTION" in line for line in lines)


def test_an_answer_about_one_occurrence_names_it() -> None:
    one = INVITATION.replace("SEQUENCE:2\r\n", "SEQUENCE:2\r\nRECURRENCE-ID;TZID=Europe/Berlin:20261208T090000\r\n")

    assert "RECURRENCE-ID;TZID=Europe/Berlin:20261208T090000" in answered(one)


def test_a_comment_and_a_title_cannot_add_lines() -> None:
    sly = INVITATION.replace("Planning\\, second round", "x\x0bATTENDEE:mailto:eve@evil.example")
    lines = answered(sly, "a;b,c\nATTENDEE:mailto:eve@evil.example\\")

    assert sum(line.startswith("ATTENDEE") for line in lines) == 1
    assert "COMMENT:a\\;b\\,c\\nATTENDEE:mailto:eve@evil.example\\\\" in lines


@pytest.mark.parametrize("outer", ["X-BOX", "VEVENT", "VTIMEZONE"])
def test_a_time_zone_cannot_hold_a_second_answer(outer: str) -> None:
    """The lines of a zone are repeated; nobody is shown them."""
    second = "BEGIN:VEVENT\r\nUID:other\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:alex@demo.example\r\nEND:VEVENT\r\n"
    sly = f"BEGIN:VTIMEZONE\r\nBEGIN:{outer}\r\nEND:VTIMEZONE\r\n{second}END:{outer}\r\n"
    lines = answered(INVITATION.replace("BEGIN:VTIMEZONE\r\n", f"{sly}BEGIN:VTIMEZONE\r\n", 1))

    assert "UID:other" not in lines
    assert sum(line.startswith("ATTENDEE") for line in lines) == 1


@pytest.mark.parametrize("at", ["99991231T235959", "00010101T000000"])
def test_times_at_the_ends_of_the_calendar_are_no_error(at: str) -> None:
    zone = "America/New_York" if at[0] == "9" else "Asia/Tokyo"
    odd = INVITATION.replace("DTSTAMP:20261101T080000Z", f"DTSTAMP;TZID={zone}:{at}")

    assert "DTSTAMP:20261116T214005Z" in answered(odd)


def test_the_time_of_an_answer_is_never_before_that_of_the_invitation() -> None:
    late = INVITATION.replace("DTSTAMP:20261101T080000Z", "DTSTAMP:20261116T214500Z")

    assert "DTSTAMP:20261116T214500Z" in answered(late)


@asynccontextmanager
async def invited(
    settings: Settings, written: str, sender: str = "ada@example.com"
) -> AsyncIterator[tuple[Caller, list[str]]]:
    settings = build(
        {
            "server": {"toolsets": ["read", "send", "calendar"]},
            "accounts": [account.model_dump() for account in settings.accounts],
        },
        home=settings.home,
    )
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, "alex@demo.example", "Planning"
    mail["Message-ID"] = "<planning@example.com>"
    mail.set_content("Come")
    if written:
        mail.add_alternative(written.encode(), maintype="text", subtype="calendar", params={"method": "REQUEST"})
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=settings.home, neighbours=settings.accounts))
    await mailbox.connect()
    await mailbox.add_messages([NewMail(raw=mail.as_bytes(policy=policy.SMTP), folder="INBOX")])
    await mailbox.close()
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"send": True})

    async with Client(server_for(settings), elicitation_callback=person) as client:
        yield Caller(client), asked


async def test_the_person_sees_what_is_answered_to_whom(settings: Settings) -> None:
    written = INVITATION.replace("ada@example.com", "sam@demo.example")
    async with invited(settings, written, sender="Mallory <mallory@evil.example>") as (call, asked):
        email_id = await call.email_id("subject:planning")
        preview = (await call.ok("answer_invitation", email_id=email_id, response="decline"))["preview"]
        sent = await call.ok("answer_invitation", email_id=email_id, response="decline", confirm=True)

    assert (preview["to"], preview["subject"]) == (["sam@demo.example"], "Declined: Planning, second round")
    assert "When: Tuesday 2026-12-01 09:00 to 10:30 (Europe/Berlin, UTC+0100)" in preview["body_excerpt"]
    said = "The answer goes to sam@demo.example, but mallory@evil.example sent the invitation."
    assert said in preview["notes"]
    assert said in asked[0]
    assert "the answer for calendars (text/calendar" in asked[0]
    assert (sent["status"], sent["accepted"]) == ("sent", ["sam@demo.example"])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "no calendar file"),
        (INVITATION.replace("METHOD:REQUEST", "METHOD:CANCEL"), "no invitation that asks for an answer"),
        (INVITATION.replace("METHOD:REQUEST", "METHOD:PUBLISH"), "no invitation that asks for an answer"),
        (INVITATION.replace("ORGANIZER", "X-NOBODY"), "no invitation that asks for an answer"),
        (INVITATION.replace("alex@demo.exam\r\n ple", "alex@elsewhere.example"), "among those invited"),
        (INVITATION.replace("mailto:ada@example.com", "https://evil.example/"), "address"),
    ],
)
async def test_what_is_no_invitation_to_oneself_is_not_answered(settings: Settings, written: str, said: str) -> None:
    async with invited(settings, written) as (call, asked):
        email_id = await call.email_id("subject:planning")
        error = await call.error("answer_invitation", email_id=email_id, response="accept", confirm=True)

    assert said in error["message"]
    assert asked == []
