"""Batches, limits, categories, changes and rules."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest
from tests.contract.mails import mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

from postroom.model.errors import (
    CursorExpired,
    InvalidRequest,
    NotFound,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.model.rule import Action, Condition, Rule
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.http.unclear import UnclearWrite

from .test_graph_reading import opened


async def test_of_a_batch_only_what_was_refused_for_now_is_asked_again(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(5)]
    graph.fail_next("PATCH", "messages.update", status=429, retry_after=0, times=2)
    results = await mailbox.set_flags(refs, add=["read"])
    assert all(result.ok for result in results)
    assert graph.count("batch") == 2
    assert graph.count("messages.update") == 7
    assert all(message.change == 2 for message in alice.messages), "nothing was done twice"


async def test_a_write_that_failed_in_a_batch_is_unclear_alone_and_never_repeated(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(3)]
    graph.fail_next("PATCH", "messages.update", status=503, after_effect=True)
    results = await mailbox.set_flags(refs, add=["read"])
    assert [result.ok for result in results] == [False, True, True]
    assert isinstance(results[0].error, UnclearWrite)
    assert graph.count("messages.update") == 3


async def test_what_is_refused_again_and_again_is_named_and_the_rest_is_done(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    first, second = (graph.deliver(alice, mail(key)).immutable_id for key in ("one", "two"))
    graph.fail_next("PATCH", "messages.update", status=429, retry_after=0, times=5)
    results = await mailbox.set_flags([first, second], add=["read"])
    assert sorted(result.ok for result in results) == [False, True]
    assert isinstance(next(result.error for result in results if result.error), RateLimited)


@pytest.mark.parametrize("where", ["batch", "within"])
async def test_a_token_that_expired_meanwhile_is_renewed_and_nothing_is_done_twice(
    graph: FakeGraph, alice: Mailbox, tmp_path: Path, where: str
) -> None:
    (tmp_path / "token").write_text(old := graph.token(alice))
    mailbox = opened(graph, alice, token="", token_command=["cat", str(tmp_path / "token")])
    await mailbox.connect()
    refs = [graph.deliver(alice, mail(key)).immutable_id for key in ("one", "two")]
    (tmp_path / "token").write_text(graph.token(alice))
    if where == "batch":
        graph.tokens.revoke(old)
    else:
        graph.fail_next("PATCH", "messages.update", status=401, times=2)
    assert all(result.ok for result in await mailbox.set_flags(refs, add=["read"]))
    assert all(message.change == 2 for message in alice.messages)
    await mailbox.close()


async def test_what_was_done_before_a_lost_batch_is_told_and_the_rest_is_not_tried(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(50)]
    graph.hold_next("POST", "batch").release()
    graph.cut_next("POST", "batch", after_effect=True)
    results = await mailbox.set_flags(refs, add=["read"])
    kinds = [type(result.error) for result in results]
    assert kinds == [type(None)] * 20 + [UnclearWrite] * 20 + [ProviderUnavailable] * 10
    assert sum(message.is_read for message in alice.messages) == 40


async def test_what_a_batch_did_is_told_even_when_its_repetition_is_lost(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    first, second = (graph.deliver(alice, mail(key)).immutable_id for key in ("one", "two"))
    graph.fail_next("PATCH", "messages.update", status=429, retry_after=0)
    graph.hold_next("POST", "batch").release()
    graph.cut_next("POST", "batch")
    results = await mailbox.set_flags([first, second], add=["read"])
    assert [type(result.error) for result in results] == [UnclearWrite, type(None)]


async def test_messages_in_a_hidden_folder_are_found_without_listing_all_folders_each_time(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    hidden = alice.add_folder("Sync Issues", hidden=True)
    stored = graph.deliver(alice, mail("one"), hidden.id)
    await mailbox.envelopes([stored.immutable_id])
    graph.forget()
    (row,) = await mailbox.envelopes([stored.immutable_id])
    assert row is not None
    assert graph.count("folders.list") == 0


async def test_many_messages_go_in_batches_of_twenty(graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(45)]
    results = await mailbox.move(refs, alice.well_known["archive"])
    assert [result.ref for result in results] == refs
    assert all(result.ok and not result.new_ref for result in results)
    assert graph.count("batch") == 3


async def test_no_more_than_four_requests_are_under_way_for_a_mailbox(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(12)]
    async with anyio.create_task_group() as group:
        for ref in refs:
            group.start_soon(partial(mailbox.fetch_raw, ref))
    assert {recorded.status for recorded in graph.requests} == {200}  # the fake refuses a fifth
    assert len(graph.requests) == 12


async def test_a_category_that_somebody_adds_at_the_same_time_is_not_lost(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    stored = graph.deliver(alice, mail("one"), categories=["red"])
    hold = graph.hold_next("POST", "batch", after_effect=True)

    async def meddle() -> None:
        await anyio.to_thread.run_sync(hold.reached.wait)
        with graph.lock:
            stored.categories.append("green")
            alice.touched(stored)
        hold.release()

    async with anyio.create_task_group() as group:
        group.start_soon(meddle)
        (result,) = await mailbox.apply_label([stored.immutable_id], "blue")
    assert result.ok
    assert set(stored.categories) == {"red", "green", "blue"}


async def test_labels_work_without_the_permission_for_the_list_of_categories(graph: FakeGraph, alice: Mailbox) -> None:
    mailbox = opened(graph, alice, token=graph.token(alice, {"Mail.ReadWrite", "User.Read"}))
    await mailbox.connect()
    stored = graph.deliver(alice, mail("one"))
    (result,) = await mailbox.apply_label([stored.immutable_id], "errand")
    assert (result.ok, stored.categories, alice.categories) == (True, ["errand"], {})
    assert await mailbox.labels() == ["errand"]
    await mailbox.close()


@pytest.mark.parametrize("label", ["", "  ", "a,b", "a\nb", "x" * 256])
async def test_a_label_that_is_no_category_is_refused(mailbox: GraphMailbox, label: str) -> None:
    with pytest.raises(InvalidRequest, match="category"):
        await mailbox.apply_label([], label)


async def test_a_delta_that_the_service_forgot_starts_anew(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    graph.forget_delta()
    with pytest.raises(CursorExpired):
        await mailbox.changed_since(cursor, limit=10)
    again = (await mailbox.changed_since("", limit=10)).cursor
    graph.fail_next("GET", "messages.delta", status=400, reason="SyncStateInvalid")
    with pytest.raises(CursorExpired):
        await mailbox.changed_since(again, limit=10)


async def test_a_new_folder_is_told_and_a_lost_one_asks_to_read_everything(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    cursor = (await mailbox.changed_since("", limit=10)).cursor
    folder = alice.add_folder("Fresh")
    stored = graph.deliver(alice, mail("one"), folder.id)
    page = await mailbox.changed_since(cursor, limit=10)
    assert (page.changed, page.removed) == ((stored.immutable_id,), ())
    alice.remove_folder(folder)
    with pytest.raises(CursorExpired):
        await mailbox.changed_since(page.cursor, limit=10)


BILLS = Rule(
    "Bills",
    (
        Condition("subject", "contains", ("invoice", "bill")),
        Condition("from", "in", ("a@x.example", "b@x.example")),
        Condition("has_attachment", "equals", ("true",)),
        Condition("size", "greater_than", ("2048",)),
        Condition("body", "contains", ("paid",), negated=True),
    ),
    (Action("apply_label", "Money"), Action("mark_read"), Action("archive")),
)


async def test_rules_are_put_read_back_switched_and_those_of_others_left_alone(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    theirs = {"id": "AQAAtheirs=", "displayName": "Mine", "sequence": 3, "isEnabled": True, "conditions": None}
    alice.rules[theirs["id"]] = {**theirs, "actions": {"markAsRead": True}}  # type: ignore[index]
    assert await mailbox.check_rules([BILLS]) == {}
    await mailbox.put_rules([BILLS])
    kept = await mailbox.list_rules()
    assert (kept.rules, kept.is_active) == ((BILLS,), False)
    await mailbox.activate_rules(True)
    other = Rule("Other", (Condition("subject", "contains", ("x",)),), (Action("delete"),))
    await mailbox.put_rules([BILLS, other])
    kept = await mailbox.list_rules()
    assert (kept.rules, kept.is_active) == ((BILLS, other), True)
    assert alice.rules["AQAAtheirs="]["isEnabled"]
    await mailbox.put_rules([])
    assert list(alice.rules) == ["AQAAtheirs="]


async def test_a_rule_that_runs_does_what_it_says(graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox) -> None:
    rule = Rule("News", (Condition("from", "contains", ("news@",)),), (Action("move_folder", "Archive"),))
    await mailbox.put_rules([rule])
    await mailbox.activate_rules(True)
    stored = graph.deliver(alice, mail("one", sender="News <news@x.example>"))
    assert stored.folder == alice.well_known["archive"]


@pytest.mark.parametrize(
    "rule",
    [
        Rule("r", (Condition("subject", "contains", ("x",)),), (Action("forward", "eve@x.example"),)),
        Rule("r", (Condition("subject", "contains", ("x",)),), (Action("star"),)),
        Rule("r", (Condition("subject", "contains", ("x",)),), (Action("move_folder", "Sent Items"),)),
        Rule("r", (Condition("subject", "matches", ("x*",)),), (Action("mark_read"),)),
        Rule("r", (Condition("age_days", "greater_than", ("3",)),), (Action("mark_read"),)),
        Rule("r", (Condition("subject", "contains", ("x",)),) * 2, (Action("mark_read"),)),
        # Exchange would look for these in every header, and in Cc too.
        Rule("r", (Condition("list_id", "contains", ("x.example",)),), (Action("delete"),)),
        Rule("r", (Condition("to", "contains", ("x",)),), (Action("delete"),)),
        Rule("r", (Condition("subject", "contains", ("x",), negated=True),), (Action("mark_read"),)),
        Rule("r", (), (Action("mark_read"),)),
    ],
)
async def test_a_rule_that_exchange_cannot_run_is_refused_by_name_and_changes_nothing(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, rule: Rule
) -> None:
    assert set(await mailbox.check_rules([rule, BILLS])) == {"r"}
    with pytest.raises(InvalidRequest, match="'r'"):
        await mailbox.put_rules([BILLS, rule])
    assert alice.rules == {}


async def test_when_a_rule_cannot_be_made_the_old_ones_stay(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    await mailbox.put_rules([BILLS])
    before = dict(alice.rules)
    graph.fail_next("POST", "rules.create", status=400)
    with pytest.raises(ProviderError, match="400"):
        await mailbox.put_rules([replace(BILLS, name="New"), BILLS])
    assert alice.rules == before


async def test_a_folder_that_is_gone_meanwhile_is_not_found(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    folder = alice.add_folder("Brief")
    stored = graph.deliver(alice, mail("one"))
    await mailbox.folders()
    alice.remove_folder(folder)
    (result,) = await mailbox.move([stored.immutable_id], folder.id)
    assert isinstance(result.error, NotFound)
    assert stored.folder == alice.well_known["inbox"]
