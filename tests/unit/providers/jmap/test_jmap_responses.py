"""Responses that lack something, lie, or are none: a clear error, and nothing claimed that is not known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.peers.jmap import FakeJmap

from postroom.model.errors import (
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    Unsupported,
)
from postroom.model.query.tree import Filename, In, Leaf, Query, Text
from postroom.providers.http.unclear import UnclearWrite
from postroom.providers.jmap.convert import envelope_of, headers_of
from postroom.providers.jmap.folders import read_folders
from postroom.providers.jmap.provider import JmapMailbox

BROKEN = [
    "",
    "no JSON",
    "[]",
    "{}",
    '{"methodResponses": null}',
    '{"methodResponses": []}',
    '{"methodResponses": [["Mailbox/get"]]}',
    '{"methodResponses": [["Email/set", {}, "9"]]}',
    '{"methodResponses": [["Email/set", null, "0"]]}',
    "[" * 100_000,
]


def put(server: FakeJmap, key: str, **fields: Any) -> str:
    blob = server.state.add_blob(mail(key))
    email = server.state.add_email(blob, {"mb-inbox": True}, {})
    email.update(fields)
    return str(email["id"])


@pytest.mark.parametrize("body", BROKEN)
async def test_a_broken_response_to_a_read_is_an_error_of_the_provider(
    server: FakeJmap, mailbox: JmapMailbox, body: str
) -> None:
    server.answer_next("POST", "Mailbox/get", body)
    with pytest.raises(ProviderError):
        await mailbox.folders()


async def test_one_of_many_messages_that_cannot_be_read_says_why(server: FakeJmap, mailbox: JmapMailbox) -> None:
    refs = [put(server, str(number)) for number in range(3)]
    server.fail_next("GET", "/download/*", status=403)
    with pytest.raises(PermissionDenied):
        await mailbox.fetch_many(refs)


async def test_a_page_of_something_in_between_is_not_taken_for_a_message(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    ref = put(server, "one")
    server.html_next("GET", "/download/*", status=200)
    with pytest.raises(ProviderUnavailable, match="web page"):
        await mailbox.fetch(ref)


async def test_a_message_that_begins_like_a_page_is_read(server: FakeJmap, mailbox: JmapMailbox) -> None:
    ref = put(server, "one")
    server.state.blobs[server.state.emails[ref]["blobId"]] = b"<html><p>No headers at all</html>"
    assert (await mailbox.fetch_raw(ref)).startswith(b"<html>")


@pytest.mark.parametrize("body", BROKEN)
async def test_a_broken_response_to_a_write_leaves_its_outcome_open(
    server: FakeJmap, mailbox: JmapMailbox, body: str
) -> None:
    ref = put(server, "one")
    server.answer_next("POST", "Email/set", body, after_effect=True)
    with pytest.raises(UnclearWrite):
        await mailbox.set_flags([ref], add=["read"])
    assert server.state.emails[ref]["keywords"] == {"$seen": True}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("unknownMethod", Unsupported),
        ("requestTooLarge", InvalidRequest),
        ("serverFail", ProviderError),
        ("<script>", ProviderError),
        (None, ProviderError),
    ],
)
async def test_a_methods_error_is_named_by_its_type_and_never_by_its_words(
    server: FakeJmap, mailbox: JmapMailbox, kind: Any, expected: type[PostroomError]
) -> None:
    error = {"type": kind, "description": "Dear Sir, a secret"}
    server.answer_next("POST", "Email/get", json.dumps({"methodResponses": [["error", error, "0"]]}))
    with pytest.raises(expected) as caught:
        await mailbox.envelopes(["E1"])
    assert "Sir" not in caught.value.message
    assert "script" not in caught.value.message


async def test_a_listing_is_one_request(server: FakeJmap, mailbox: JmapMailbox) -> None:
    for key in ("one", "two"):
        put(server, key)
    await mailbox.folders()
    server.forget()
    page = await mailbox.search(Query(In("inbox")), limit=2, offset=0)
    assert [row.subject for row in page.items] == ["Subject of two", "Subject of one"]
    assert [request.operation for request in server.requests] == ["Email/query"]


async def test_more_folders_than_the_server_lists_at_once_are_listed_in_parts(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    """RFC 8620, 5.1: a server may refuse to list everything where that is more than maxObjectsInGet."""
    usual = await mailbox.folders()
    server.state.lists_every_mailbox = False
    assert await mailbox.folders() == usual
    assert len(usual) == 6


async def test_a_page_is_whole_even_where_the_server_gives_fewer_at_once(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    refs = [put(server, f"m{number}") for number in range(7)][::-1]
    page = await mailbox.search(Query(In("inbox")), limit=5, offset=1)
    assert [row.ref for row in page.items] == refs[1:6]
    assert (page.total, page.has_more) == (7, True)
    assert [row.ref for row in (await mailbox.search(Query(In("inbox")), limit=5, offset=6)).items] == refs[6:]


async def test_a_thread_longer_than_a_request_may_be_is_read_in_several(server: FakeJmap, mailbox: JmapMailbox) -> None:
    refs = [put(server, f"m{number}") for number in range(5)]
    assert [row.ref for row in await mailbox.thread("T1")] == refs


@pytest.mark.parametrize("leaf", [Filename("plan"), Text("invoic", prefix=True)])
async def test_a_search_that_would_look_at_too_many_messages_says_how_to_narrow_it(
    server: FakeJmap, mailbox: JmapMailbox, monkeypatch: pytest.MonkeyPatch, leaf: Leaf
) -> None:
    monkeypatch.setattr("postroom.providers.jmap.reading._JUDGED", 3)
    monkeypatch.setattr("postroom.providers.querying.judging.READ_WHOLE", 3)
    for number in range(4):
        put(server, f"m{number}")
    with pytest.raises(InvalidRequest, match="in:, from: or after:"):
        await mailbox.search(Query(leaf, anywhere=True), limit=10, offset=0)


async def test_labels_of_all_messages_are_listed_where_few_come_at_once(server: FakeJmap, mailbox: JmapMailbox) -> None:
    for number in range(5):
        put(server, f"m{number}", keywords={f"label{number}": True, "$seen": True})
    assert await mailbox.labels() == [f"label{number}" for number in range(5)]


async def test_no_more_messages_are_asked_for_at_once_than_the_server_allows(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    refs = [put(server, f"m{number}") for number in range(5)]
    await mailbox.folders()
    server.forget()
    assert [row and row.ref for row in await mailbox.envelopes(refs)] == refs
    assert server.count("Email/get") == 3
    assert [result.ok for result in await mailbox.set_flags(refs, add=["read"])] == [True] * 5
    assert server.count("Email/set") == 3


async def test_when_a_later_part_of_a_batch_is_lost_the_first_is_still_reported(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    refs = [put(server, f"m{number}") for number in range(3)]
    hold = server.hold_next("POST", "Email/set")
    hold.release()
    server.cut_next("POST", "Email/set")
    results = await mailbox.set_flags(refs, add=["read"])
    assert [result.ok for result in results] == [True, True, False]
    assert isinstance(results[2].error, UnclearWrite)


@pytest.mark.parametrize(
    "lacking", ["threadId", "mailboxIds", "keywords", "size", "receivedAt", "hasAttachment", "bodyValues", "textBody"]
)
@pytest.mark.parametrize("value", [None, 7, "x", [1], {"x": 7}])
def test_a_message_with_a_missing_or_strange_field_is_still_shown(lacking: str, value: Any) -> None:
    whole = {"id": "E1", "header:Subject": " Hello", "header:From": " Ada <ada@friends.example>"}
    row = envelope_of({**whole, lacking: value}, headers_of(whole), [], "")
    assert (row.ref, row.subject, row.sender.email) == ("E1", "Hello", "ada@friends.example")


def test_a_header_cannot_smuggle_in_another() -> None:
    parsed = headers_of({"header:Subject": " Hello\r\nBcc: eve@example.com\r\n\r\nbody"})
    assert parsed.bcc == ()


def test_folders_with_loops_holes_and_equal_names_each_get_a_name_of_their_own() -> None:
    rows = [
        {"id": "a", "name": "A", "parentId": "b", "role": None},
        {"id": "b", "name": "B", "parentId": "a", "role": None},
        {"id": "c", "name": "Sent", "parentId": "gone", "role": None},
        {"id": "d", "name": "Sent", "parentId": None, "role": "sent"},
        {"id": "e", "name": None, "parentId": None, "role": "unheard-of"},
        {"id": "f\r\n", "name": "no id", "parentId": None},
        {"name": "no id either"},
        None,
    ]
    folders = read_folders(rows)
    assert len({folder.name for folder in folders}) == len(folders) == 5
    assert next(folder for folder in folders if folder.name == "Sent").ref == "d"


@pytest.mark.parametrize("ref", ["", "\0", "a b", "../x", "E" * 300, "é"])
async def test_what_cannot_be_an_id_is_not_found_without_asking(
    server: FakeJmap, mailbox: JmapMailbox, ref: str
) -> None:
    server.forget()
    with pytest.raises(NotFound):
        await mailbox.fetch(ref)
    (result,) = await mailbox.set_flags([ref], add=["read"])
    assert isinstance(result.error, NotFound)
    assert server.requests == []


async def test_a_message_larger_than_the_server_takes_is_refused_before_it_is_uploaded(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    server.changes["capabilities"] = {"urn:ietf:params:jmap:core": {"maxSizeUpload": 2**20}}
    server.session_state = "s2"
    await mailbox.folders()
    with pytest.raises(InvalidRequest, match="1 MB"):
        await mailbox.create_draft(bytes(2**20 + 1))
    assert not any(request.path.startswith("/upload/") for request in server.requests)


async def test_a_page_names_those_that_were_found_and_not_given_out(server: FakeJmap, mailbox: JmapMailbox) -> None:
    kept, lost = put(server, "kept"), put(server, "lost")
    email = (await mailbox.search(Query(In("Inbox")), limit=1, offset=1)).items[0]
    assert email.ref == kept
    body = {
        "methodResponses": [
            ["Email/query", {"accountId": "a1", "ids": [lost], "position": 0, "total": 1}, "0"],
            ["Email/get", {"accountId": "a1", "state": "1", "list": [], "notFound": [lost]}, "1"],
        ],
        "sessionState": "1",
    }
    server.answer_next("POST", "Email/query", json.dumps(body))
    page = await mailbox.search(Query(In("Inbox")), limit=5, offset=0)
    assert (page.items, page.gone) == ((), (lost,))
