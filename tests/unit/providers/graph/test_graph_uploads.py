"""Large files: in pieces to an upload session, which may be cut, forget, expire or say something else than before."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.contract.mails import message_id
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

from postroom.mime.write.compose import compose
from postroom.model.address import Address
from postroom.model.draft import Draft, File, Importance
from postroom.model.errors import ProviderUnavailable
from postroom.model.outcome import SubmitRequest
from postroom.providers.graph.mail import drafts, uploads
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.transport import GraphTransport
from postroom.safety.staged import check_staged

from .test_graph_sending import request_of, staged

BIG = bytes(range(256)) * 14


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of the service in small, so that tests move kilobytes."""
    monkeypatch.setattr(drafts, "_LARGEST_MIME", 4_000)
    monkeypatch.setattr(drafts, "_LARGEST_FILE", 2_000)
    monkeypatch.setattr(uploads, "_PIECE", 1_000)


def large(alice: Mailbox, bob: Mailbox) -> SubmitRequest:
    files = (
        File("small.txt", "text/plain", b"small"),
        File("big.bin", "application/octet-stream", BIG),  # 3584 bytes: four pieces
    )
    sender, to = Address(alice.address, "Alice"), (Address(bob.address, "Bob"),)
    draft = Draft(sender, to, subject="Large", text="See below.", html="<p>See below.</p>", files=files)
    raw = compose(replace(draft, importance=Importance.HIGH), message_id=message_id("large"))
    return request_of(alice, bob, "large", raw=raw)


async def test_a_large_message_is_staged_whole_its_files_in_one_request_or_in_pieces(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    request = await staged(transport, large(alice, bob))
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)
    assert (graph.count("attachments.create"), graph.count("attachments.upload"), graph.count("upload")) == (1, 1, 4)
    assert {one.status for one in graph.requests if one.operation == "upload"} == {200, 201}  # 401 with a token
    assert (await transport.submit(request)).state == "accepted"
    (arrived,) = bob.within("inbox")
    assert [file.name for file in arrived.content.files] == ["small.txt", "big.bin"]
    assert arrived.content.message_id == message_id("large")


@pytest.mark.parametrize("after_effect", [False, True])
@pytest.mark.parametrize("pieces_before", [0, 1, 3])
async def test_an_upload_that_was_cut_goes_on_where_it_stopped(
    graph: FakeGraph,
    alice: Mailbox,
    bob: Mailbox,
    transport: GraphTransport,
    small: None,
    after_effect: bool,
    pieces_before: int,
) -> None:
    for _ in range(pieces_before):  # these pass; a hold that is released at once is no fault
        graph.hold_next("PUT", "upload").release()
    graph.cut_next("PUT", "upload", after_effect=after_effect)
    request = await staged(transport, large(alice, bob))
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)
    assert sum(one.operation == "upload" and one.method == "PUT" for one in graph.requests) == (
        4 if after_effect else 5
    )


async def test_an_upload_that_never_gets_through_leaves_no_half_draft(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.cut_next("PUT", "upload", times=5)
    with pytest.raises(ProviderUnavailable):  # nothing was sent: it is tried again later
        await transport.stage(large(alice, bob))
    assert alice.messages == []


async def test_a_file_over_the_limit_is_refused_and_leaves_nothing(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.fail_next("POST", "attachments.upload", status=400, reason="ErrorAttachmentSizeLimitExceeded")
    with pytest.raises(Exception, match="ErrorAttachmentSizeLimitExceeded"):
        await transport.stage(large(alice, bob))
    assert alice.messages == []


async def check(transport: GraphTransport, request: SubmitRequest) -> None:
    """What lies there is what was to be staged, to the last byte."""
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)


@pytest.mark.parametrize("pieces_before", [0, 1, 2, 3])
async def test_a_session_that_expired_is_replaced_by_another_from_the_beginning(
    graph: FakeGraph,
    alice: Mailbox,
    bob: Mailbox,
    transport: GraphTransport,
    small: None,
    pieces_before: int,
) -> None:
    for _ in range(pieces_before):
        graph.hold_next("PUT", "upload").release()
    graph.fail_next("PUT", "upload", status=404, reason="ErrorItemNotFound")
    await check(transport, await staged(transport, large(alice, bob)))
    assert graph.count("attachments.upload") == 2


async def test_a_session_that_expired_during_a_cut_at_the_last_piece_does_not_pass_for_a_complete_one(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, bob: Mailbox, small: None
) -> None:
    """The address of a complete upload no longer exists either."""
    for _ in range(3):
        graph.hold_next("PUT", "upload").release()
    graph.cut_next("PUT", "upload")
    graph.fail_next("GET", "upload", status=404, reason="ErrorItemNotFound")
    saved = await mailbox.create_draft(large(alice, bob).raw)
    assert [file.content for file in alice.message(saved.ref).content.files] == [b"small", BIG]
    assert graph.count("attachments.upload") == 2


async def test_sessions_that_expire_again_and_again_leave_no_half_draft(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.fail_next("PUT", "upload", status=404, times=3)
    with pytest.raises(ProviderUnavailable):
        await transport.stage(large(alice, bob))
    assert alice.messages == []


@pytest.mark.parametrize(
    "ranges", [["9999-"], ["99999999999999999999-"], ["x-"], [], None, [5], ["-1-"], "0-", ["3584-"]]
)
async def test_a_place_to_go_on_from_that_cannot_be_is_an_error_and_leaves_nothing(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None, ranges: object
) -> None:
    graph.cut_next("PUT", "upload")
    graph.answer_next("GET", "upload", json.dumps({"nextExpectedRanges": ranges}))
    with pytest.raises(ProviderUnavailable, match="how to continue"):
        await transport.stage(large(alice, bob))
    assert alice.messages == []


async def test_a_service_that_wants_the_same_piece_for_ever_is_given_up(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.answer_next("PUT", "upload", json.dumps({"nextExpectedRanges": ["0-"]}), times=5)
    with pytest.raises(ProviderUnavailable, match="how to continue"):
        await transport.stage(large(alice, bob))
    assert alice.messages == []


async def test_a_service_that_took_only_a_part_of_a_piece_gets_the_rest(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    """It kept nothing of the first one, and says so where it usually says that it kept all."""
    graph.answer_next("PUT", "upload", json.dumps({"nextExpectedRanges": ["0-3583"]}))
    await check(transport, await staged(transport, large(alice, bob)))


async def test_a_piece_that_was_not_expected_is_followed_by_the_one_that_is(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.hold_next("PUT", "upload").release()
    graph.answer_next("PUT", "upload", json.dumps({"nextExpectedRanges": ["2000-"]}))  # which it did not keep
    await check(transport, await staged(transport, large(alice, bob)))


async def test_an_upload_that_is_called_complete_too_early_is_an_error_and_leaves_nothing(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.answer_next("PUT", "upload", b"", status=201)
    with pytest.raises(ProviderUnavailable, match="before its end"):
        await transport.stage(large(alice, bob))
    assert alice.messages == []


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1/x", "https://", None])
async def test_an_address_that_is_no_place_for_a_file_is_refused_and_leaves_nothing(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None, url: object
) -> None:
    graph.answer_next("POST", "attachments.upload", json.dumps({"uploadUrl": url}), status=201)
    with pytest.raises(ProviderUnavailable):
        await transport.stage(large(alice, bob))
    assert alice.messages == []


async def test_a_draft_that_somebody_deletes_during_an_upload_is_tried_again_later(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, small: None
) -> None:
    graph.fail_next("PUT", "upload", status=404)
    graph.hold_next("POST", "attachments.upload").release()
    graph.fail_next("POST", "attachments.upload", status=404, reason="ErrorItemNotFound")
    with pytest.raises(ProviderUnavailable, match="gone"):
        await transport.stage(large(alice, bob))
