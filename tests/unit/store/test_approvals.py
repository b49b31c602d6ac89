from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.unit.store.kit import A_DAY, FakeTime, a_send, brought_to, sha

from postroom.model.errors import Conflict, InvalidRequest, NotFound, RateLimited
from postroom.store import Approval, State, Store, open_store
from postroom.store.sends.approvals import Letter


@pytest.fixture
def approval(store: Store, time: FakeTime) -> Approval:
    return store.approvals.request(store.outbox.prepare(a_send()).send_id, expires_at=time.wall + A_DAY)


def test_a_prepared_send_waits_for_a_person(store: Store, time: FakeTime, approval: Approval) -> None:
    send = store.outbox.get(approval.send_id)
    assert (send.state, send.approval_id) == (State.AWAITING_APPROVAL, approval.approval_id)
    assert (approval.state, approval.content_sha256, approval.asked) == ("pending", send.content_sha256, "")
    assert (approval.created_at, approval.expires_at) == (time.wall, time.wall + A_DAY)
    assert store.approvals.pending() == [approval]


def test_what_was_put_before_the_person_is_remembered(store: Store, time: FakeTime) -> None:
    send = store.outbox.prepare(a_send())
    assert store.approvals.request(send.send_id, expires_at=time.wall + 1, asked="print").asked == "print"


def test_what_a_person_will_read_is_kept_until_it_is_written_or_its_send_is_over(store: Store, time: FakeTime) -> None:
    asked = [
        store.approvals.request(
            store.outbox.prepare(a_send(content)).send_id,
            expires_at=time.wall + A_DAY,
            letter=lambda approval_id: (f"{approval_id}.md", b"words"),
        )
        for content in ("one", "two")
    ]
    letters = [Letter(one.approval_id, f"{one.approval_id}.md", b"words") for one in asked]
    assert sorted(store.approvals.unwritten(), key=letters.index) == letters
    store.approvals.written(asked[0].approval_id)
    assert store.approvals.unwritten() == letters[1:]
    store.outbox.cancel(asked[1].send_id)
    assert store.approvals.unwritten() == []


def test_a_send_that_waits_for_a_person_holds_its_key(store: Store) -> None:
    send = brought_to(store, State.AWAITING_APPROVAL, a_send(idempotency_key="k"))
    assert store.keys.holder("work", "send_email", "k") == send


def test_a_send_is_asked_about_once(store: Store, time: FakeTime, approval: Approval) -> None:
    with pytest.raises(Conflict):
        store.approvals.request(approval.send_id, expires_at=time.wall)
    assert store.approvals.pending() == [approval]


def test_an_approved_send_becomes_due_and_the_record_says_who_and_how(
    store: Store, time: FakeTime, approval: Approval
) -> None:
    time.passes(60)
    given = store.approvals.approve(approval.approval_id.upper(), who="pat", how="page")
    assert (given.state, given.who, given.how, given.decided_at) == ("approved", "pat", "page", time.wall)
    assert store.approvals.pending() == []
    assert [send.send_id for send in store.worklist.due()] == [approval.send_id]


def test_a_rejected_send_is_cancelled(store: Store, approval: Approval) -> None:
    assert store.approvals.reject(approval.approval_id, who="pat", how="cli").state == "rejected"
    assert store.outbox.get(approval.send_id).state is State.CANCELLED
    assert not store.approvals.consume(approval.approval_id, approval.content_sha256)


def test_a_decision_is_made_once(store: Store, other: Store, approval: Approval) -> None:
    store.approvals.reject(approval.approval_id, who="pat", how="cli")
    for again in (other.approvals.approve, other.approvals.reject):
        with pytest.raises(Conflict, match=f"{approval.approval_id} is already rejected and cannot be") as refused:
            again(approval.approval_id, who="sam", how="page")
        assert refused.value.details == {"approval_id": approval.approval_id, "state": "rejected"}
    assert store.approvals.get(approval.approval_id).who == "pat"


def test_an_approval_is_consumed_once_and_only_for_its_content(store: Store, other: Store, approval: Approval) -> None:
    consume, content = store.approvals.consume, approval.content_sha256
    assert not consume(approval.approval_id, content)
    store.approvals.approve(approval.approval_id, who="pat", how="cli")
    assert not consume(approval.approval_id, sha("hello!"))
    assert consume(approval.approval_id, content)
    assert not other.approvals.consume(approval.approval_id, content)
    used = store.approvals.get(approval.approval_id)
    assert (used.state, used.consumed_at) == ("consumed", store.clock.wall())


def test_an_approval_never_given_in_time_ends_with_its_send(store: Store, time: FakeTime, approval: Approval) -> None:
    time.passes(A_DAY - 1)
    assert store.approvals.expire() == []
    time.passes(1)
    assert store.approvals.pending() == []
    assert [(ended.approval_id, ended.state) for ended in store.approvals.expire()] == [
        (approval.approval_id, "expired")
    ]
    assert store.outbox.get(approval.send_id).state is State.EXPIRED
    assert store.approvals.expire() == []


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_decision_that_comes_too_late_counts_for_nothing(
    store: Store, time: FakeTime, approval: Approval, decision: str
) -> None:
    time.passes(A_DAY)
    with pytest.raises(Conflict, match="already expired"):
        getattr(store.approvals, decision)(approval.approval_id, who="pat", how="cli")
    assert store.outbox.get(approval.send_id).state is State.EXPIRED


@pytest.mark.parametrize("set_by", [-2 * A_DAY, -A_DAY / 2, 0.0])
def test_no_clock_set_back_revives_an_approval_never_given_in_time(
    store: Store, time: FakeTime, approval: Approval, set_by: float
) -> None:
    time.passes(A_DAY)
    time.is_set(set_by)
    assert store.approvals.pending() == []
    assert store.approvals.pending_ids() == frozenset()
    with pytest.raises(Conflict, match="already expired"):
        store.approvals.approve(approval.approval_id, who="pat", how="cli")
    assert store.outbox.get(approval.send_id).state is State.EXPIRED


def test_an_approval_asked_for_before_a_reboot_can_still_be_given(
    store: Store, path: Path, time: FakeTime, approval: Approval
) -> None:
    time.passes(60)
    time.reboots()
    time.boottime = 40 * A_DAY  # the state folder has moved to a machine that has been up for long
    again = open_store(path, clock=time.clock())
    assert again.approvals.approve(approval.approval_id, who="pat", how="cli").state == "approved"
    again.close()


def test_an_approval_given_in_time_stands_until_it_is_used(store: Store, time: FakeTime, approval: Approval) -> None:
    store.approvals.approve(approval.approval_id, who="pat", how="cli")
    time.passes(2 * A_DAY)
    assert store.approvals.expire() == []
    assert store.outbox.reserve(approval.send_id).send.state is State.RESERVED


@pytest.mark.parametrize("state", [State.AWAITING_APPROVAL, State.APPROVED])
def test_a_cancelled_send_takes_its_approval_with_it(store: Store, state: State) -> None:
    send = brought_to(store, state)
    store.outbox.cancel(send.send_id)
    assert store.approvals.get(send.approval_id).state == "expired"
    with pytest.raises(Conflict):
        store.approvals.approve(send.approval_id, who="pat", how="cli")
    assert not store.approvals.consume(send.approval_id, send.content_sha256)


def test_one_proof_approves_one_send(store: Store, other: Store) -> None:
    first, second = (brought_to(store, State.AWAITING_APPROVAL) for _ in range(2))
    store.approvals.approve(first.approval_id, who="pat", how="vault", source="file-1")
    with pytest.raises(Conflict, match="used for another send"):
        other.approvals.approve(second.approval_id, who="pat", how="vault", source="file-1")
    assert store.outbox.get(second.send_id).state is State.AWAITING_APPROVAL
    other.approvals.approve(second.approval_id, who="pat", how="vault", source="file-2")


def test_pending_approvals_are_listed_oldest_first_whichever_ends_first(store: Store, time: FakeTime) -> None:
    asked = []
    for days in (3, 1, 2):
        send = store.outbox.prepare(a_send())
        asked.append(store.approvals.request(send.send_id, expires_at=time.wall + days * A_DAY).approval_id)
        time.passes(1)
    assert [approval.approval_id for approval in store.approvals.pending()] == asked


def test_unknown_approvals_say_so(store: Store) -> None:
    with pytest.raises(NotFound, match="approval"):
        store.approvals.approve("a0123456789", who="pat", how="cli")
    with pytest.raises(InvalidRequest, match="a send id, but an approval id"):
        store.approvals.get("s0123456789")
    assert not store.approvals.consume("a0123456789", sha("hello"))


def test_no_more_pending_approvals_are_listed_than_asked_for(store: Store) -> None:
    asked = [brought_to(store, State.AWAITING_APPROVAL).approval_id for _ in range(3)]
    assert len(store.approvals.pending(2)) == 2
    assert {approval.approval_id for approval in store.approvals.pending()} == set(asked)


def test_the_ids_of_what_waits_are_those_of_what_is_pending_and_not_too_late(store: Store, time: FakeTime) -> None:
    waiting, soon, decided = (store.outbox.prepare(a_send(str(number))).send_id for number in range(3))
    first = store.approvals.request(waiting, expires_at=time.wall + A_DAY)
    second = store.approvals.request(soon, expires_at=time.wall + 60)
    third = store.approvals.request(decided, expires_at=time.wall + A_DAY)
    store.approvals.approve(third.approval_id, who="pat", how="cli")
    assert store.approvals.pending_ids() == {first.approval_id, second.approval_id}
    time.passes(60)
    assert store.approvals.pending_ids() == {first.approval_id}
    assert [approval.approval_id for approval in store.approvals.pending()] == [first.approval_id]
    assert [ended.approval_id for ended in store.approvals.expire()] == [second.approval_id]
    assert store.outbox.get(waiting).state is State.AWAITING_APPROVAL


def test_what_was_shown_as_proof_is_kept_with_the_approval(store: Store, approval: Approval) -> None:
    assert approval.source is None
    assert store.approvals.approve(approval.approval_id, who="pat", how="vault", source="file-1").source == "file-1"


def test_a_refusal_says_who_and_how_and_when(store: Store, time: FakeTime, approval: Approval) -> None:
    time.passes(5)
    refused = store.approvals.reject(approval.approval_id, who="pat", how="page")
    assert (refused.who, refused.how, refused.decided_at) == ("pat", "page", time.wall)
    assert store.approvals.get(approval.approval_id) == refused


def test_only_what_waits_in_the_same_account_fills_its_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.store.sends.approvals.MAX_PENDING", 2)
    brought_to(store, State.AWAITING_APPROVAL, a_send(account="home"))
    for state in (State.DONE, State.PREPARED, State.AWAITING_APPROVAL, State.AWAITING_APPROVAL):
        brought_to(store, state)
    with pytest.raises(RateLimited, match="2 messages of this account are already waiting for approval") as refusal:
        brought_to(store, State.AWAITING_APPROVAL)
    assert refusal.value.details == {"waiting": 2}
    brought_to(store, State.AWAITING_APPROVAL, a_send(account="home"))


def test_a_hundred_messages_of_an_account_may_wait_for_a_person(store: Store) -> None:
    for number in range(100):
        brought_to(store, State.AWAITING_APPROVAL, a_send(str(number)))
    with pytest.raises(RateLimited, match="100 messages of this account"):
        brought_to(store, State.AWAITING_APPROVAL)


@pytest.mark.parametrize("column", ["send_id", "source"])
def test_the_state_file_itself_keeps_two_approvals_from_one_send_or_one_proof(store: Store, column: str) -> None:
    first, second = (brought_to(store, State.AWAITING_APPROVAL).approval_id for _ in range(2))
    store.approvals.approve(first, who="pat", how="vault", source="file-1")
    with pytest.raises(sqlite3.IntegrityError), sqlite3.connect(store._database.path) as tampering:
        tampering.execute(
            f"UPDATE approvals SET {column} = (SELECT {column} FROM approvals WHERE approval_id = ?)"
            " WHERE approval_id = ?",
            (first, second),
        )
