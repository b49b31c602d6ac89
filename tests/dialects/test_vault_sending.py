"""The vault dialect, line by line: sending and replying. `docs/contracts/vault.md` maps it to tests."""

from __future__ import annotations

import re

import anyio
import pytest
from tests.dialects.vault_rig import Peers, desk_on, ids_in, letter, on_local, out_of_reach
from tests.peers import memory_mailbox

from postroom.providers import registry
from postroom.service.reading import search
from postroom.settings import load

NOTES = {"to": "bob@demo.example", "subject": "Meeting notes", "body": "Hi Bob"}
NO_APPROVAL = (
    "Rejected: No matching approval file found in vault/Approved/ for sending to {}. "
    "Create an approval file with type: email_send and move it to vault/Approved/."
)
NO_APPROVAL_TO_REPLY = (
    "Rejected: No matching approval file found in vault/Approved/ for replying to thread {}. "
    "Create an approval file with type: email_reply and move it to vault/Approved/."
)
NO_THREAD = "Error: Thread ID {} not found or no longer accessible."
FULL = r"Rejected: Rate limit exceeded \(1 emails/hour\)\. Next send available in (60|[1-5]?\d) minutes\."


@pytest.fixture
async def local(tmp_path):
    async with desk_on(on_local(), tmp_path) as desk:
        yield desk


async def original(desk, **headers):
    """An email from bob to alice, as a search shows it."""
    await desk.put(letter(sender=headers.pop("sender", f"Bob <{desk.peers.bob}>"), To=desk.peers.alice, **headers))
    message, thread = await desk.found("offer")
    return {"message_id": message, "thread_id": thread, "body": "Gladly"}


# --- send_email


async def test_an_approved_email_is_sent_and_its_approval_is_consumed(desk):
    desk.approve(to=desk.peers.bob)
    text = await desk("send_email", to=desk.peers.bob, subject="Meeting notes", body="Hi Bob")
    assert not desk.failed
    (sent,) = (await search.list_emails(desk.gateway, mailbox="sent")).results
    assert text == f"Email sent successfully. Message ID: {sent.email_id} Thread ID: {sent.thread_id}"
    assert (desk.in_vault("Approved"), desk.in_vault("Done")) == ([], ["go.md"])
    mail = await desk.one_received()
    assert (mail["To"], mail["Subject"], mail.get_content_type()) == (desk.peers.bob, "Meeting notes", "text/plain")
    assert mail.get_content().strip() == "Hi Bob"
    assert [entry[:2] for entry in desk.audit()] == [("send_email", "success")]


async def test_a_file_without_effect_is_mentioned_after_the_sentence_and_not_in_it(desk):
    desk.approve(to="Bob <bob@demo.example>")
    await desk("send_email", to="bob@demo.example", subject="x", body="y")
    sentence, notice = (block.text for block in desk.results[-1].content)
    assert sentence.endswith("move it to vault/Approved/.")
    assert notice.startswith("Notice: Files in vault/Approved/ that have no effect: 1.")


async def test_without_an_approval_nothing_is_sent_and_nothing_waits(desk):
    text = await desk("send_email", to="john@example.com", subject="Meeting notes", body="Hi")
    assert desk.failed
    assert text == NO_APPROVAL.format("j***@example.com")
    assert desk.in_vault("Pending_Approval") == []
    assert desk.gateway.store.outbox.list(limit=10).total == 0
    assert [entry[:3] for entry in desk.audit()] == [("send_email", "rejected", "j***@example.com")]


async def test_the_call_that_was_rejected_is_sent_once_the_approval_is_there(local):
    assert await local("send_email", **NOTES) == NO_APPROVAL.format("b***@demo.example")
    local.approve(to="bob@demo.example")
    assert (await local("send_email", **NOTES)).startswith("Email sent successfully. ")


async def test_a_consumed_approval_sends_nothing_again(local):
    local.approve(to="bob@demo.example")
    assert (await local("send_email", **NOTES)).startswith("Email sent successfully. ")
    assert await local("send_email", **NOTES) == NO_APPROVAL.format("b***@demo.example")
    assert len(await local.received()) == 1


async def test_every_call_with_an_approval_sends_a_new_email(local):
    for name in ("one.md", "two.md"):
        local.approve(name=name, to="bob@demo.example")
    first, second = [ids_in(await local("send_email", **NOTES)) for _ in range(2)]
    assert first != second
    assert len(await local.received()) == 2
    assert local.in_vault("Done") == ["one.md", "two.md"]


@pytest.mark.parametrize(
    ("kind", "status", "keys"),
    [
        ("email_reply", "approved", {"to": "bob@demo.example"}),
        ("email_send", "pending", {"to": "bob@demo.example"}),
        ("email_send", "approved", {"to": "carol@demo.example"}),
        ("email_send", "approved", {}),
        ("email_send", "approved", {"thread_id": "bob@demo.example"}),
    ],
    ids=["another type", "another status", "another recipient", "nobody named", "a thread instead"],
)
async def test_an_approval_counts_only_with_type_status_and_recipient(local, kind, status, keys):
    local.approve(kind, status=status, **keys)
    assert await local("send_email", **NOTES) == NO_APPROVAL.format("b***@demo.example")
    assert local.in_vault("Approved") == ["go.md"]
    assert await local.received() == []


async def test_a_full_hour_is_said_in_minutes_and_keeps_the_approval(tmp_path):
    async with desk_on(on_local(), tmp_path, sends_per_hour=1) as desk:
        desk.approve(to="bob@demo.example")
        await desk("send_email", **NOTES)
        assert await desk("send_email", **NOTES) == NO_APPROVAL.format("b***@demo.example"), "the approval comes first"
        desk.approve(to="bob@demo.example")
        assert re.fullmatch(FULL, await desk("send_email", **NOTES))
        assert desk.failed
        assert desk.in_vault("Approved") == ["go.md"]
        reply = await original(desk)
        desk.approve("email_reply", "re.md", thread_id=reply["thread_id"])
        assert re.fullmatch(FULL, await desk("reply_email", **reply))
        assert desk.in_vault("Approved") == ["go.md", "re.md"]
        results = [entry[:2] for entry in desk.audit() if entry[0] != "search_email"]
        assert results[-2:] == [("send_email", "rate_limited"), ("reply_email", "rate_limited")]
        assert len(await desk.received()) == 1


async def test_ten_emails_an_hour_are_sent_and_no_more(local):
    for number in range(11):
        local.approve(name=f"{number}.md", to="bob@demo.example")
        text = await local("send_email", **{**NOTES, "subject": f"No. {number}"})
        assert text.startswith(
            "Email sent successfully." if number < 10 else "Rejected: Rate limit exceeded (10 emails"
        )
    assert len(await local.received()) == 10


async def test_in_dev_mode_a_send_is_logged_and_nothing_else_happens(tmp_path):
    async with desk_on(out_of_reach(), tmp_path, dev_mode=True) as desk:
        desk.approve(to="john@example.com")
        text = await desk("send_email", to="John <john@example.com>", subject="Meeting notes", body="Hi")
        assert text == "[DEV_MODE] Send logged but not executed. To: j***@example.com, Subject: Meeting notes"
        assert not desk.failed
        assert desk.in_vault("Approved") == ["go.md"]
        assert desk.audit() == [("send_email", "dev_mode", "j***@example.com", "")]
        await desk("send_email", to="jane@example.com", subject="Meeting notes", body="Hi")
        assert not desk.failed, "in dev mode nobody needs an approval"


def test_dev_mode_is_off_unless_it_is_set(tmp_path):
    path = tmp_path / "postroom.toml"
    path.write_text(
        '[server]\ndialect = "vault"\n[[accounts]]\nname = "a"\nprovider = "local"\naddress = "a@b.example"\n'
    )
    path.chmod(0o600)
    for value, is_on in (("", False), ("true", True), ("false", False)):
        assert load(path, environ={"DEV_MODE": value, "POSTROOM_HOME": str(tmp_path)}).safety.dev_mode is is_on


async def test_an_email_that_the_provider_refuses_says_so_and_keeps_the_approval(local):
    local.approve(to="nobody@elsewhere.example")
    text = await local("send_email", to="nobody@elsewhere.example", subject="x", body="y")
    assert local.failed
    assert text.startswith("Error sending email: The provider refused it; nothing was sent.")
    assert "Refused: nobody@elsewhere.example (" in text
    assert local.in_vault("Approved") == ["go.md"]


async def test_a_send_that_cannot_reach_the_provider_says_so_and_keeps_the_approval(tmp_path):
    async with desk_on(out_of_reach(), tmp_path) as desk:
        assert await desk("send_email", **NOTES) == NO_APPROVAL.format("b***@demo.example"), "before any connection"
        desk.approve(to="bob@demo.example")
        text = await desk("send_email", **NOTES)
        assert desk.failed
        assert text.startswith("Error sending email: ")
        assert desk.in_vault("Approved") == ["go.md"]


@pytest.mark.parametrize("wrong", [{"subject": ""}, {"body": " \n"}, {"subject": " "}, {"body": "x" * 100_001}])
async def test_bad_input_is_refused_before_the_approval_is_looked_at(local, wrong):
    local.approve(to="bob@demo.example")
    text = await local("send_email", **{**NOTES, **wrong})
    assert local.failed
    assert text.startswith("Error: ")
    assert local.in_vault("Approved") == ["go.md"]


async def test_a_looser_gate_in_the_settings_does_not_send_without_an_approval(tmp_path):
    async with desk_on(on_local(), tmp_path, gate="confirm") as desk:
        assert await desk("send_email", **NOTES) == NO_APPROVAL.format("b***@demo.example")


async def test_of_calls_at_the_same_moment_one_gets_the_approval(local):
    local.approve(to="bob@demo.example")
    said = []

    async def call(number):
        result = await local.client.call_tool("send_email", {**NOTES, "subject": f"No. {number}"})
        said.append(result.content[0].text.partition(" ")[0])

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(call, number)
    assert sorted(said) == ["Email", *["Rejected:"] * 5]
    assert len(await local.received()) == 1


async def test_an_email_that_is_held_back_is_not_said_to_be_sent(tmp_path):
    async with desk_on(on_local(), tmp_path, hold_seconds=3600) as desk:
        desk.approve(to="bob@demo.example")
        text = await desk("send_email", **NOTES)
        assert text == "Not sent yet: it is in the outbox and will be sent automatically. Do not send it again."
        assert await desk.received() == []


# --- reply_email


async def test_a_reply_goes_to_the_author_in_the_thread_under_one_re(desk):
    reply = await original(desk, References="<m0@example.test>")
    desk.approve("email_reply", thread_id=reply["thread_id"])
    text = await desk("reply_email", **reply)
    assert not desk.failed
    (sent,) = (await search.list_emails(desk.gateway, mailbox="sent")).results
    assert text == f"Reply sent successfully. Message ID: {sent.email_id} Thread ID: {reply['thread_id']}"
    assert sent.thread_id == reply["thread_id"]
    mail = await desk.one_received()
    assert mail["To"] == f"Bob <{desk.peers.bob}>"
    assert (mail["Subject"], mail["In-Reply-To"]) == ("Re: Offer", "<m1@example.test>")
    assert mail["References"].split() == ["<m0@example.test>", "<m1@example.test>"]
    assert mail.get_content().strip() == "Gladly"
    assert (desk.in_vault("Approved"), desk.in_vault("Done")) == ([], ["go.md"])
    assert desk.audit()[-1][:2] == ("reply_email", "success")


async def test_a_subject_that_has_its_re_gets_no_second_one(local):
    reply = await original(local, subject="Re: Offer")
    local.approve("email_reply", thread_id=reply["thread_id"])
    await local("reply_email", **reply)
    assert (await local.one_received())["Subject"] == "Re: Offer"


async def test_without_an_approval_no_reply_is_sent(desk):
    reply = await original(desk)
    assert await desk("reply_email", **reply) == NO_APPROVAL_TO_REPLY.format(reply["thread_id"])
    assert desk.failed
    assert desk.in_vault("Pending_Approval") == []
    assert desk.audit()[-1][:2] == ("reply_email", "rejected")


async def test_the_approval_of_a_reply_is_consumed_too(local):
    reply = await original(local)
    local.approve("email_reply", thread_id=reply["thread_id"])
    assert (await local("reply_email", **reply)).startswith("Reply sent successfully. ")
    assert await local("reply_email", **reply) == NO_APPROVAL_TO_REPLY.format(reply["thread_id"])
    assert len(await local.received()) == 1


async def test_the_approval_of_another_thread_type_or_status_releases_no_reply(local):
    reply = await original(local)
    local.approve("email_reply", "other.md", thread_id=reply["thread_id"] + "0")
    local.approve("email_send", "send.md", to="bob@demo.example", thread_id=reply["thread_id"])
    local.approve("email_reply", "pending.md", status="pending", thread_id=reply["thread_id"])
    local.approve("email_reply", "to.md", to="bob@demo.example")
    local.approve("email_reply", "carol.md", to="carol@demo.example", thread_id=reply["thread_id"])
    assert await local("reply_email", **reply) == NO_APPROVAL_TO_REPLY.format(reply["thread_id"])
    assert len(local.in_vault("Approved")) == 5


async def test_a_thread_or_message_that_is_gone_is_said_word_for_word(desk):
    reply = await original(desk)
    missing = {"local": "4711", "imap": reply["message_id"][:-1] + "99"}[desk.peers.accounts[0]["provider"]]
    desk.approve("email_reply", thread_id=reply["thread_id"])
    assert await desk("reply_email", **{**reply, "message_id": missing}) == NO_THREAD.format(reply["thread_id"])
    assert desk.failed
    desk.approve("email_reply", "gone.md", thread_id="18d5a")
    assert await desk("reply_email", **{**reply, "thread_id": "18d5a"}) == NO_THREAD.format("18d5a")
    assert await desk("reply_email", thread_id="18d5a", message_id="18d5b", body="x") == NO_THREAD.format("18d5a")
    assert desk.in_vault("Approved") == ["go.md", "gone.md"]
    assert await desk.received() == []


async def test_a_message_of_another_thread_is_not_answered_with_this_threads_approval(desk):
    reply = await original(desk)
    await desk.put(letter("Salary", f"Bob <{desk.peers.bob}>", Message_ID="<m7@example.test>", To=desk.peers.alice))
    other, _ = await desk.found("salary")
    desk.approve("email_reply", thread_id=reply["thread_id"])
    assert await desk("reply_email", **{**reply, "message_id": other}) == NO_THREAD.format(reply["thread_id"])
    assert desk.in_vault("Approved") == ["go.md"]


@pytest.mark.parametrize("odd", ["../../etc/passwd", "/", "..", "a\x07b", "x" * 5000, "", "vault/Approved/go.md", "💌"])
async def test_an_id_of_any_shape_is_only_compared(local, odd):
    reply = await original(local)
    for arguments in ({**reply, "thread_id": odd}, {**reply, "message_id": odd}):
        text = await local("reply_email", **arguments)
        assert local.failed
        assert text.startswith(("Rejected: No matching approval", "Error: Thread ID "))
        assert len(text) < 1000
    assert await local.received() == []


async def test_in_dev_mode_a_reply_is_logged_and_the_provider_is_not_asked(tmp_path):
    async with desk_on(out_of_reach(), tmp_path, dev_mode=True) as desk:
        text = await desk("reply_email", thread_id="18d5a", message_id="18d5b", body="ü" * 245)
        assert text == "[DEV_MODE] Reply logged but not executed. Thread: 18d5a, Body length: 245 chars"
        assert not desk.failed
        assert desk.audit() == [("reply_email", "dev_mode", "", "")]


async def test_a_reply_that_cannot_reach_the_provider_says_so_and_keeps_the_approval(tmp_path):
    async with desk_on(out_of_reach(), tmp_path) as desk:
        desk.approve("email_reply", thread_id="18d5a")
        text = await desk("reply_email", thread_id="18d5a", message_id="INBOX|1|1", body="x")
        assert desk.failed
        assert text.startswith("Error replying to thread: ")
        assert desk.in_vault("Approved") == ["go.md"]


async def test_a_reply_without_words_is_refused(local):
    reply = await original(local)
    local.approve("email_reply", thread_id=reply["thread_id"])
    assert (await local("reply_email", **{**reply, "body": " "})).startswith("Error: The body is empty.")
    assert local.in_vault("Approved") == ["go.md"]


async def test_a_reply_to_an_email_of_ones_own_goes_to_its_recipients(desk):
    sent = letter(sender=desk.peers.alice, To=f"Bob <{desk.peers.bob}>", Message_ID="<m3@example.test>")
    await desk.put(sent, "Sent")
    message, thread = await desk.found("in:sent offer")
    desk.approve("email_reply", thread_id=thread)
    assert (await desk("reply_email", thread_id=thread, message_id=message, body="And?")).startswith("Reply sent")
    assert (await desk.one_received())["To"] == f"Bob <{desk.peers.bob}>"


async def test_no_header_of_the_original_sends_the_reply_elsewhere(local):
    """The approval names a thread: whoever writes in it must not choose another reader."""
    reply = await original(local, Reply_To="mallory@demo.example", Cc="carol@demo.example")
    local.approve("email_reply", thread_id=reply["thread_id"])
    await local("reply_email", **reply)
    mail = await local.one_received()
    assert (mail["To"], mail["Cc"]) == ("Bob <bob@demo.example>", None)


# --- any provider


async def test_the_dialect_works_on_a_provider_that_has_only_what_each_must_have(tmp_path, monkeypatch):
    """No threads, no drafts, no ids of what was sent: a message is its own thread, and the Message-ID its name."""
    kind = memory_mailbox.KIND
    for table, name in (("MAILBOXES", "SharingMailbox"), ("TRANSPORTS", "MemoryTransport")):
        path = f"{memory_mailbox.__name__}:{name}"
        monkeypatch.setattr(registry, table, {**getattr(registry, table), kind: path})
    contents = memory_mailbox.Contents()
    monkeypatch.setattr(memory_mailbox.MemoryMailbox, "kept", {"alice@demo.example": contents})
    monkeypatch.setattr(memory_mailbox.MemoryTransport, "submitted", [])
    account = {"name": "alice", "provider": kind, "address": "alice@demo.example", "base_url": "http://127.0.0.1:1"}
    async with desk_on(Peers([account]), tmp_path) as desk:
        ref = contents.add(letter(sender="Bob <bob@demo.example>"), "INBOX")
        assert await desk.found("offer") == (ref, ref)
        desk.approve(to="bob@demo.example")
        desk.approve("email_reply", "re.md", thread_id=ref)
        ((message, thread),) = ids_in(await desk("send_email", **NOTES))
        assert message == thread
        assert (await desk("reply_email", thread_id=ref, message_id=ref, body="Gladly")).startswith("Reply sent")
        assert (await desk("draft_email", **NOTES)).startswith("Error creating draft: ")
        assert [request.envelope.recipients for _, request in memory_mailbox.MemoryTransport.submitted] == [
            ("bob@demo.example",),
            ("bob@demo.example",),
        ]
        assert desk.in_vault("Approved") == []
