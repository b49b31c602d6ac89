"""google-api-python-client against the fake: every method, batches, uploads and errors, seen by Google's own code."""

from __future__ import annotations

import importlib.util
import io
import json
import re
from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
from typing import Any

import pytest
from tests.peers.daemon import require
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import decoded, encoded, written
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.methods import FULL, METHODS, READONLY, SETTINGS, SHARING
from tests.peers.gmail.official import official_client
from tests.peers.oauth.server import FakeAuthorizationServer

BOB = "bob@gmail.example"
BODIES = ("create", "send", "insert", "import_", "modify", "batchModify", "batchDelete")


@pytest.fixture
def users(gmail: FakeGmail, alice: Mailbox) -> Any:
    return official_client(gmail, gmail.token(alice, {FULL, SETTINGS, SHARING}, delegated=True)).users()


def refused(request: Any) -> tuple[int, str]:
    from googleapiclient.errors import HttpError

    with pytest.raises(HttpError) as caught:
        request.execute()
    return caught.value.resp.status, json.loads(caught.value.content)["error"]["errors"][0]["reason"]


def test_messages_are_listed_page_by_page_and_read_in_every_format(
    gmail: FakeGmail, alice: Mailbox, users: Any
) -> None:
    raw = written("Hello there", From="Bob <bob@x.example>", To=alice.address, Subject="Größe", Message_ID="<1@x>")
    stored = [gmail.deliver(alice, raw, when=1_700_000_000 + number) for number in range(3)]
    request, seen = users.messages().list(userId="me", maxResults=2), []
    while request is not None:
        answer = request.execute()
        seen += [message["id"] for message in answer["messages"]]
        request = users.messages().list_next(request, answer)
    assert seen == [message.id for message in reversed(stored)]

    def read(form: str, **more: Any) -> Any:
        return users.messages().get(userId="me", id=seen[0], format=form, **more).execute()

    assert decoded(read("raw")["raw"]) == stored[2].raw
    assert read("minimal").keys() >= {"id", "threadId", "labelIds", "snippet", "historyId", "internalDate"}
    assert "payload" not in read("minimal")
    subject = {"name": "Subject", "value": "Größe"}
    assert read("metadata", metadataHeaders=["subject"])["payload"]["headers"] == [subject]
    assert decoded(read("full")["payload"]["body"]["data"]).strip() == b"Hello there"
    assert read("full")["internalDate"] == "1700000002000"


def test_an_attachment_is_fetched_by_its_id(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    mail = EmailMessage()
    mail["Subject"] = "With a file"
    mail.set_content("see below")
    mail.add_attachment(b"\x00\x01\xff" * 50, maintype="application", subtype="pdf", filename="a.pdf")
    stored = gmail.deliver(alice, mail.as_bytes())
    parts = users.messages().get(userId="me", id=stored.id).execute()["payload"]["parts"]
    file = parts[1]
    assert (file["filename"], file["partId"], file["mimeType"]) == ("a.pdf", "1", "application/pdf")
    request = users.messages().attachments().get(userId="me", messageId=stored.id, id=file["body"]["attachmentId"])
    assert decoded(request.execute()["data"]) == b"\x00\x01\xff" * 50
    gmail.forget_attachment_ids(alice)
    assert refused(request) == (400, "invalidArgument")


def test_mail_is_sent_inserted_and_imported(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    bob = gmail.user(BOB)
    sent = users.messages().send(userId="me", body={"raw": encoded(written(To=BOB, Subject="Hi"))}).execute()
    assert sent["labelIds"] == ["SENT"]
    assert [message.subject for message in bob.labelled("INBOX")] == ["Hi"]
    dated = {"raw": encoded(written(Subject="Old", Date="Mon, 02 Jan 2006 15:04:05 +0000")), "labelIds": ["INBOX"]}
    inserted = users.messages().insert(userId="me", body=dated, internalDateSource="dateHeader").execute()
    imported = users.messages().import_(userId="me", body=dated, neverMarkSpam=True).execute()
    assert {alice.messages[each["id"]].internal_date for each in (inserted, imported)} == {1136214245000}


def test_messages_are_labelled_trashed_and_deleted(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    one, two = (gmail.deliver(alice, written(Subject=name)) for name in ("one", "two"))
    messages = users.messages()
    changed = messages.modify(userId="me", id=one.id, body={"addLabelIds": ["STARRED"], "removeLabelIds": ["UNREAD"]})
    assert changed.execute()["labelIds"] == ["INBOX", "STARRED"]
    both = {"ids": [one.id, two.id], "removeLabelIds": ["INBOX"]}
    assert not messages.batchModify(userId="me", body=both).execute()
    assert alice.labelled("INBOX") == []
    assert messages.trash(userId="me", id=one.id).execute()["labelIds"] == ["STARRED", "TRASH"]
    assert messages.untrash(userId="me", id=one.id).execute()["labelIds"] == ["STARRED"]
    assert not messages.delete(userId="me", id=one.id).execute()
    assert not messages.batchDelete(userId="me", body={"ids": [two.id]}).execute()
    assert alice.messages == {}
    assert refused(messages.get(userId="me", id=one.id)) == (404, "notFound")


def test_threads_are_listed_read_changed_and_deleted(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    first = gmail.deliver(alice, written(Subject="Plan", Message_ID="<1@x>"))
    gmail.deliver(alice, written(Subject="Re: Plan", Message_ID="<2@x>", In_Reply_To="<1@x>"))
    threads = users.threads()
    (line,) = threads.list(userId="me", q="subject:plan").execute()["threads"]
    assert line["id"] == first.thread_id
    assert len(threads.get(userId="me", id=line["id"], format="metadata").execute()["messages"]) == 2
    changed = threads.modify(userId="me", id=line["id"], body={"removeLabelIds": ["UNREAD"]}).execute()
    assert [message["labelIds"] for message in changed["messages"]] == [["INBOX"], ["INBOX"]]
    assert all("TRASH" in one["labelIds"] for one in threads.trash(userId="me", id=line["id"]).execute()["messages"])
    threads.untrash(userId="me", id=line["id"]).execute()
    threads.delete(userId="me", id=line["id"]).execute()
    assert "threads" not in threads.list(userId="me").execute()


def test_a_draft_lives_from_create_to_send(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    drafts = users.drafts()
    made = drafts.create(userId="me", body={"message": {"raw": encoded(written(To=BOB, Subject="v1"))}}).execute()
    body = {"message": {"raw": encoded(written(To=BOB, Subject="v2"))}}
    updated = drafts.update(userId="me", id=made["id"], body=body).execute()
    assert updated["id"] == made["id"]
    assert updated["message"]["id"] != made["message"]["id"]
    assert [one["message"]["id"] for one in drafts.list(userId="me").execute()["drafts"]] == [updated["message"]["id"]]
    read = drafts.get(userId="me", id=made["id"], format="raw").execute()
    assert b"Subject: v2" in decoded(read["message"]["raw"])
    sent = drafts.send(userId="me", body={"id": made["id"]}).execute()
    assert sent["id"] != updated["message"]["id"]
    assert sent["threadId"] == updated["message"]["threadId"]
    assert sent["labelIds"] == ["SENT"]
    assert refused(drafts.get(userId="me", id=made["id"])) == (404, "notFound")
    assert [mail.external for mail in gmail.sent] == [(BOB,)]
    other = drafts.create(userId="me", body={"message": {"raw": encoded(written(Subject="no one yet"))}}).execute()
    assert refused(drafts.send(userId="me", body={"id": other["id"]})) == (400, "invalidArgument")
    drafts.delete(userId="me", id=other["id"]).execute()
    assert alice.drafts == {}


def test_labels_are_made_changed_and_removed(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    labels = users.labels()
    color = {"textColor": "#000000", "backgroundColor": "#ffffff"}
    made = labels.create(userId="me", body={"name": "Work/Clients", "color": color}).execute()
    gmail.deliver(alice, written(Subject="x"), labels={"INBOX", "UNREAD", made["id"]})
    read = labels.get(userId="me", id=made["id"]).execute()
    assert (read["messagesTotal"], read["threadsUnread"], read["color"]) == (1, 1, color)
    patched = labels.patch(userId="me", id=made["id"], body={"labelListVisibility": "labelHide"}).execute()
    assert (patched["name"], patched["labelListVisibility"]) == ("Work/Clients", "labelHide")
    labels.update(userId="me", id=made["id"], body={"name": "Work", "id": made["id"]}).execute()
    assert "Work" in [label["name"] for label in labels.list(userId="me").execute()["labels"]]
    assert refused(labels.create(userId="me", body={"name": "work"})) == (409, "aborted")
    labels.delete(userId="me", id=made["id"]).execute()
    assert alice.labelled(made["id"]) == []


def test_history_is_read_and_a_stale_id_is_not_found(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    start = users.getProfile(userId="me").execute()["historyId"]
    message = gmail.deliver(alice, written(Subject="new"))
    users.messages().modify(userId="me", id=message.id, body={"removeLabelIds": ["UNREAD"]}).execute()
    history = users.history()
    request, kinds = history.list(userId="me", startHistoryId=start, maxResults=1), []
    while request is not None:
        answer = request.execute()
        kinds += [set(entry) - {"id", "messages"} for entry in answer["history"]]
        request = history.list_next(request, answer)
    assert kinds == [{"messagesAdded"}, {"labelsRemoved"}]
    added = history.list(userId="me", startHistoryId=start, historyTypes=["messageAdded"], labelId="INBOX").execute()
    assert len(added["history"]) == 1
    gmail.forget_history(alice)
    assert refused(history.list(userId="me", startHistoryId=start)) == (404, "notFound")


def test_settings_are_read_and_written(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    settings = users.settings()
    alias = {"sendAsEmail": "sales@gmail.example", "displayName": "Sales"}
    assert settings.sendAs().create(userId="me", body=alias).execute()["verificationStatus"] == "accepted"
    patched = settings.sendAs().patch(userId="me", sendAsEmail=alias["sendAsEmail"], body={"isDefault": True}).execute()
    assert patched["isDefault"]
    settings.sendAs().update(userId="me", sendAsEmail=alice.address, body={"signature": "A."}).execute()
    listed = settings.sendAs().list(userId="me").execute()["sendAs"]
    assert [entry.get("isDefault", False) for entry in listed] == [False, True]
    settings.sendAs().delete(userId="me", sendAsEmail=alias["sendAsEmail"]).execute()
    assert refused(settings.sendAs().get(userId="me", sendAsEmail=alias["sendAsEmail"])) == (404, "notFound")
    rule = {"criteria": {"from": "news@x.example"}, "action": {"addLabelIds": ["STARRED"], "removeLabelIds": ["INBOX"]}}
    made = settings.filters().create(userId="me", body=rule).execute()
    assert settings.filters().get(userId="me", id=made["id"]).execute() == made
    assert settings.filters().list(userId="me").execute() == {"filter": [made]}
    settings.filters().delete(userId="me", id=made["id"]).execute()
    assert settings.filters().list(userId="me").execute() == {}
    away = {"enableAutoReply": True, "responseSubject": "Away", "startTime": "1700000000000"}
    assert (
        settings.updateVacation(userId="me", body=away).execute() == settings.getVacation(userId="me").execute() == away
    )


def test_a_batch_answers_each_call_by_itself(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    from googleapiclient.http import BatchHttpRequest

    stored = [gmail.deliver(alice, written(f"Grüße {number}", Subject="x")) for number in range(3)]
    answers: dict[str, Any] = {}
    batch = BatchHttpRequest(
        callback=lambda number, answer, error: answers.update({number: error or answer}),
        batch_uri=f"{gmail.url}/batch/gmail/v1",
    )
    for message in stored:
        batch.add(users.messages().get(userId="me", id=message.id), request_id=message.id)
    batch.add(users.messages().get(userId="me", id="19ffffffffffffff"), request_id="absent")
    batch.add(
        users.messages().modify(userId="me", id=stored[0].id, body={"addLabelIds": ["STARRED"]}), request_id="put"
    )
    gmail.fail_next("POST", "messages.modify", status=429, reason="rateLimitExceeded")
    batch.execute()
    assert [answers[message.id]["snippet"] for message in stored] == ["Grüße 0", "Grüße 1", "Grüße 2"]
    assert answers["absent"].resp.status == 404
    assert answers["put"].resp.status == 429
    assert [recorded.operation for recorded in gmail.requests if recorded.in_batch].count("messages.get") == 4


def upload(content: bytes, *, resumable: bool, piece: int = -1) -> Any:
    from googleapiclient.http import MediaIoBaseUpload

    return MediaIoBaseUpload(io.BytesIO(content), "message/rfc822", chunksize=piece, resumable=resumable)


@pytest.mark.parametrize("resumable", [False, True])
def test_messages_are_uploaded_alone_and_with_metadata(
    gmail: FakeGmail, alice: Mailbox, users: Any, resumable: bool
) -> None:
    raw = written("Grüße", To=BOB, Subject="Uploaded")
    users.messages().send(userId="me", media_body=upload(raw, resumable=resumable)).execute()
    first = alice.labelled("SENT")[0]
    reply = written("Ja", To=BOB, Subject="Re: Uploaded", In_Reply_To=first.message_id)
    body = {"message": {"threadId": first.thread_id}}
    draft = users.drafts().create(userId="me", body=body, media_body=upload(reply, resumable=resumable)).execute()
    assert draft["message"]["threadId"] == first.thread_id
    changed = upload(reply + b"!", resumable=resumable)
    users.drafts().update(userId="me", id=draft["id"], body=body, media_body=changed).execute()
    users.drafts().send(userId="me", body={"id": draft["id"]}).execute()
    assert [message.thread_id for message in alice.labelled("SENT")] == [first.thread_id] * 2
    kept = users.messages().insert(
        userId="me", body={"labelIds": ["INBOX"]}, media_body=upload(reply, resumable=resumable)
    )
    assert alice.messages[kept.execute()["id"]].labels == {"INBOX"}
    assert users.messages().import_(userId="me", media_body=upload(raw, resumable=resumable)).execute()["id"]


def test_a_large_upload_goes_in_pieces(gmail: FakeGmail, alice: Mailbox, users: Any) -> None:
    raw = written("line\n" * 150_000, To=BOB, Subject="Large")
    request = users.messages().send(userId="me", media_body=upload(raw, resumable=True, piece=262_144))
    steps = 0
    answer = None
    while answer is None:
        _, answer = request.next_chunk()
        steps += 1
    assert steps > 2
    assert alice.messages[answer["id"]].raw.endswith(b"line\r\n")


def test_an_upload_beyond_the_limit_is_refused(gmail: FakeGmail, users: Any) -> None:
    gmail.upload_limit = 1000
    raw = written("x" * 2000, To=BOB, Subject="Large")
    for resumable in (False, True):
        assert refused(users.messages().send(userId="me", media_body=upload(raw, resumable=resumable)))[0] == 413
    assert refused(users.messages().send(userId="me", body={"raw": encoded(raw)})) == (413, "uploadTooLarge")
    assert gmail.sent == []


def test_a_search_that_is_too_long_for_an_address_goes_in_the_body(
    gmail: FakeGmail, alice: Mailbox, users: Any
) -> None:
    message = gmail.deliver(alice, written(Subject="needle"))
    query = " OR ".join(["ü" * 120] * 8 + ["subject:needle"])
    found = users.messages().list(userId="me", q=query).execute()
    assert [one["id"] for one in found["messages"]] == [message.id]
    assert gmail.requests[-1].method == "POST"


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda gmail, alice: gmail.token(alice, lifetime=-1), (401, "authError")),
        (lambda gmail, alice: "ya29.unknown", (401, "authError")),
        (lambda gmail, alice: gmail.token(alice, {READONLY}), (403, "insufficientPermissions")),
    ],
)
def test_errors_carry_a_reason(
    gmail: FakeGmail, alice: Mailbox, ask: Callable[..., str], expected: tuple[int, str]
) -> None:
    client = official_client(gmail, ask(gmail, alice))
    assert refused(client.users().labels().create(userId="me", body={"name": "x"})) == expected


def test_another_users_mailbox_is_closed(gmail: FakeGmail, users: Any) -> None:
    gmail.user(BOB)
    assert refused(users.messages().list(userId=BOB)) == (403, "forbidden")


@pytest.mark.parametrize("name", METHODS)
def test_the_client_can_call_every_method(gmail: FakeGmail, users: Any, name: str) -> None:
    """With ids of nothing, so that most are refused: in Google's words, by the method that was meant."""
    from googleapiclient.errors import HttpError

    *resources, verb = name.replace("import", "import_").split(".")
    place = users
    for resource in resources:
        place = getattr(place, resource)()
    given = dict.fromkeys(re.findall(r"{(\w+)}", METHODS[name].path), "19a0000000000001")
    body: dict[str, Any] = {"body": {}} if METHODS[name].verb in ("PUT", "PATCH") or verb in BODIES else {}
    start = {"startHistoryId": "1000000"} if name == "history.list" else {}
    with suppress(HttpError):
        getattr(place, verb)(userId="me", **given, **body, **start).execute()
    (recorded,) = gmail.requests
    assert (recorded.operation, recorded.status in (200, 204, 400, 404)) == (name, True)


def test_every_method_of_the_fake_is_one_of_googles_with_the_same_path_and_scopes(gmail: FakeGmail) -> None:
    if gmail.discovery is None:
        require("Google's discovery document is neither beside the repository nor in an installed client")
    assert gmail.discovery is not None
    for method in METHODS.values():
        theirs = gmail.discovery.methods[method.name]
        assert (theirs["httpMethod"], theirs["path"]) == (method.verb, f"gmail/v1/users/{{userId}}/{method.path}")
        assert {scope for scope in theirs["scopes"] if "addons" not in scope} == method.scopes
        limit = theirs.get("mediaUpload", {}).get("maxSize")
        assert limit == (None if method.upload_limit is None else str(method.upload_limit))


def test_the_client_refreshes_its_token_at_the_fake_authorisation_server(gmail: FakeGmail, alice: Mailbox) -> None:
    official_client(gmail)
    from google.auth.exceptions import RefreshError
    from google.oauth2.credentials import Credentials

    with FakeAuthorizationServer.started() as oauth:
        gmail.tokens = oauth.tokens
        client = oauth.register("postroom", secret="s3cret")
        granted = oauth.grant(client, alice.address, {FULL})
        credentials = Credentials(  # type: ignore[no-untyped-call]
            None, granted, token_uri=oauth.address("token"), client_id=client.id, client_secret=client.secret
        )
        profile = official_client(gmail, credentials=credentials).users().getProfile(userId="me")
        assert profile.execute()["emailAddress"] == alice.address
        oauth.tokens.revoke(str(credentials.token))
        assert profile.execute()["emailAddress"] == alice.address
        assert [recorded.status for recorded in gmail.requests] == [200, 401, 200]
        assert oauth.count("token") == 2
        oauth.revoke_user(alice.address)
        with pytest.raises(RefreshError, match="invalid_grant"):
            profile.execute()


def test_without_the_client_these_tests_are_skipped_and_on_a_build_machine_they_fail(
    gmail: FakeGmail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make official-clients"):
        official_client(gmail, "token")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make official-clients"):
        official_client(gmail, "token")
