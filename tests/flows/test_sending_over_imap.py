"""The whole way on real servers: tool call, gate, Postfix, Dovecot, another inbox, and the own Sent folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from smtplib import SMTP
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.flows.caller import Caller
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.postfix import ROUTING_DOMAIN, Postfix

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, build

DELIVERY = 20  # seconds Postfix and Dovecot may take at most


@pytest.fixture
def settings(dovecot: Dovecot, postfix: Postfix, tmp_path: Path) -> Settings:
    files = tmp_path / "files"
    files.mkdir()
    (files / "plan.txt").write_text("the plan")
    accounts = [
        {
            "name": name,
            "provider": "imap",
            "address": dovecot.new_user(name),
            "host": dovecot.host,
            "port": dovecot.imap,
            "security": "none",
            "password": PASSWORD,
            "smtp_host": postfix.host,
            "smtp_port": postfix.plain,
            "smtp_security": "none",
        }
        for name in ("alice", "bob")
    ]
    safety = {"gate": "preview", "attachment_dirs": [str(files)]}
    return build({"accounts": accounts, "safety": safety}, home=tmp_path)


async def until(found: Callable[[], Awaitable[list[Any]]]) -> list[Any]:
    """Delivery is somebody else's work: look until it is done, within bounds."""
    with anyio.fail_after(DELIVERY):
        while not (rows := await found()):
            await anyio.lowlevel.checkpoint()
    return rows


async def test_a_mail_from_alice_arrives_at_bob_and_stands_in_her_sent_folder(settings: Settings) -> None:
    alice, bob = (account.address for account in settings.accounts)
    mail = {"to": bob, "subject": "Grüße aus 東京", "body": "Bis bald!", "attachments": ["plan.txt"], "bcc": alice}
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        assert (await call.ok("send_email", **mail))["status"] == "preview"
        sent = await call.ok("send_email", **mail, confirm=True)
        assert sent["status"] == "sent"
        assert set(sent["accepted"]) == {alice, bob}

        async def inbox() -> list[Any]:
            return (await call.ok("list_emails", account="bob"))["results"]

        (row,) = await until(inbox)
        assert row["subject"] == "Grüße aus 東京"
        read = await call.ok("read_email", email_id=row["email_id"])
        assert read["untrusted"]["body"].strip() == "Bis bald!"
        assert [file["filename"] for file in read["attachments"]] == ["plan.txt"]
        assert read["bcc"] == []
        (copy,) = (await call.ok("list_emails", mailbox="sent"))["results"]
        assert copy["subject"] == row["subject"]

        answer = {"email_id": row["email_id"], "body": "Gern."}
        assert (await call.ok("reply_email", **answer))["preview"]["original_subject"] == "Grüße aus 東京"
        assert (await call.ok("reply_email", **answer, confirm=True))["status"] == "sent"
        (marked,) = (await call.ok("search_emails", query="is:answered", account="bob"))["results"]
        assert (marked["email_id"], marked["unread"]) == (row["email_id"], True)

        async def answered() -> list[Any]:
            return (await call.ok("search_emails", query=f"from:{bob}", account="alice"))["results"]

        (reply,) = await until(answered)
        assert reply["subject"] == "Re: Grüße aus 東京"
        thread = await call.ok("get_thread", thread_id=reply["thread_id"])
        subjects = [email["mailbox"] for email in thread["emails"]]
        assert "Sent" in subjects
        assert "INBOX" in subjects


async def test_a_forwarded_mail_is_marked_and_a_deleted_draft_comes_back_under_its_id(settings: Settings) -> None:
    alice = settings.accounts[0].address
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        await call.ok("send_email", to=alice, subject="Plan", body="See you.")
        await call.ok("send_email", to=alice, subject="Plan", body="See you.", confirm=True)

        async def inbox() -> list[Any]:
            return (await call.ok("list_emails"))["results"]

        (row,) = await until(inbox)
        draft = await call.ok("draft_forward", email_id=row["email_id"], to=alice)
        deleted = await call.ok("delete_draft", draft_id=draft["draft_id"])
        assert (await call.ok("list_drafts"))["results"] == []
        await call.ok("undo", operation_id=deleted["operation_id"])
        await call.ok("send_draft", draft_id=draft["draft_id"])
        assert (await call.ok("send_draft", draft_id=draft["draft_id"], confirm=True))["status"] == "sent"
        marked = (await call.ok("search_emails", query="is:forwarded"))["results"]
        assert row["email_id"] in [mail["email_id"] for mail in marked]
        assert all(mail["labels"] == [] for mail in marked)


async def test_a_recipient_postfix_refuses_is_reported_and_nobody_gets_the_mail(settings: Settings) -> None:
    bob = settings.accounts[1].address
    mail = {"to": [bob, "someone@elsewhere.example"], "subject": "x", "body": "y"}
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        await call.ok("send_email", **mail)
        answer = await call.ok("send_email", **mail, confirm=True)
        assert answer["status"] == "rejected"
        assert set(answer["refused"]) == {"someone@elsewhere.example"}
        assert (await call.ok("list_emails", mailbox="sent"))["results"] == []
        assert (await call.ok("list_emails", account="bob"))["results"] == []


@pytest.mark.parametrize("local", ["mallory%evil.example", "evil.example!mallory"])
async def test_an_address_that_the_server_would_send_on_passes_no_list(
    settings: Settings, postfix: Postfix, local: str
) -> None:
    email = f"{local}@{ROUTING_DOMAIN}"
    alice = settings.accounts[0].address
    with SMTP(postfix.host, postfix.plain, local_hostname="localhost") as direct:
        direct.login(alice, PASSWORD)
        answers = {}
        for recipient in (f"mallory@{ROUTING_DOMAIN}", "mallory@evil.example", email):
            direct.mail(alice)
            answers[recipient] = direct.rcpt(recipient)[1].decode().partition(": ")[2]
            direct.rset()
    assert answers[email] == answers["mallory@evil.example"] != answers[f"mallory@{ROUTING_DOMAIN}"]

    listed = settings.safety.model_copy(update={"allow_recipients": (f"*@{ROUTING_DOMAIN}",), "gate": "confirm"})
    log = postfix.home / "log" / "mail.log"
    untried = email.replace("mallory", "mallory.again")
    async with Client(server_for(replace(settings, safety=listed))) as client:
        refused = await Caller(client).error("send_email", to=untried, subject="x", body="x", confirm=True)
    assert refused["code"] == "PERMISSION_DENIED"
    with anyio.fail_after(30):
        while email not in log.read_text():  # the log is written by a process of its own
            await anyio.sleep(0.05)
    assert untried not in log.read_text()


async def test_a_mail_is_sent_as_an_identity_from_the_settings_with_its_signature(settings: Settings) -> None:
    own, other = settings.accounts
    sales = f"sales.{own.address}"
    identity = {"address": sales, "name": "Sales", "signature": "The sales team"}
    named = type(own).model_validate({**own.model_dump(), "identities": [identity]})
    mail = {"to": other.address, "subject": "Offer", "body": "Nine.", "identity": sales}
    async with Client(server_for(replace(settings, accounts=(named, other)))) as client:
        call = Caller(client)
        preview = (await call.ok("send_email", **mail))["preview"]
        assert (preview["from"], preview["body_excerpt"]) == (f"Sales <{sales}>", "Nine.\n\n-- \nThe sales team")
        sent = await call.ok("send_email", **mail, confirm=True)
        assert sent["status"] == "sent", sent

        async def inbox() -> list[Any]:
            return (await call.ok("list_emails", account="bob"))["results"]

        (row,) = await until(inbox)
        assert row["from"] == f"Sales <{sales}>"
        (copy,) = (await call.ok("list_emails", mailbox="sent"))["results"]
        assert copy["subject"] == "Offer"
