"""What a broken service, a hostile message or a confused caller may hand in: a clear error, and nothing lost."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest
from tests.contract.mails import PDF, mail

from postroom.model.errors import (
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
)
from postroom.model.query.tree import And, In, Label, Not, Or, Query, Text
from postroom.providers.http.unclear import UnclearWrite

from .conftest import Box, opened

PATHS = ["../../drafts", "..", ".", "a/b", "a%2Fb", "a?b=c", "a#b", "x" * 300, "", "ä", "a b", "\0", "messages/send"]
ODD_NAMES = [
    "Clients/North & South",
    'Say "hello"',
    "Ünïcödé 🎉",
    "a-b",
    "a/b",
    "(x)",
    "OR",
    "-x",
    "label:x",
    "in:trash",
]


@pytest.mark.parametrize("ref", PATHS)
async def test_an_id_that_looks_like_a_path_names_nothing_and_reaches_no_other_method(box: Box, ref: str) -> None:
    with pytest.raises(NotFound):
        await box.mailbox.fetch(ref)
    with pytest.raises(NotFound):
        await box.mailbox.thread(ref)
    for refused in (box.mailbox.find_draft(ref), box.mailbox.delete_draft(ref), box.mailbox.fetch_raw(ref)):
        with pytest.raises(NotFound):
            await refused
    assert await box.mailbox.envelopes([ref]) == [None]
    assert not (await box.mailbox.set_flags([ref], add=["read"]))[0].ok
    await box.transport.discard_staged(ref)
    assert box.asked() == []


@pytest.mark.parametrize("body", ["{", "[]", "null", "", '"text"', "{}" * 2, "\xff"])
async def test_broken_json_is_a_clear_error(box: Box, body: str) -> None:
    ref = box.deliver()
    box.gmail.answer_next("GET", "messages.get", body)
    with pytest.raises(ProviderError, match="no valid JSON object"):
        await box.mailbox.fetch(ref)


async def test_a_web_page_instead_of_data_is_named_as_one(box: Box, quick: None) -> None:
    box.gmail.html_next("GET", "messages.list", status=200)
    with pytest.raises(ProviderError, match="web page"):
        await box.mailbox.search(Query(In("inbox")), limit=5, offset=0)
    box.gmail.html_next("POST", "batch", status=200, times=3)  # as often as it is asked
    with pytest.raises(ProviderError, match="batch"):
        await box.mailbox.envelopes([box.deliver("a"), box.deliver("b")])


async def test_an_error_inside_a_success_is_an_error(box: Box, quick: None) -> None:
    inside = {"error": {"code": 403, "message": "CANARY", "errors": [{"reason": "insufficientPermissions"}]}}
    box.gmail.answer_next("GET", "messages.get", json.dumps(inside))
    with pytest.raises(PermissionDenied) as caught:
        await box.mailbox.fetch(box.deliver())
    assert "CANARY" not in caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        {"id": "19a0000000000001"},
        {"id": "19a0000000000001", "payload": None, "labelIds": "INBOX", "internalDate": "soon", "sizeEstimate": "x"},
        {"id": "19a0000000000001", "payload": {"headers": [{"name": 1}, "x", {"value": "y"}], "parts": "no"}},
        {"id": "19a0000000000001", "payload": {"mimeType": "multipart/mixed", "parts": [None, {"body": []}]}},
        {"id": "19a0000000000001", "labelIds": ["Label_unknown", 7], "threadId": 5},
    ],
)
async def test_missing_and_misshapen_fields_leave_a_message_that_can_be_read(box: Box, body: object) -> None:
    box.gmail.answer_next("GET", "messages.get", json.dumps(body))
    message = await box.mailbox.fetch("19a0000000000001")
    assert message.envelope.ref == message.envelope.thread_ref == "19a0000000000001"
    assert message.body.text == ""


async def test_a_message_without_an_id_is_an_error(box: Box) -> None:
    box.gmail.answer_next("GET", "messages.get", "{}")
    with pytest.raises(ProviderError, match="without an id"):
        await box.mailbox.fetch("19a0000000000001")


async def test_a_page_token_that_loops_is_noticed(box: Box) -> None:
    page = json.dumps({"messages": [], "nextPageToken": "again"})
    box.gmail.answer_next("GET", "messages.list", page, times=5)
    with pytest.raises(ProviderError, match="loop"):
        await box.mailbox.search(Query(In("inbox")), limit=5, offset=0)


async def test_a_body_cut_in_the_middle_is_read_again(box: Box, quick: None) -> None:
    ref = box.deliver()
    box.gmail.truncate_next("GET", "messages.get")
    assert (await box.mailbox.fetch(ref)).envelope.ref == ref
    box.gmail.truncate_next("GET", "messages.get", times=3)
    with pytest.raises(ProviderUnavailable, match="in the middle"):
        await box.mailbox.fetch(ref)


async def test_a_part_of_a_batch_that_is_missing_is_asked_for_again(box: Box, quick: None) -> None:
    refs = [box.deliver("a"), box.deliver("b")]
    box.gmail.answer_next("POST", "batch", "--x--", content_type="multipart/mixed; boundary=x")
    assert [row and row.ref for row in await box.mailbox.envelopes(refs)] == refs


async def test_the_token_of_another_user_opens_no_mailbox(box: Box) -> None:
    other = box.gmail.user("other@gmail.example")
    _, mailbox, transport = opened(box.gmail, other, address=box.user.address)
    with pytest.raises(PermissionDenied, match="accounts login mine") as caught:
        await mailbox.connect()
    assert caught.value.reason == "wrong_account"
    assert "other@" not in caught.value.message
    with pytest.raises(PermissionDenied):
        await transport.check_login()
    await mailbox.close()


async def test_the_login_of_a_mailbox_that_may_send_as_the_address_is_its_own(box: Box) -> None:
    box.gmail.add_send_as(box.user, "alias@gmail.example")
    _, mailbox, _ = opened(box.gmail, box.user, address="Alias@gmail.example")
    assert (await mailbox.connect()).provider == "gmail"
    await mailbox.close()


@pytest.mark.parametrize(
    ("given", "is_same"),
    [("First.Last@googlemail.com", True), ("firstlast+news@gmail.com", True), ("firstlas@gmail.com", False)],
)
async def test_gmail_ignores_dots_what_follows_a_plus_and_which_of_its_domains_it_is(
    box: Box, given: str, is_same: bool
) -> None:
    user = box.gmail.user("firstlast@gmail.com")
    _, mailbox, _ = opened(box.gmail, user, address=given)
    with nullcontext() if is_same else pytest.raises(PermissionDenied):
        assert (await mailbox.connect()).provider == "gmail"
    await mailbox.close()


async def test_elsewhere_a_dot_makes_another_address(box: Box) -> None:
    user = box.gmail.user("first.last@company.example")
    _, mailbox, _ = opened(box.gmail, user, address="firstlast@company.example")
    with pytest.raises(PermissionDenied):
        await mailbox.connect()
    await mailbox.close()


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_label_of_any_name_is_made_applied_found_and_removed(box: Box, name: str) -> None:
    marked, plain = box.deliver("marked"), box.deliver("plain", text="unlabelled")
    assert (await box.mailbox.apply_label([marked], name))[0].ok
    assert name in await box.mailbox.labels()
    for node, found in (
        (Label(name), {marked}),
        (And((Label(name), In("inbox"))), {marked}),
        (Not(Label(name)), {plain}),
        (Or((Label(name), Text("unlabelled"))), {marked, plain}),
        (In(name), {marked}),
        (Or((In(name), Text("nothing"))), {marked}),
    ):
        page = await box.mailbox.search(Query(node), limit=10, offset=0)
        assert {row.ref for row in page.items} == found, node
    assert (await box.mailbox.remove_label([marked], name))[0].ok
    assert (await box.mailbox.envelopes([marked]))[0].labels == ()  # type: ignore[union-attr]


async def test_labels_that_look_alike_in_a_query_are_told_apart(box: Box) -> None:
    refs = {name: box.deliver(name, labels=("INBOX", box.label(name))) for name in ("a-b", "a/b", "a b")}
    for name, ref in refs.items():
        page = await box.mailbox.search(Query(Not(Label(name))), limit=10, offset=0)
        assert {row.ref for row in page.items} == set(refs.values()) - {ref}
        page = await box.mailbox.search(Query(Or((Label(name), Text("nothing")))), limit=10, offset=0)
        assert [row.ref for row in page.items] == [ref]


@pytest.mark.parametrize(
    "name", ["Sent", "INBOX", "Spam", "Gesendet", "", " ", "a\nb", "postroom-answered", "voicemail"]
)
async def test_a_label_that_would_pass_for_a_folder_of_gmails_is_refused(box: Box, name: str) -> None:
    ref = box.deliver()
    with pytest.raises(InvalidRequest, match="label"):
        await box.mailbox.apply_label([ref], name)
    assert box.labels_of(ref) == {"INBOX", "UNREAD"}


async def test_an_expired_attachment_id_is_never_used(box: Box) -> None:
    ref = box.deliver(files=[("a.pdf", PDF)])
    (file,) = (await box.mailbox.fetch(ref)).attachments
    for _ in range(2):
        box.gmail.forget_attachment_ids(box.user)
        assert await box.mailbox.fetch_part(ref, file.part) == PDF


@pytest.mark.parametrize("number", ["0", "1.1", "-1", "x", "2.9", "1/../2", "99999999999999999999", ""])
async def test_a_part_that_is_not_there_is_not_found(box: Box, number: str) -> None:
    with pytest.raises(NotFound):
        await box.mailbox.fetch_part(box.deliver(files=[("a.pdf", PDF)]), number)


async def test_content_that_is_no_base64_is_an_error(box: Box) -> None:
    box.gmail.answer_next("GET", "messages.get", json.dumps({"id": "1", "raw": "***"}))
    with pytest.raises(ProviderError, match="decoded"):
        await box.mailbox.fetch_raw("19a0000000000001")


@pytest.mark.parametrize("after", [False, True])
async def test_a_draft_whose_answer_is_lost_is_unclear_and_nothing_is_lost(box: Box, after: bool) -> None:
    box.gmail.cut_next("POST", "drafts.create", after_effect=after)
    with pytest.raises(UnclearWrite):
        await box.mailbox.create_draft(mail("plan"))
    assert len(box.user.drafts) == after


async def test_an_update_that_is_lost_leaves_one_draft_under_its_ref(box: Box) -> None:
    saved = await box.mailbox.create_draft(mail("plan", text="One."))
    box.gmail.cut_next("PUT", "drafts.update", after_effect=True)
    with pytest.raises(UnclearWrite):
        await box.mailbox.update_draft(saved.ref, mail("plan", text="Two."))
    now = await box.mailbox.find_draft(saved.ref)
    assert (await box.mailbox.fetch(now.message_ref)).body.text.strip() == "Two."
    assert len(box.user.drafts) == 1


async def test_a_draft_answered_without_its_ids_is_an_error_that_says_what_to_do(box: Box) -> None:
    box.gmail.answer_next("POST", "drafts.create", "{}", after_effect=True)
    with pytest.raises(ProviderError, match="list_drafts"):
        await box.mailbox.create_draft(mail("plan"))


async def test_a_message_too_large_for_gmail_is_refused_and_says_so(box: Box) -> None:
    box.gmail.upload_limit = 1000
    try:
        with pytest.raises(InvalidRequest):
            await box.mailbox.create_draft(mail("big", text="x" * 2000))
    finally:
        box.gmail.upload_limit = None
    assert box.user.drafts == {}


async def test_no_error_tells_what_gmail_said_in_its_own_words(box: Box, quick: None) -> None:
    for status in (400, 403, 404, 409, 412, 500):
        box.gmail.fail_next("GET", "threads.get", status=status, message="CANARY bob@example.com", times=3)
        with pytest.raises(PostroomError) as caught:
            await box.mailbox.thread("19a0000000000001")
        assert "CANARY" not in caught.value.message + str(caught.value.details)
        box.gmail.forget_faults()
