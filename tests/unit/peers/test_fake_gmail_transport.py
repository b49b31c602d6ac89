"""Batches, uploads, partial answers: how calls travel to the fake Gmail."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller, done, encoded, refusal, written
from tests.peers.gmail.mailbox import Mailbox

BOB = "bob@gmail.example"


def batch(caller: Caller, *calls: str, path: str = "/batch/gmail/v1") -> httpx2.Response:
    parts = [
        f"--b\r\nContent-Type: application/http\r\nContent-ID: <call-{number}>\r\n\r\n{call}\r\n"
        for number, call in enumerate(calls)
    ]
    return caller.http.post(
        path, content="".join(parts) + "--b--", headers={"content-type": 'multipart/mixed; boundary="b"'}
    )


def inner(answer: httpx2.Response) -> dict[str, int]:
    """Content id -> status."""
    assert answer.status_code == 200, answer.text
    found = re.findall(r"Content-ID: <([^>]*)>\r\n\r\nHTTP/1\.1 (\d+) ", answer.text)
    return {name: int(status) for name, status in found}


def test_a_batch_gives_each_call_its_own_status_and_counts_it(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    stored = gmail.deliver(alice, written(Subject="x"))
    answer = batch(
        caller,
        f"GET /gmail/v1/users/me/messages/{stored.id}?format=minimal",
        "GET /gmail/v1/users/me/messages/19a0000000000001",
        'POST /gmail/v1/users/me/labels HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{"name": "New"}',
        "POST /upload/gmail/v1/users/me/messages/send",
        "DELETE /gmail/v1/users/me/labels/Label_1",
        "GET /gmail/v1/users/me/profile\r\nAuthorization: Bearer wrong\r\n\r\n",
    )
    assert inner(answer) == {
        "response-call-0": 200,
        "response-call-1": 404,
        "response-call-2": 200,
        "response-call-3": 404,
        "response-call-4": 204,
        "response-call-5": 401,
    }
    assert gmail.units(alice) == 5 + 5 + 5 + 5
    assert [recorded.in_batch for recorded in gmail.requests] == [False, *[True] * 6]


def test_a_batch_has_at_most_a_hundred_calls(gmail: FakeGmail, caller: Caller) -> None:
    call = "GET /gmail/v1/users/me/profile"
    assert len(inner(batch(caller, *[call] * 100))) == 100
    assert refusal(batch(caller, *[call] * 101))[:2] == (400, "badRequest")
    assert refusal(batch(caller))[0] == 400
    assert refusal(caller.http.post("/batch/gmail/v1", content=b"x"))[0] == 400
    assert inner(batch(caller, call, path="/batch")) == {"response-call-0": 200}


def test_quota_and_faults_reach_into_a_batch(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    call = "GET /gmail/v1/users/me/profile"
    gmail.fail_next("GET", "getProfile", status=503)
    assert list(inner(batch(caller, call, call)).values()) == [503, 200]
    gmail.quota.at_once = 3
    assert list(inner(batch(caller, *[call] * 5)).values()) == [200, 200, 200, 429, 429]
    gmail.quota.at_once, gmail.quota.per_user_per_minute = None, gmail.quota.spent(alice.address) + 1
    assert list(inner(batch(caller, call, call)).values()) == [200, 403]
    gmail.fail_next("POST", "batch", status=502)
    assert batch(caller, call).status_code == 502
    gmail.cut_next("GET", "getProfile")
    with pytest.raises(httpx2.TransportError):
        batch(caller, call)


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_call_in_a_batch_fails_before_or_after_its_effect(
    gmail: FakeGmail, alice: Mailbox, caller: Caller, after_effect: bool
) -> None:
    gmail.fail_next("POST", "labels.create", status=503, after_effect=after_effect)
    answer = batch(caller, 'POST /gmail/v1/users/me/labels\r\n\r\n{"name": "New"}')
    assert inner(answer) == {"response-call-0": 503}
    assert ("Label_1" in alice.labels) is after_effect


def put(caller: Caller, path: str, content: bytes, kind: str = "message/rfc822", **params: str) -> httpx2.Response:
    return caller.http.post(path, content=content, headers={"content-type": kind}, params=params)


def test_a_message_is_uploaded_as_it_is(alice: Mailbox, caller: Caller) -> None:
    raw = written("8-bit: Grüße", To=BOB, Subject="x")
    path = "/upload/gmail/v1/users/me/messages/send"
    done(put(caller, path, raw, uploadType="media"))
    (kept,) = alice.labelled("SENT")
    assert "Grüße".encode() in kept.raw
    assert refusal(put(caller, path, raw, "text/plain", uploadType="media"))[:2] == (400, "badContent")


def test_a_message_is_uploaded_beside_its_metadata(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    raw = written(Subject="x").replace(b"\n", b"\r\n")
    body = b'--q\r\nContent-Type: application/json\r\n\r\n{"labelIds": ["STARRED"]}\r\n'
    body += b"--q\r\nContent-Type: message/rfc822\r\n\r\n" + raw + b"\r\n--q--"
    path, kind = "/upload/gmail/v1/users/me/messages", "multipart/related; boundary=q"
    made = done(put(caller, path, body, kind, uploadType="multipart"))
    assert alice.messages[made["id"]].raw == raw
    assert alice.messages[made["id"]].labels == {"STARRED"}
    assert refusal(put(caller, path, b"--q--", kind, uploadType="multipart"))[0] == 400
    assert refusal(put(caller, path, body, "multipart/related", uploadType="multipart"))[0] == 400


def resumable(caller: Caller, **headers: str) -> httpx2.Response:
    path = "/resumable/upload/gmail/v1/users/me/messages/send"
    return caller.http.post(path, params={"uploadType": "resumable"}, headers=headers)


def test_an_upload_goes_on_where_it_stopped(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    raw = written("x" * 70 + "\n", To=BOB, Subject="x") + b"line\r\n" * 60_000
    place = resumable(caller).headers["location"]

    def piece(start: int, end: int) -> httpx2.Response:
        span = f"bytes {start}-{end - 1}/{len(raw)}" if end else f"bytes */{len(raw)}"
        return caller.http.put(place, content=raw[start:end] if end else b"", headers={"content-range": span})

    unit = 256 * 1024
    assert piece(0, unit).status_code == 308
    gmail.cut_next("PUT", "messages.send")
    with pytest.raises(httpx2.TransportError):
        piece(unit, len(raw))
    assert piece(0, 0).headers["range"] == f"bytes=0-{unit - 1}"
    assert refusal(piece(0, unit))[0] == 400
    assert done(piece(unit, len(raw)))["labelIds"] == ["SENT"]
    assert len(gmail.sent) == 1
    assert refusal(piece(0, 0))[0] == 404
    assert gmail.units(alice) == 100


def test_an_upload_is_refused_by_its_size(gmail: FakeGmail, alice: Mailbox, bob: Mailbox, caller: Caller) -> None:
    big = written("x" * 500, To=BOB, Subject="x")
    gmail.upload_limit = 400
    assert refusal(resumable(caller, **{"x-upload-content-length": "401"}))[:2] == (413, "uploadTooLarge")
    place = resumable(caller).headers["location"]
    assert caller.http.put(place, content=big).status_code == 413
    gmail.upload_limit, gmail.json_limit = None, 400
    assert refusal(caller.ask("POST", "messages/send", {"raw": encoded(big)}))[0] == 413
    assert gmail.sent == []
    with Caller(gmail, bob) as other:
        assert other.http.put(place, content=big).status_code == 404


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("messages/id", {"messages": [{"id": "*"}]}),
        ("messages(id,threadId),nextPageToken", {"messages": [{"id": "*", "threadId": "*"}]}),
        ("resultSizeEstimate", {"resultSizeEstimate": 1}),
        ("*", {"messages": [{"id": "*", "threadId": "*"}], "resultSizeEstimate": 1}),
    ],
)
def test_an_answer_has_only_the_fields_that_are_asked_for(
    gmail: FakeGmail, alice: Mailbox, caller: Caller, fields: str, expected: dict[str, Any]
) -> None:
    stored = gmail.deliver(alice, written(Subject="x"))
    answer = caller.ask("GET", "messages", fields=fields).text.replace(stored.id, "*")
    assert httpx2.Response(200, text=answer).json() == expected


def test_fields_of_a_message_are_picked_from_its_parts(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    stored = gmail.deliver(alice, written(Subject="x"))
    picked = caller.get(f"messages/{stored.id}", fields="id,payload(mimeType,headers/name)")
    assert picked["payload"].keys() == {"mimeType", "headers"}
    assert {"name": "Subject"} in picked["payload"]["headers"]
    assert refusal(caller.ask("GET", "messages", fields="a(b"))[:2] == (400, "invalidParameter")
