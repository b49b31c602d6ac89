"""The requests of the graph dialect to Microsoft Graph, word for word as its contract writes them."""

from __future__ import annotations

import pytest
from tests.dialects.graph_desk import PLAIN, WITH_FILE, is_preview
from tests.dialects.graph_office import NUMBERS, addresses, inbox
from tests.flows.caller import text_of
from tests.peers.graph.caller import quoted


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


async def test_attachments_of_the_original_go_along_with_a_forward(at):
    await at.sent("forward_email", message_id=at.letter(WITH_FILE), to=[at.you.address])
    (received,) = at.you.within("inbox")
    assert [(file.name, file.content) for file in received.content.files] == [("plan.pdf", b"Plan")]


@pytest.mark.parametrize("reply_all", [False, True])
async def test_the_preview_of_a_reply_reads_the_contract_s_four_fields_and_posts_nothing(at, reply_all):
    message_id = at.letter()
    result = await at.call("reply_email", message_id=message_id, comment="Ja.", reply_all=reply_all)
    assert is_preview(result)
    place = f"/me/messages/{quoted(message_id)}"
    assert f"{place}?$select=subject,from,toRecipients,ccRecipients" in at.requests("GET")
    assert f"Antwort auf: Besprechung (von Bob <{at.you.address}>)" in text_of(result)
    assert result.structured_content["preview"].get("cc") == (["carol@demo.example"] if reply_all else None)
    assert at.posts() == []


async def test_whom_reply_to_names_is_asked_apart_and_shown_in_place_of_the_sender(at):
    """The contract's four fields do not say whom a reply reaches."""
    message_id = at.letter(PLAIN.replace("Subject:", "Reply-To: liste@demo.example\r\nSubject:"))
    for reply_all, everyone in ((False, {"liste@demo.example"}), (True, {"liste@demo.example", "carol@demo.example"})):
        at.graph.seen.clear()
        arguments = {"message_id": message_id, "comment": "Ja.", "reply_all": reply_all}
        preview = (await at.call.ok("reply_email", **arguments))["preview"]
        assert f"/me/messages/{quoted(message_id)}?$select=replyTo" in at.requests("GET")
        assert (preview["to"], {*preview["to"], *preview.get("cc", ())}) == (["liste@demo.example"], everyone)
        assert (await at.sent("reply_email", **arguments))["recipientCount"] == len(everyone)
        assert set(at.graph.sent[-1].recipients) == everyone


@pytest.mark.parametrize(("raw", "files"), [(WITH_FILE, "ja"), (PLAIN, "nein")])
async def test_the_preview_of_a_forward_reads_the_contract_s_three_fields_and_posts_nothing(at, raw, files):
    message_id = at.letter(raw)
    result = await at.call("forward_email", message_id=message_id, to=[at.me.address])
    assert is_preview(result)
    assert f"/me/messages/{quoted(message_id)}?$select=subject,from,hasAttachments" in at.requests("GET")
    assert f"Anhänge: {files}." in text_of(result)
    assert at.posts() == []


async def test_user_id_goes_to_that_user_s_endpoints(at):
    shared = at.graph.user(f"sales{next(NUMBERS)}@contoso.example")
    shared.delegates.add(at.me.address)
    message_id = str(at.graph.deliver(shared, PLAIN.encode()).immutable_id)
    user = {"user_id": shared.address}
    calls = {
        "send_email": at.mail,
        "reply_email": {"message_id": message_id, "comment": "Ja."},
        "forward_email": {"message_id": message_id, "to": [at.you.address]},
    }
    for tool, arguments in calls.items():
        assert is_preview(await at.call(tool, **arguments, **user))
    base = f"/users/{quoted(shared.address)}"
    place = f"{base}/messages/{quoted(message_id)}"
    assert {
        f"{place}?$select=subject,from,toRecipients,ccRecipients",
        f"{place}?$select=subject,from,hasAttachments",
    } <= set(at.requests("GET"))
    for tool, arguments in calls.items():
        await at.sent(tool, **arguments, **user)
    assert [path for path in at.requests("POST") if not path.endswith("/$batch")] == [
        f"{base}/sendMail",
        f"{place}/reply",
        f"{place}/forward",
    ]
    assert all(path.startswith(base) for path in at.requests("GET") if "/messages" in path)


async def test_what_is_posted_is_json_with_the_token_and_the_wish_for_lasting_ids_and_nothing_else(at):
    await at.sent("send_email", **at.mail)
    await at.sent("reply_email", message_id=at.letter(), comment="Ja.")
    posts = [one for one in at.graph.seen if one.method == "POST" and not one.path.endswith("/$batch")]
    usual = {"host", "accept", "accept-encoding", "connection", "user-agent", "content-length"}
    for post in posts:
        assert set(post.headers) - usual == {"authorization", "content-type", "prefer"}
        assert (post.header("content-type"), post.header("prefer")) == ("application/json", 'IdType="ImmutableId"')
        assert post.query == ""
