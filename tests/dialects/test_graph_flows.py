"""Whole flows of the graph dialect: found, previewed, sent, and seen where they arrive; also over IMAP and SMTP."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from starlette.testclient import TestClient
from tests.dialects.conftest import client_of, local_settings
from tests.dialects.graph_desk import BOB, CAROL, MAIL, PLAIN, WITH_FILE, is_preview
from tests.flows.caller import text_of
from tests.peers.dovecot import PASSWORD

from postroom.doors.mcp.http.app import http_app
from postroom.doors.mcp.serve import server_for
from postroom.settings import build

DELIVERY = 20  # seconds Postfix and Dovecot may take at most


async def test_from_the_list_over_the_preview_to_the_reply(graph):
    await graph.letter()
    (mail,) = (await graph.call.ok("list_emails"))["emails"]
    answer = {"message_id": mail["message_id"], "comment": "Ja."}
    assert is_preview(await graph.call("reply_email", **answer, confirm=False))
    assert graph.provider.attempts == []
    assert (await graph.sent("reply_email", **answer))["status"] == "sent"
    assert await graph.inbox("bob") == ["Re: Besprechung"]


async def test_from_the_list_over_the_preview_to_the_forward(graph):
    await graph.letter()
    (mail,) = (await graph.call.ok("list_emails"))["emails"]
    forward = {"message_id": mail["message_id"], "to": [CAROL]}
    assert is_preview(await graph.call("forward_email", **forward))
    assert (await graph.sent("forward_email", **forward))["status"] == "sent"
    assert await graph.inbox("carol") == ["Fwd: Besprechung"]


async def test_from_the_search_to_the_reply(graph):
    await graph.letter()
    await graph.letter(PLAIN.replace("Besprechung", "Anderes").replace("<m1@", "<m2@"))
    (mail,) = (await graph.call.ok("search_emails", query="subject:Besprechung"))["emails"]
    assert (await graph.sent("reply_email", message_id=mail["message_id"], comment="Ja."))["status"] == "sent"
    assert await graph.inbox("bob") == ["Re: Besprechung"]


async def test_without_a_user_only_one_s_own_mailbox_is_listed_and_searched(graph):
    await graph.sent("send_email", to=[BOB], subject="Frage", body="Wann?")
    assert await graph.inbox("bob") == ["Frage"]
    assert (await graph.call.ok("list_emails"))["emails"] == []
    assert (await graph.call.ok("search_emails", query="Wann", folder="inbox"))["emails"] == []


async def test_a_filter_that_the_provider_cannot_apply_is_named(graph):
    await graph.letter()
    opened = await graph.gateway.accounts.open()
    opened.capabilities = replace(opened.capabilities, search_not_applied=("label",))
    found = await graph.call("search_emails", query="label:rot Besprechung")
    (warning,) = found.structured_content["warnings"]
    assert "label" in warning
    assert warning in text_of(found)


async def test_what_is_left_out_of_a_message_is_named_with_the_way_to_it(graph):
    """Also in the text, for clients that show nothing else."""
    message_id = await graph.letter(PLAIN.replace("Passt Ihnen Montag?", "Neues. " * 2000))
    offset, body = 0, ""
    while True:
        page = await graph.call("read_email", message_id=message_id, offset=offset)
        body += page.structured_content["body"]
        further = [one for one in page.structured_content["warnings"] if "offset=" in one]
        if not further:
            break
        assert further[0] in text_of(page)
        offset = int(further[0].partition("offset=")[2].rstrip("."))
        assert offset == len(body)
    assert body.count("Neues.") == 2000


async def test_a_call_that_comes_twice_with_one_key_submits_once(graph):
    answers: list[dict[str, Any]] = []

    async def call() -> None:
        answers.append(await graph.sent("send_email", **MAIL, idempotency_key="k1"))

    async with anyio.create_task_group() as both:
        both.start_soon(call)
        both.start_soon(call)
    assert sorted(answer["status"] for answer in answers) == ["already_executed", "sent"]
    assert len(graph.provider.attempts) == 1


async def test_what_was_sent_stands_in_sent_items(graph):
    await graph.sent("send_email", **MAIL)
    (copy,) = (await graph.call.ok("list_emails", folder="sentitems"))["emails"]
    assert (copy["subject"], copy["to"]) == ("Angebot", [BOB])


async def test_a_message_is_read_and_its_attachment_downloaded(graph):
    message_id = await graph.letter(WITH_FILE)
    read = await graph.call.ok("read_email", message_id=message_id)
    assert (read["subject"], read["body"].strip(), read["isRead"]) == ("Besprechung", "Siehe Anlage.", False)
    (file,) = (await graph.call.ok("list_attachments", message_id=message_id))["attachments"]
    assert (file["name"], file["contentType"], file["size"]) == ("plan.pdf", "application/pdf", 4)
    one = {"message_id": message_id, "attachment_id": file["attachment_id"]}
    saved = await graph.call.ok("download_attachment", **one)
    assert Path(saved["path"]).read_bytes() == b"Plan"
    assert (await graph.call.ok("download_attachment", **one, as_base64=True))["contentBase64"] == "UGxhbg=="
    assert (await graph.call.error("download_attachment", message_id=message_id, attachment_id="9"))[
        "code"
    ] == "NotFoundError"


async def test_a_downloaded_attachment_can_be_sent_on(graph):
    message_id = await graph.letter(WITH_FILE)
    (file,) = (await graph.call.ok("list_attachments", message_id=message_id))["attachments"]
    got = await graph.call.ok(
        "download_attachment", message_id=message_id, attachment_id=file["attachment_id"], as_base64=True
    )
    attached = [{"name": got["name"], "content_base64": got["contentBase64"], "content_type": got["contentType"]}]
    await graph.sent("send_email", **MAIL, attachments=attached)
    (received,) = (await graph.call.ok("list_emails", user_id=BOB))["emails"]
    assert received["hasAttachments"] is True


async def test_over_imap_and_smtp_replies_and_forwards_are_composed_and_arrive(dovecot, postfix, tmp_path):
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
    alice, bob = (account["address"] for account in accounts)
    settings = build({"server": {"dialect": "graph"}, "accounts": accounts}, home=tmp_path)
    async with client_of(settings) as call:

        async def arrived(subject: str, user: str) -> dict[str, Any]:
            """Delivery is somebody else's work: look until it is done, within bounds."""
            with anyio.fail_after(DELIVERY):
                while True:
                    mails = (await call.ok("list_emails", user_id=user))["emails"]
                    if found := [mail for mail in mails if mail["subject"] == subject]:
                        return found[0]

        assert (await call.ok("send_email", to=[bob], subject="E2E", body="Hallo", confirm=True))["status"] == "sent"
        (copy,) = (await call.ok("list_emails", folder="sentitems"))["emails"]
        assert copy["subject"] == "E2E"
        received = await arrived("E2E", bob)
        answer = {"message_id": received["message_id"], "comment": "Danke!", "user_id": bob}
        assert (await call.ok("reply_email", **answer, confirm=True))["status"] == "sent"
        replied = await arrived("Re: E2E", alice)
        assert "Danke!" in (await call.ok("read_email", message_id=replied["message_id"]))["body"]
        forward = {"message_id": replied["message_id"], "to": [bob], "comment": "Zur Info"}
        assert (await call.ok("forward_email", **forward, confirm=True))["status"] == "sent"
        assert alice in (await arrived("Fwd: Re: E2E", bob))["from"]


def test_an_attachment_just_under_four_megabytes_fits_into_an_http_request(tmp_path):
    file = {"name": "a.bin", "content_base64": base64.b64encode(bytes(4 * 2**20 - 1)).decode()}
    call = {"name": "send_email", "arguments": {**MAIL, "attachments": [file]}}
    app = http_app(server_for(local_settings(tmp_path, "graph")))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        assert answer.json()["result"]["structuredContent"]["status"] == "preview"
        assert client.post("/mcp", content=bytes(8 * 2**20 + 1)).status_code == 413
