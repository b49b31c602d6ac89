"""The fake Graph on the wire: what it keeps, what it delivers, and what it refuses as the service does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.peers.gmail.caller import written
from tests.peers.graph import FakeGraph
from tests.peers.graph.caller import IMMUTABLE, Caller, done, quoted, refusal
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.operations import OPERATIONS

BOB = "bob@contoso.example"


@pytest.fixture
def graph() -> Iterator[FakeGraph]:
    with FakeGraph.started() as service:
        yield service


@pytest.fixture
def alice(graph: FakeGraph) -> Mailbox:
    return graph.user("alice@contoso.example", "Alice Ample")


@pytest.fixture
def bob(graph: FakeGraph) -> Mailbox:
    return graph.user(BOB, "Bob Brisk")


@pytest.fixture
def caller(graph: FakeGraph, alice: Mailbox) -> Iterator[Caller]:
    with Caller(graph, alice) as client:
        yield client


def mail(subject: str = "Hello", **headers: str) -> bytes:
    return written(
        "A few words.", From="Carol <carol@x.example>", To="alice@contoso.example", Subject=subject, **headers
    )


def to_bob(subject: str = "Hi", **more: Any) -> dict[str, Any]:
    return {"subject": subject, "toRecipients": [{"emailAddress": {"address": BOB}}], **more}


def at(stored: Any, below: str = "") -> str:
    return f"messages/{quoted(stored.immutable_id)}{below}"


def test_an_id_changes_with_a_move_unless_an_immutable_one_is_asked_for(
    graph: FakeGraph, alice: Mailbox, caller: Caller
) -> None:
    graph.deliver(alice, mail())
    (before,) = caller.ids()
    moved = caller.post(f"messages/{quoted(before)}/move", {"destinationId": "archive"})
    assert moved["id"] != before
    assert refusal(caller.ask("GET", f"messages/{quoted(before)}")) == (404, "ErrorItemNotFound")
    lasting = done(caller.ask("GET", f"messages/{quoted(moved['id'])}", headers=IMMUTABLE))["id"]
    again = done(caller.ask("POST", f"messages/{quoted(lasting)}/move", {"destinationId": "inbox"}, headers=IMMUTABLE))
    assert again["id"] == lasting
    assert all(sign in lasting for sign in "/+=")


def test_a_draft_is_sent_under_its_immutable_id_and_arrives(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    blind = [{"emailAddress": {"address": "dora@else.example", "name": "Dora"}}]
    draft = done(caller.ask("POST", "messages", to_bob(bccRecipients=blind), headers=IMMUTABLE))
    assert draft["isDraft"]
    answer = caller.ask("POST", f"messages/{quoted(draft['id'])}/send")
    assert (answer.status_code, answer.content) == (202, b"")
    (sent,) = alice.within("sentitems")
    assert (sent.immutable_id, sent.is_draft) == (draft["id"], False)
    (arrived,) = bob.within("inbox")
    assert b"dora" not in arrived.raw.lower()
    assert (graph.sent[0].recipients, graph.sent[0].external) == ((BOB, "dora@else.example"), ("dora@else.example",))


def test_a_message_is_made_from_mime_and_given_back_as_mime(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    raw = mail("Grüße", Message_ID="<mine@x>", In_Reply_To="<first@x>")
    first = graph.deliver(alice, mail("Grüße", Message_ID="<first@x>"))
    made = caller.http.post(
        "/v1.0/me/messages", content=base64.b64encode(raw), headers={"content-type": "text/plain", **IMMUTABLE}
    )
    value = done(made)
    assert (value["internetMessageId"], value["subject"]) == ("<mine@x>", "Grüße")
    assert value["conversationId"] == first.conversation
    assert caller.ask("GET", f"messages/{quoted(value['id'])}/$value").content == alice.message(value["id"]).raw
    wrong = caller.http.post("/v1.0/me/messages", content=b"%%", headers={"content-type": "text/plain"})
    assert refusal(wrong) == (400, "ErrorMimeContentInvalidBase64String")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"search": '"x"', "filter": "isRead eq true"}, (400, "SearchWithFilter")),
        ({"search": '"x"', "orderby": "receivedDateTime"}, (400, "SearchWithOrderBy")),
        ({"search": "x"}, (400, "BadRequest")),
        ({"search": '"colour:x"'}, (400, "BadRequest")),
        ({"filter": "isRead eq true", "orderby": "receivedDateTime desc"}, (400, "InefficientFilter")),
        ({"filter": "isRead eq", "top": "5"}, (400, "ErrorInvalidUrlQueryFilter")),
        ({"filter": "colour eq 'red'"}, (400, "ErrorInvalidUrlQueryFilter")),
        ({"top": "1001"}, (400, "BadRequest")),
        ({"select": "colour"}, (400, "RequestBroker--ParseUri")),
    ],
)
def test_what_the_service_does_not_combine_is_refused(
    caller: Caller, params: dict[str, str], expected: tuple[int, str]
) -> None:
    assert refusal(caller.ask("GET", "messages", **params)) == expected


def test_messages_are_searched_filtered_ordered_counted_and_paged(
    graph: FakeGraph, alice: Mailbox, caller: Caller
) -> None:
    for number in range(5):
        graph.deliver(alice, mail(f"Parcel {number}"), when=1_700_000_000 + number, is_read=number == 2)
    newest = caller.get("messages", top="2", orderby="receivedDateTime desc", select="subject", count="true")
    assert newest["@odata.count"] == 5
    assert [each["subject"] for each in newest["value"]] == ["Parcel 4", "Parcel 3"]
    following = caller.http.get(newest["@odata.nextLink"]).json()
    assert [each["subject"] for each in following["value"]] == ["Parcel 2", "Parcel 1"]
    read = "receivedDateTime ge 2000-01-01T00:00:00Z and isRead eq true"
    assert len(caller.ids(filter=read, orderby="receivedDateTime desc")) == 1
    assert len(caller.ids(search='"subject:parcel AND 3"')) == 1
    assert len(caller.ids("mailFolders/archive/messages", search='"parcel"')) == 0


def test_replying_with_a_comment_and_a_body_is_refused_and_with_one_of_them_sent(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    raw = written("Plan?", From=f"Bob <{BOB}>", To=f"{alice.address}, dora@else.example", Subject="Plan")
    stored = graph.deliver(alice, raw)
    both = {"comment": "Yes", "message": {"body": {"contentType": "text", "content": "No"}}}
    assert caller.ask("POST", at(stored, "/reply"), both).status_code == 400
    assert caller.ask("POST", at(stored, "/replyAll"), {"comment": "Yes"}).status_code == 202
    (reply,) = bob.within("inbox")
    assert (reply.subject, reply.content.recipients) == ("RE: Plan", [BOB, "dora@else.example"])
    assert "Yes" in reply.content.text
    assert stored.properties["Integer 0x1081"] == "103"
    forward = {"comment": "See", "toRecipients": [{"emailAddress": {"address": BOB}}]}
    assert caller.ask("POST", at(stored, "/forward"), forward).status_code == 202
    assert bob.within("inbox")[0].subject in ("FW: Plan", "RE: Plan")
    assert len(bob.within("inbox")) == 2


@pytest.mark.parametrize(
    ("scopes", "path", "method", "expected"),
    [
        ({"Mail.Read"}, "sendMail", "POST", (403, "ErrorAccessDenied")),
        ({"Mail.Send"}, "messages", "GET", (403, "ErrorAccessDenied")),
        ({"Mail.ReadWrite"}, "outlook/masterCategories", "GET", (403, "ErrorAccessDenied")),
        ({"Mail.ReadWrite"}, "messages/no", "GET", (400, "ErrorInvalidIdMalformed")),
        ({"Mail.ReadWrite"}, f"messages/{'A' * 60}", "GET", (404, "ErrorItemNotFound")),
        ({"Mail.ReadWrite"}, "nothing", "GET", (400, "BadRequest")),
    ],
)
def test_a_token_opens_what_its_scopes_say(
    graph: FakeGraph, alice: Mailbox, scopes: set[str], path: str, method: str, expected: tuple[int, str]
) -> None:
    with Caller(graph, alice, graph.token(alice, scopes)) as limited:
        assert refusal(limited.ask(method, path, {} if method == "POST" else None)) == expected


def test_another_mailbox_opens_to_its_delegates_with_the_scopes_for_it(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox
) -> None:
    token = graph.token(alice, {"Mail.Read.Shared"})
    with Caller(graph, alice, token, f"users/{BOB}") as shared:
        assert refusal(shared.ask("GET", "messages")) == (403, "ErrorAccessDenied")
        bob.delegates.add(alice.address)
        assert shared.get("messages")["value"] == []
        bob.is_enabled = False
        assert refusal(shared.ask("GET", "messages")) == (404, "MailboxNotEnabledForRESTAPI")


def test_a_changed_message_is_not_overwritten(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    stored = graph.deliver(alice, mail())
    etag = caller.get(at(stored))["@odata.etag"]
    done(caller.ask("PATCH", at(stored), {"isRead": True}, {"if-match": etag}))
    late = caller.ask("PATCH", at(stored), {"categories": ["Red"]}, {"if-match": etag})
    assert refusal(late) == (412, "ErrorIrresolvableConflict")
    assert (stored.is_read, stored.categories) == (True, [])


def test_folders_nest_conflict_and_are_removed(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    top = caller.post("mailFolders", {"displayName": "Projects"})
    below = caller.post(f"mailFolders/{quoted(top['id'])}/childFolders", {"displayName": "Aurora"})
    assert below["parentFolderId"] == top["id"]
    assert refusal(caller.ask("POST", "mailFolders", {"displayName": "projects"})) == (409, "ErrorFolderExists")
    assert caller.get("mailFolders/sentitems")["displayName"] == "Sent Items"
    assert refusal(caller.ask("DELETE", "mailFolders/inbox"))[0] == 403
    caller.post(f"mailFolders/{quoted(top['id'])}/permanentDelete")
    assert refusal(caller.ask("GET", f"mailFolders/{quoted(below['id'])}"))[0] == 404


def test_a_large_file_goes_up_in_pieces_in_order_and_without_a_token(
    graph: FakeGraph, alice: Mailbox, caller: Caller
) -> None:
    draft = done(caller.ask("POST", "messages", to_bob(), headers=IMMUTABLE))
    item = {"AttachmentItem": {"attachmentType": "file", "name": "big.bin", "size": 10}}
    session = caller.post(f"messages/{quoted(draft['id'])}/attachments/createUploadSession", item)
    url = session["uploadUrl"]

    def put(content: bytes, given: str, **headers: str) -> Any:
        import httpx2

        return httpx2.put(url, content=content, headers={"content-range": given, **headers})

    assert put(b"01234", "bytes 0-4/10", authorization="Bearer x").status_code == 401
    assert put(b"56789", "bytes 5-9/10").status_code == 416
    assert put(b"01234", "bytes 0-4/10").json()["nextExpectedRanges"] == ["5-"]
    assert put(b"56789", "bytes 5-9/10").status_code == 201
    assert [file.content for file in alice.message(draft["id"]).content.files] == [b"0123456789"]


def test_attachments_are_files_items_or_references(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    draft = done(caller.ask("POST", "messages", to_bob(), headers=IMMUTABLE))
    place = f"messages/{quoted(draft['id'])}/attachments"
    kind = "#microsoft.graph."
    caller.post(place, {"@odata.type": f"{kind}fileAttachment", "name": "a.txt", "contentBytes": "YQ=="})
    item = {"@odata.type": f"{kind}itemAttachment", "name": "Old", "item": {"subject": "Old"}}
    caller.post(place, item)
    caller.post(place, {"@odata.type": f"{kind}referenceAttachment", "name": "cloud.docx"})
    found = caller.get(place)["value"]
    assert [(each["@odata.type"].rpartition(".")[2], each["name"]) for each in found] == [
        ("fileAttachment", "a.txt"),
        ("itemAttachment", "Old"),
        ("referenceAttachment", "cloud.docx"),
    ]
    contents = [caller.ask("GET", f"{place}/{quoted(each['id'])}/$value") for each in found]
    assert contents[0].content == b"a"
    assert b"Subject: Old" in contents[1].content
    assert contents[2].status_code == 405


def test_a_delta_tells_what_changed_and_says_when_it_no_longer_knows(
    graph: FakeGraph, alice: Mailbox, caller: Caller
) -> None:
    first, second = (graph.deliver(alice, mail(name)) for name in ("one", "two"))
    begun = done(caller.ask("GET", "mailFolders/inbox/messages/delta", headers={"prefer": "odata.maxpagesize=1"}))
    rest = caller.http.get(begun["@odata.nextLink"]).json()
    assert len(begun["value"] + rest["value"]) == 2
    link = rest["@odata.deltaLink"]
    assert caller.http.get(link).json() == {"value": [], "@odata.deltaLink": link}
    alice.move(first, "archive")
    alice.remove(second)
    told = caller.http.get(link, headers=IMMUTABLE).json()["value"]
    assert [(each["id"], "@removed" in each) for each in told] == [
        (first.immutable_id, True),
        (second.immutable_id, True),
    ]
    graph.forget_delta()
    assert refusal(caller.http.get(link)) == (410, "SyncStateNotFound")


def test_a_batch_is_200_whatever_became_of_its_requests(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    stored = graph.deliver(alice, mail())
    graph.fail_next("PATCH", "messages.update", status=429, retry_after=3)
    change = {"body": {"isRead": True}, "headers": {"Content-Type": "application/json"}}
    asked = [
        {"id": "1", "method": "PATCH", "url": f"/me/{at(stored)}", **change},
        {"id": "2", "method": "GET", "url": f"/me/{at(stored)}?$select=subject"},
        {"id": "3", "method": "GET", "url": "/me/messages/no"},
    ]
    answer = caller.http.post("/v1.0/$batch", json={"requests": asked})
    assert answer.status_code == 200
    found = {each["id"]: each for each in answer.json()["responses"]}
    assert [found[each]["status"] for each in "123"] == [429, 200, 400]
    assert found["1"]["headers"]["Retry-After"] == "3"
    assert found["2"]["body"]["subject"] == "Hello"
    many = [{"id": str(n), "method": "GET", "url": "/me/messages"} for n in range(21)]
    assert caller.http.post("/v1.0/$batch", json={"requests": many}).status_code == 400


def test_rules_run_on_what_arrives_and_categories_are_listed(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    rule = {
        "displayName": "Bills",
        "sequence": 1,
        "conditions": {"subjectContains": ["invoice"]},
        "actions": {"assignCategories": ["Bills"], "markAsRead": True, "moveToFolder": alice.well_known["archive"]},
    }
    made = caller.post("mailFolders/inbox/messageRules", rule)
    caller.post("outlook/masterCategories", {"displayName": "Bills", "color": "preset1"})
    assert refusal(caller.ask("POST", "outlook/masterCategories", {"displayName": "bills"}))[0] == 409
    stored = graph.deliver(alice, mail("Your Invoice"))
    assert (stored.categories, stored.is_read, stored.folder) == (["Bills"], True, alice.well_known["archive"])
    done(caller.ask("PATCH", f"mailFolders/inbox/messageRules/{quoted(made['id'])}", {"isEnabled": False}))
    assert graph.deliver(alice, mail("Another invoice")).categories == []


@pytest.mark.parametrize(
    "body",
    [
        {"colour": "red"},
        {"subject": 7},
        {"importance": "extreme"},
        {"toRecipients": {"emailAddress": {"address": BOB}}},
        {"body": {"contentType": "markdown", "content": "x"}},
    ],
)
def test_what_does_not_fit_the_openapi_document_is_refused(
    graph: FakeGraph, caller: Caller, body: dict[str, Any]
) -> None:
    if graph.spec is None:
        pytest.skip("Microsoft's OpenAPI document of Graph is not beside the repository")
    assert refusal(caller.ask("POST", "messages", body)) == (400, "RequestBodyRead")


def test_every_operation_of_the_fake_is_one_of_microsofts(graph: FakeGraph) -> None:
    if graph.spec is None:
        pytest.skip("Microsoft's OpenAPI document of Graph is not beside the repository")
    assert graph.spec is not None
    elsewhere = {"user.get", "attachments.content"}  # part of other documents of Graph
    unknown = {
        each.name
        for each in OPERATIONS.values()
        if each.name not in elsewhere and graph.spec.operation(each.spec_path, each.verb) is None
    }
    assert unknown == set()


def test_too_many_at_once_and_too_much_are_refused(graph: FakeGraph, alice: Mailbox, caller: Caller) -> None:
    graph.at_once = 0
    answer = caller.ask("GET", "messages")
    assert (refusal(answer), answer.headers["retry-after"]) == ((429, "ApplicationThrottled"), "1")
    graph.at_once, graph.largest = 4, 1000
    assert refusal(caller.ask("POST", "messages", {"subject": "x" * 1000}))[0] == 413


def test_a_recipient_who_cannot_be_resolved_is_refused_and_nothing_is_sent(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    graph.unresolvable.add("nobody@x.example")
    both = [{"emailAddress": {"address": each}} for each in (BOB, "nobody@x.example")]
    answer = caller.ask("POST", "sendMail", {"message": {"subject": "x", "toRecipients": both}})
    assert refusal(answer) == (400, "ErrorInvalidRecipients")
    assert "nobody@x.example" in json.dumps(answer.json())
    assert (graph.sent, alice.messages, bob.messages) == ([], [], [])
