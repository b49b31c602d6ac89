"""How many requests each thing takes, and what is done about those that are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from tests.contract.mails import PDF
from tests.peers.gmail.methods import METHODS

from postroom.model.errors import AuthRequired, PermissionDenied, ProviderUnavailable, RateLimited
from postroom.model.query.text import parse_query
from postroom.model.query.tree import Correspondent, In, Or, Query
from postroom.providers.gmail.session.wire import UNITS
from postroom.providers.http.quota import Quota, Rate

from .conftest import Box, opened


async def test_a_listing_is_one_list_and_one_batch(box: Box) -> None:
    for number in range(20):
        box.deliver(f"m{number}")
    page = await box.mailbox.search(Query(In("inbox")), limit=20, offset=0)
    assert (len(page.items), box.asked()) == (20, ["messages.list", "batch"])


async def test_a_thread_of_fifty_is_one_request(box: Box) -> None:
    for number in range(50):
        box.deliver(f"t{number}", subject="Re: Roof" if number else "Roof", answers=["t0"] if number else ())
    thread_ref = box.user.message(next(iter(box.user.messages))).thread_id
    assert len(await box.mailbox.thread(thread_ref)) == 50
    assert box.asked() == ["threads.get"]


async def test_a_message_is_one_request_and_an_attachment_two_however_often_its_id_expires(box: Box) -> None:
    ref = box.deliver(files=[("plan.pdf", PDF)])
    (file,) = (await box.mailbox.fetch(ref)).attachments
    assert (file.size, box.asked()) == (len(PDF), ["messages.get"])
    box.gmail.forget_attachment_ids(box.user)
    assert await box.mailbox.fetch_part(ref, file.part) == PDF
    assert box.asked()[1:] == ["messages.get", "messages.attachments.get"]


async def test_a_thousand_messages_are_labelled_by_one_change_and_missing_ones_are_told(box: Box) -> None:
    refs = [box.deliver(f"m{number}") for number in range(1000)]
    wanted = [*refs, "19a0ffffffffffff"]
    label = box.label("Receipts")
    box.gmail.forget()
    results = await box.mailbox.apply_label(wanted, "Receipts")
    assert [result.ok for result in results] == [True] * 1000 + [False]
    assert len(box.user.labelled(label)) == 1000
    assert box.gmail.count("messages.batchModify") == 1
    assert len(box.asked()) <= 7


async def test_a_label_that_is_made_and_applied_takes_as_few_requests_as_there_are_steps(box: Box) -> None:
    refs = [box.deliver(f"m{number}") for number in range(3)]
    await box.mailbox.envelopes(refs)
    box.mailbox._labels._asked_at = None  # the list of labels has become old
    box.gmail.forget()
    assert all(result.ok for result in await box.mailbox.apply_label(refs, "New"))
    assert box.asked() == ["labels.list", "labels.create", "history.list", "messages.batchModify"]


async def test_more_than_a_thousand_are_changed_in_several_requests(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.providers.gmail.mail.organising.PER_CHANGE", 10)
    refs = [box.deliver(f"m{number}") for number in range(25)]
    assert all(result.ok for result in await box.mailbox.set_flags(refs, add=["read"]))
    assert box.gmail.count("messages.batchModify") == 3
    assert box.user.labelled("UNREAD") == []


async def test_a_change_that_fails_is_told_for_its_messages_alone(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.providers.gmail.mail.organising.PER_CHANGE", 2)
    refs = [box.deliver(f"m{number}") for number in range(4)]
    box.gmail.fail_next("POST", "messages.batchModify", status=403, reason="insufficientPermissions")
    results = await box.mailbox.set_flags(refs, add=["starred"])
    assert [result.ok for result in results] == [False, False, True, True]
    assert isinstance(results[0].error, PermissionDenied)


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (403, "rateLimitExceeded", RateLimited),
        (403, "userRateLimitExceeded", RateLimited),
        (403, "dailyLimitExceeded", RateLimited),
        (403, "quotaExceeded", RateLimited),
        (429, "rateLimitExceeded", RateLimited),
        (403, "insufficientPermissions", PermissionDenied),
        (403, "domainPolicy", PermissionDenied),
        (403, "accessNotConfigured", PermissionDenied),
        (403, "forbidden", PermissionDenied),
        (500, "backendError", ProviderUnavailable),
        (503, "backendError", ProviderUnavailable),
    ],
)
async def test_a_refusal_is_what_its_reason_says(box: Box, status: int, reason: str, kind: type, quick: None) -> None:
    box.gmail.fail_next("GET", "messages.get", status=status, reason=reason, message="CANARY", times=3)
    with pytest.raises(kind) as caught:
        await box.mailbox.fetch(box.deliver())
    assert reason in caught.value.message
    assert "CANARY" not in caught.value.message


@pytest.mark.parametrize(
    ("reason", "advice"),
    [("insufficientPermissions", "postroom accounts login mine"), ("accessNotConfigured", "Enable the Gmail API")],
)
async def test_a_refusal_that_a_person_can_mend_says_how(box: Box, reason: str, advice: str) -> None:
    box.gmail.fail_next("GET", "messages.get", status=403, reason=reason)
    with pytest.raises(PermissionDenied, match=advice):
        await box.mailbox.fetch(box.deliver())


async def test_a_read_is_tried_three_times_and_waits_as_long_as_gmail_says(box: Box, waits: list[float]) -> None:
    ref = box.deliver()
    box.gmail.fail_next("GET", "messages.get", status=503)
    box.gmail.fail_next("GET", "messages.get", status=429, retry_after=1)
    assert (await box.mailbox.fetch(ref)).envelope.ref == ref
    assert box.gmail.count("messages.get") == 3
    assert max(waits) >= 1


async def test_what_a_batch_refuses_for_now_is_asked_for_again_alone(box: Box, quick: None) -> None:
    refs = [box.deliver(f"m{number}") for number in range(5)]
    box.gmail.fail_next("GET", "messages.get", status=429, times=2)
    assert [row and row.ref for row in await box.mailbox.envelopes(refs)] == refs
    assert box.gmail.count("messages.get") == 7
    assert box.gmail.count("batch") == 2


async def test_a_batch_that_stays_refused_is_an_error_and_no_gap(box: Box, quick: None) -> None:
    refs = [box.deliver(f"m{number}") for number in range(3)]
    box.gmail.fail_next("GET", "messages.get", status=403, reason="userRateLimitExceeded", times=9)
    with pytest.raises(RateLimited):
        await box.mailbox.envelopes(refs)


async def test_a_pause_that_only_a_part_of_a_batch_names_holds_for_every_request(box: Box) -> None:
    refs = [box.deliver(f"m{number}") for number in range(3)]
    box.gmail.fail_next("GET", "messages.get", status=429, retry_after=3600)
    with pytest.raises(RateLimited):
        await box.mailbox.envelopes(refs)
    box.gmail.forget()
    with pytest.raises(RateLimited):
        await box.mailbox.folders()
    assert box.gmail.requests == []


@pytest.fixture
def tokens(box: Box) -> Any:
    class Tokens:
        """The first token is refused; asked for newer ones, it gives one and counts."""

        asked = 0
        now = "expired"

        async def token(self) -> str:
            return self.now

        async def refreshed(self, old: str) -> str:
            if old == self.now:
                self.asked += 1
                self.now = box.gmail.token(box.user)
            return self.now

    tokens = Tokens()
    box.mailbox.client._api._tokens = tokens
    return tokens


async def test_a_refused_token_is_renewed_once_for_all_parallel_calls(box: Box, tokens: Any) -> None:
    refs = [box.deliver(f"m{number}") for number in range(8)]
    async with anyio.create_task_group() as group:
        for ref in refs:
            group.start_soon(box.mailbox.fetch, ref)
        group.start_soon(box.mailbox.envelopes, refs)
    assert tokens.asked == 1


async def test_a_token_refused_inside_a_batch_is_renewed_too(box: Box, tokens: Any) -> None:
    refs = [box.deliver(f"m{number}") for number in range(3)]
    assert [row and row.ref for row in await box.mailbox.envelopes(refs)] == refs
    assert (tokens.asked, box.gmail.count("batch")) == (1, 2)


async def test_a_token_that_stays_refused_names_the_command(box: Box, tokens: Any) -> None:
    box.gmail.tokens.revoke_all = True
    box.gmail.fail_next("GET", "messages.get", status=401, times=2)
    with pytest.raises(AuthRequired, match="postroom accounts login mine"):
        await box.mailbox.fetch(box.deliver())


async def test_units_are_spent_ahead_of_time_so_that_gmail_refuses_nothing(box: Box) -> None:
    """With the clock of the fake in step with the waiting: never more than its limit in any minute."""
    now = [box.gmail.clock()]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    quota = box.gmail.quota
    before, quota.clock = quota.clock, lambda: now[0]
    quota.per_user_per_minute, prices = 6000, dict(quota.costs)
    quota.costs |= {"messages.get": 20, "threads.get": 40, "drafts.get": 20}
    try:
        _, mailbox, _ = opened(box.gmail, box.user, units_per_minute=6000)
        mailbox.client._api._quota = Quota(
            units=Rate(per_second=50, burst=3000), patience=1e9, sleep=sleep, clock=lambda: now[0]
        )
        refs = [box.deliver(f"m{number}") for number in range(25)]
        for _ in range(40):
            assert None not in await mailbox.envelopes(refs)
        await mailbox.close()
    finally:
        quota.clock, quota.costs, quota.per_user_per_minute = before, prices, None
    assert {one.status for one in box.gmail.requests} == {200}
    assert now[0] - box.gmail.clock() > 200


def test_what_a_request_costs_is_at_least_what_google_says() -> None:
    ours = {"messages.list": "messages", "messages.get": "message", "messages.batchModify": "batchModify"}
    ours |= {"threads.get": "thread", "drafts.send": "draft.send", "drafts.create": "draft.create"}
    ours |= {"drafts.update": "draft.update", "history.list": "history", "labels.list": "labels"}
    for method, name in ours.items():
        assert UNITS[name] >= METHODS[method].units


async def test_a_search_goes_out_in_gmails_words_with_times_in_seconds(box: Box) -> None:
    query = parse_query('from:anna "quick brown" after:2026-01-02 -is:unread', now=datetime(2026, 6, 1, tzinfo=UTC))
    await box.mailbox.search(query, limit=5, offset=0)
    (asked,) = [dict(one.params) for one in box.gmail.requests if one.operation == "messages.list"]
    assert asked["q"] == 'from:"anna" "quick brown" after:1767312000 -is:unread'


async def test_a_question_too_long_for_gmail_goes_out_in_parts(box: Box) -> None:
    people = [f"{'x' * 60}{number}@{'y' * 60}.example" for number in range(20)]
    refs = [box.deliver(f"m{number}", to=people[number], days_ago=number) for number in (0, 7, 19)]
    box.deliver("other")
    named = Or(tuple(Correspondent(field, person) for person in people for field in ("to", "cc")))  # type: ignore[arg-type]
    page = await box.mailbox.search(Query().narrowed(In("INBOX"), named), limit=2, offset=0)
    assert ([row.ref for row in page.items], page.has_more) == (refs[:2], True)
    page = await box.mailbox.search(Query().narrowed(In("INBOX"), named), limit=2, offset=2)
    assert ([row.ref for row in page.items], page.has_more) == (refs[2:], False)
