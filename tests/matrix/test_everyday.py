"""What people do with mail every day, over MCP, on every provider."""

from __future__ import annotations

import base64
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, ImageContent
from tests.contract.rigs import Rig, SeedMail
from tests.unit.mime import attached

from postroom.doors.mcp.serve import server_for
from postroom.settings import build

from .desk import Desk, Person

TOOLSETS = ["read", "organise", "drafts", "send", "subscriptions", "calendar"]


def parcel(to: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ada <ada@example.com>", to, "Parcel"
    mail["Message-ID"], mail["Date"] = "<parcel@example.com>", "Mon, 02 Nov 2026 10:00:00 +0000"
    mail["List-Unsubscribe"] = "<mailto:leave@example.com?subject=leave>"
    mail.set_content("Two files.")
    mail.add_attachment(attached.pdf("Total 40 EUR"), maintype="application", subtype="pdf", filename="bill.pdf")
    mail.add_attachment(attached.png(), maintype="image", subtype="png", filename="face.png")
    return mail.as_bytes(policy=policy.SMTP)


def invitation(to: str, organizer: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = organizer, to, "Planning"
    mail["Message-ID"], mail["Date"] = "<planning@example.com>", "Mon, 02 Nov 2026 11:00:00 +0000"
    mail.set_content("Please come.")
    written = attached.INVITATION.replace("alex@demo.exam\r\n ple", to).replace("ada@example.com", organizer)
    mail.add_alternative(written.encode(), maintype="text", subtype="calendar", params={"method": "REQUEST"})
    return mail.as_bytes(policy=policy.SMTP)


async def ok(desk: Desk, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await desk.client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def test_attachments_are_read_passed_on_and_shown_within_a_text(rig: Rig, tmp_path: Path) -> None:
    account, person = await rig.make_account(), Person(agrees=True)
    await rig.seed([SeedMail(parcel(account.address)), SeedMail(invitation(account.address, account.second_address))])
    await rig.settle()
    accounts = [account.settings, *rig.neighbours]
    settings = build({"server": {"toolsets": TOOLSETS}, "accounts": accounts}, home=tmp_path)
    async with Client(server_for(settings), elicitation_callback=person.answer) as client:
        desk = Desk(client, rig, account, settings.safety.vault, person)
        (row,) = (await ok(desk, "search_emails", query="subject:parcel"))["results"]
        files = (await ok(desk, "list_attachments", email_id=row["email_id"]))["attachments"]
        bill, face = ({"email_id": row["email_id"], "attachment_id": file["attachment_id"]} for file in files)
        assert "Total 40 EUR" in (await ok(desk, "read_attachment", **bill))["untrusted"]["body"]
        shown = await client.call_tool("read_attachment", face)
        assert isinstance(shown, CallToolResult)
        (image,) = [block for block in shown.content if isinstance(block, ImageContent)]
        assert base64.b64decode(image.data) == attached.png()
        both = (await ok(desk, "read_email", email_id=[row["email_id"], "e-none"]))["emails"]
        assert both[0]["untrusted"]["body"].strip() == "Two files."
        assert "error" in both[1]

        (ada,) = (await ok(desk, "find_people", text="adà"))["people"]
        assert (ada["address"], ada["written_to"], ada["heard_from"]) == ("Ada <ada@example.com>", 0, 1)
        await _leave(desk, row["email_id"])
        await _pass_on(desk, *(f"mail:{one['email_id']}/{one['attachment_id']}" for one in (bill, face)))
        await _answer(desk)


async def _pass_on(desk: Desk, bill: str, face: str) -> None:
    rich = desk.account.capabilities.provider != "rest"  # which has no way to show a picture within the text
    html = '<p>Passed on <img src="cid:face.png"></p>' if rich else ""
    letter = {"to": desk.you, "subject": "Passed on", "body": "Passed on", "body_html": html}
    sent = await ok(desk, "send_email", **letter, attachments=[bill, face], confirm=True)
    assert sent["status"] == "sent", sent

    arrived = await desk.arrived_once("Passed on")

    parts = {part.get_filename(): part for part in arrived.walk() if part.get_filename()}
    assert parts["bill.pdf"].get_content() == attached.pdf("Total 40 EUR")
    assert parts["face.png"].get_content() == attached.png()
    if rich:
        text = arrived.get_body(("html",))
        assert text is not None
        assert f"cid:{parts['face.png']['Content-ID'].strip('<>')}" in text.get_content()


async def _leave(desk: Desk, email_id: str) -> None:
    preview = await ok(desk, "unsubscribe", email_id=email_id)
    assert (preview["preview"]["to"], preview["preview"]["subject"]) == (["leave@example.com"], "leave")


async def _answer(desk: Desk) -> None:
    (row,) = (await ok(desk, "search_emails", query="subject:planning"))["results"]
    answer = {"email_id": row["email_id"], "response": "tentative", "comment": "If the train runs."}
    result = await desk.client.call_tool("answer_invitation", {**answer, "confirm": True})
    assert isinstance(result, CallToolResult)
    assert result.structured_content is not None
    if desk.account.capabilities.provider == "rest":  # which cannot mark a part as an answer for calendars
        assert result.structured_content["status"] == "rejected"
        return
    assert result.structured_content["status"] == "sent", result.structured_content
    arrived = await desk.arrived_once("If the train runs.")
    (part,) = [part for part in arrived.walk() if part.get_content_type() == "text/calendar"]
    assert part.get_param("method") == "REPLY"
    lines = part.get_content().replace("\r\n ", "").replace("\n ", "").splitlines()
    assert {"METHOD:REPLY", "UID:plan-1@example.com", "SEQUENCE:2", "COMMENT:If the train runs."} <= set(lines)
    (mine,) = [line for line in lines if line.startswith("ATTENDEE")]
    assert "PARTSTAT=TENTATIVE" in mine
    assert mine.endswith(f":mailto:{desk.account.address}")
    assert arrived["In-Reply-To"] == "<planning@example.com>"
