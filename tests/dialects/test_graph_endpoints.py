"""The graph dialect on Microsoft Graph itself: its requests, with their bodies, and what becomes of the answers."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from mcp import Client
from tests.dialects.graph_desk import PLAIN, WITH_FILE, is_preview
from tests.dialects.graph_scenario import PREFIX, clean_up, sent_answered_and_forwarded
from tests.flows.caller import Caller, text_of
from tests.gate.rigs import SetClock
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.operations import ALL
from tests.peers.web.messages import Answer, Recorded, Request

from postroom.doors.mcp.server import build_server
from postroom.service.gateway import Gateway
from postroom.service.sending import worker
from postroom.settings import build
from postroom.wiring import open_gateway

NUMBERS = count()
SCOPES = frozenset({*ALL, *(f"{scope}.Shared" for scope in ALL)})


class Recording(FakeGraph):
    """Keeps the bodies too."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.seen: list[Request] = []

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        self.seen.append(request)
        return super().respond(request, recorded)


@pytest.fixture(scope="module")
def service():
    with Recording.started() as running:
        yield running


@dataclass
class Office:
    call: Caller
    graph: Recording
    gateway: Gateway
    time: SetClock
    me: Mailbox
    you: Mailbox

    @property
    def mail(self) -> dict[str, Any]:
        return {"to": [self.you.address], "subject": "Angebot", "body": "Guten Tag."}

    def letter(self, raw: str = PLAIN) -> str:
        raw = raw.replace("bob@demo.example", self.you.address).replace("alice@demo.example", self.me.address)
        return str(self.graph.deliver(self.me, raw.encode()).immutable_id)

    async def sent(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call.ok(tool, **arguments, confirm=True)

    async def refusal(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call.error(tool, **arguments, confirm=True)

    def posts(self) -> list[tuple[str, Any]]:
        """Path below the version, and body, of every POST that writes."""
        return [
            (unquote(one.path).partition("/v1.0")[2], json.loads(one.body))
            for one in self.graph.seen
            if one.method == "POST" and not one.path.endswith("/$batch")
        ]

    def selections(self) -> list[str]:
        """What was asked of single messages."""
        return [
            dict(one.params).get("$select", "")
            for one in self.graph.seen
            if one.method == "GET" and "/messages/" in one.path
        ]


@asynccontextmanager
async def office(graph: Recording, home: Path, scopes: Iterable[str] = SCOPES) -> AsyncIterator[Office]:
    number = next(NUMBERS)
    me, you = (graph.user(f"{who}{number}@contoso.example") for who in ("me", "you"))
    account = {
        "name": "mine",
        "provider": "graph",
        "address": me.address,
        "base_url": graph.base_url,
        "token": graph.token(me, scopes),
    }
    settings = build({"server": {"dialect": "graph"}, "accounts": [account]}, home=home)
    time = SetClock()
    server = build_server(partial(open_gateway, settings, clock=time.clock()), settings)
    async with Client(server) as client:
        gateway = server.gateway.opened
        assert gateway is not None
        graph.seen.clear()
        yield Office(Caller(client), graph, gateway, time, me, you)


@pytest.fixture
async def at(service, tmp_path):
    async with office(service, tmp_path) as opened:
        yield opened


def addresses(*emails: str) -> list[dict[str, Any]]:
    return [{"emailAddress": {"address": email}} for email in emails]


def inbox(user: Mailbox) -> list[str]:
    return [message.content.subject for message in user.within("inbox")]


async def test_send_mail_gets_the_body_that_the_contract_writes(at):
    mail = {**at.mail, "cc": ["a@contoso.example"], "bcc": ["b@contoso.example"], "importance": "high"}
    assert (await at.sent("send_email", **mail))["status"] == "sent"
    message = {
        "subject": "Angebot",
        "body": {"contentType": "Text", "content": "Guten Tag."},
        "toRecipients": addresses(at.you.address),
        "ccRecipients": addresses("a@contoso.example"),
        "bccRecipients": addresses("b@contoso.example"),
        "importance": "high",
    }
    assert at.posts() == [("/me/sendMail", {"message": message, "saveToSentItems": True})]


async def test_send_mail_names_what_was_left_out_by_its_default(at):
    await at.sent("send_email", **at.mail)
    ((_, body),) = at.posts()
    assert body == {
        "message": {
            "subject": "Angebot",
            "body": {"contentType": "Text", "content": "Guten Tag."},
            "toRecipients": addresses(at.you.address),
            "importance": "normal",
        },
        "saveToSentItems": True,
    }


async def test_html_and_no_copy_are_said_in_the_request(at):
    await at.sent("send_email", **{**at.mail, "body": "<p>Hallo</p>"}, body_type="html", save_to_sent_items=False)
    ((_, body),) = at.posts()
    assert body["message"]["body"] == {"contentType": "HTML", "content": "<p>Hallo</p>"}
    assert body["saveToSentItems"] is False


@pytest.mark.parametrize(("reply_all", "verb"), [(False, "reply"), (True, "replyAll")])
async def test_a_reply_is_one_post_with_a_comment_and_nothing_else(at, reply_all, verb):
    message_id = at.letter()
    assert (await at.sent("reply_email", message_id=message_id, comment="Ja.", reply_all=reply_all))["status"] == "sent"
    assert at.posts() == [(f"/me/messages/{message_id}/{verb}", {"comment": "Ja."})]
    assert inbox(at.you) == ["RE: Besprechung"]


@pytest.mark.parametrize("comment", [{}, {"comment": "Zur Info."}], ids=["without", "with"])
async def test_a_forward_is_one_post_whose_comment_is_there_only_if_there_is_one(at, comment):
    message_id = at.letter()
    to = [at.you.address, at.me.address]
    assert (await at.sent("forward_email", message_id=message_id, to=to, **comment))["status"] == "sent"
    assert at.posts() == [(f"/me/messages/{message_id}/forward", {**comment, "toRecipients": addresses(*to)})]


async def test_the_preview_of_a_reply_reads_the_original_by_its_fields_and_posts_nothing(at):
    """Beside the contract's four fields: `replyTo`, for it decides who gets the reply."""
    message_id = at.letter()
    result = await at.call("reply_email", message_id=message_id, comment="Ja.", reply_all=True)
    assert is_preview(result)
    assert "subject,from,toRecipients,ccRecipients,replyTo" in at.selections()
    assert f"Antwort auf: Besprechung (von Bob <{at.you.address}>)" in text_of(result)
    assert result.structured_content["preview"]["cc"] == ["carol@demo.example"]
    assert at.posts() == []


@pytest.mark.parametrize(("raw", "files"), [(WITH_FILE, "ja"), (PLAIN, "nein")])
async def test_the_preview_of_a_forward_reads_the_contract_s_three_fields_and_posts_nothing(at, raw, files):
    message_id = at.letter(raw)
    result = await at.call("forward_email", message_id=message_id, to=[at.me.address])
    assert is_preview(result)
    assert "subject,from,hasAttachments" in at.selections()
    assert f"Anhänge: {files}." in text_of(result)
    assert at.posts() == []


async def test_user_id_goes_to_that_user_s_endpoints(at):
    shared = at.graph.user(f"sales{next(NUMBERS)}@contoso.example")
    shared.delegates.add(at.me.address)
    message_id = str(at.graph.deliver(shared, PLAIN.encode()).immutable_id)
    user = {"user_id": shared.address}
    await at.sent("send_email", **at.mail, **user)
    await at.sent("reply_email", message_id=message_id, comment="Ja.", **user)
    await at.sent("forward_email", message_id=message_id, to=[at.you.address], **user)
    base = f"/users/{shared.address}"
    assert [path for path, _ in at.posts()] == [
        f"{base}/sendMail",
        f"{base}/messages/{message_id}/reply",
        f"{base}/messages/{message_id}/forward",
    ]


@pytest.mark.parametrize("tool", ["send_email", "reply_email", "forward_email"])
async def test_without_the_scope_each_tool_says_which_one_is_missing(service, tmp_path, tool):
    async with office(service, tmp_path, SCOPES - {"Mail.Send"}) as at:
        message_id = at.letter()
        arguments = {
            "send_email": at.mail,
            "reply_email": {"message_id": message_id, "comment": "Ja."},
            "forward_email": {"message_id": message_id, "to": [at.you.address]},
        }[tool]
        error = await at.refusal(tool, **arguments)
        assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send")
        assert inbox(at.you) == []


async def test_a_login_that_may_send_and_nothing_else_sends(service, tmp_path):
    async with office(service, tmp_path, {"Mail.Send"}) as at:
        assert (await at.sent("send_email", **at.mail))["status"] == "sent"
        assert inbox(at.you) == ["Angebot"]
        error = await at.call.error("list_emails")
        assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Read")


async def test_another_user_s_mailbox_without_rights_or_without_existence_is_named_as_such(at):
    stranger = at.graph.user(f"stranger{next(NUMBERS)}@contoso.example")
    error = await at.refusal("send_email", **at.mail, user_id=stranger.address)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send.Shared")
    error = await at.call.error("list_emails", user_id=stranger.address)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Read.Shared")
    error = await at.refusal("send_email", **at.mail, user_id="nobody@contoso.example")
    assert error["code"] == "NotFoundError"
    assert inbox(at.you) == []


async def test_a_message_with_attachments_leaves_no_copy_where_none_is_wanted(at):
    file = {"name": "plan.pdf", "content_base64": base64.b64encode(b"%PDF").decode()}
    sent = await at.sent("send_email", **at.mail, attachments=[file], save_to_sent_items=False)
    assert (sent["status"], sent.get("warnings")) == ("sent", None)
    assert (inbox(at.you), at.me.within("sentitems")) == (["Angebot"], [])


async def test_a_recipient_that_graph_refuses_is_a_validation_error(at):
    at.graph.unresolvable.add("weg@contoso.example")
    for tool, arguments in (
        ("send_email", {**at.mail, "to": ["weg@contoso.example"]}),
        ("forward_email", {"message_id": at.letter(), "to": ["weg@contoso.example"]}),
    ):
        error = await at.refusal(tool, **arguments)
        assert error["code"] == "ValidationError"
        assert "ErrorInvalidRecipients" in error["message"]


async def test_an_original_that_is_gone_when_it_is_answered_is_not_found(at):
    message_id = at.letter()
    at.graph.fail_next("POST", "messages.reply", status=404, reason="ErrorItemNotFound")
    assert (await at.refusal("reply_email", message_id=message_id, comment="Ja."))["code"] == "NotFoundError"
    with at.graph.lock:
        at.me.remove(at.me.message(message_id))
    for tool, more in (("reply_email", {"comment": "Ja."}), ("forward_email", {"to": [at.you.address]})):
        assert (await at.refusal(tool, message_id=message_id, **more))["code"] == "NotFoundError"


async def test_a_request_that_graph_finds_too_large_is_a_validation_error_with_its_size(at):
    at.graph.fail_next("POST", "sendMail", status=413)
    error = await at.refusal("send_email", **{**at.mail, "body": "x" * 90_000})
    assert (error["code"], error["details"]["status"]) == ("ValidationError", 413)
    assert error["details"]["size"] > 90_000


async def test_retry_after_is_kept_and_the_message_leaves_once(at):
    at.graph.fail_next("POST", "sendMail", status=429, retry_after=1)  # which the client itself waits for
    error = await at.refusal("send_email", **at.mail)
    assert error["code"] == "RateLimitError"
    await worker.work_once(at.gateway)
    assert inbox(at.you) == []
    at.time.pass_(error["retryAfter"] + 1)
    await worker.work_once(at.gateway)
    assert inbox(at.you) == ["Angebot"]


async def test_the_same_key_is_one_request(at):
    for status in ("sent", "already_executed"):
        assert (await at.sent("send_email", **at.mail, idempotency_key="k1"))["status"] == status
    assert len(at.posts()) == 1


async def test_a_message_with_attachments_arrives_with_them(at):
    file = {"name": "plan.pdf", "content_base64": base64.b64encode(b"%PDF").decode(), "content_type": "application/pdf"}
    assert (await at.sent("send_email", **at.mail, attachments=[file]))["status"] == "sent"
    (received,) = at.you.within("inbox")
    assert b'filename="plan.pdf"' in received.raw


async def test_from_sending_over_sent_items_to_reply_and_forward(at):
    """End to end on two mailboxes: what was sent is found, answered in its thread, and forwarded."""
    await at.sent("send_email", **at.mail)
    (copy,) = (await at.call.ok("list_emails", folder="sentitems"))["emails"]
    assert copy["subject"] == "Angebot"
    message_id = at.letter()
    (found,) = (await at.call.ok("search_emails", query="subject:Besprechung"))["emails"]
    assert found["message_id"] == message_id
    await at.sent("reply_email", message_id=message_id, comment="Ja.")
    await at.sent("forward_email", message_id=message_id, to=[at.you.address])
    assert sorted(inbox(at.you)) == ["Angebot", "FW: Besprechung", "RE: Besprechung"]


async def test_the_scenario_for_a_real_mailbox_works_and_leaves_nothing_behind(at):
    """The messages of an earlier run, which was interrupted, are removed too."""
    at.letter(PLAIN.replace("Besprechung", f"{PREFIX}alt"))
    await sent_answered_and_forwarded(at.gateway, at.call, at.me.address, at.you.address, "1")
    assert await clean_up(at.gateway, at.call) >= 5
    assert [message.content.subject for name in ("inbox", "sentitems") for message in at.me.within(name)] == []
