"""What holds for one process holds for eight at once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.unit.store import racers
from tests.unit.store.kit import WORK, a_send, brought_to
from tests.unit.store.racers import PROCESSES, race

from postroom.model.errors import Conflict
from postroom.store import RateLimit, State, open_store

PLENTY = RateLimit(10**6)


def test_one_key_gives_one_reservation(path: Path) -> None:
    keys = [f"key-{number}" for number in range(60)]
    for winners in race(path, racers.reserve_with_key, keys):
        assert len(set(winners) - {None}) == 1
        assert winners.count(None) == PROCESSES - 1


def test_one_row_is_reserved_once(path: Path) -> None:
    store = open_store(path, limit=PLENTY)
    sends = [brought_to(store, State.APPROVED).send_id for _ in range(60)]
    store.close()
    assert all(sum(got) == 1 for got in race(path, racers.reserve_one_row, sends, limit=PLENTY))


def test_the_last_tokens_go_to_as_many_as_there_are(path: Path) -> None:
    accounts = [f"account-{number}" for number in range(60)]
    assert all(sum(got) == racers.LIMIT.sends for got in race(path, racers.take_a_token, accounts))


def test_one_approval_is_consumed_once(path: Path) -> None:
    store = open_store(path, limit=PLENTY)
    sends = [brought_to(store, State.APPROVED) for _ in range(100)]
    store.close()
    approvals = [(send.approval_id, send.content_sha256) for send in sends]
    assert all(sum(got) == 1 for got in race(path, racers.consume_approval, approvals))


def test_one_proof_approves_one_of_many_sends(path: Path) -> None:
    store = open_store(path)
    rounds = [[brought_to(store, State.AWAITING_APPROVAL).approval_id for _ in range(3)] for _ in range(20)]
    store.close()
    assert all(sum(got) == 1 for got in race(path, racers.approve_with_one_proof, rounds))


def test_due_work_goes_to_one_worker_each_and_none_is_left(path: Path) -> None:
    store = open_store(path, limit=PLENTY)
    sends = {brought_to(store, State.HELD).send_id for _ in range(200)}
    store.close()
    claims = Counter(
        send_id for got in race(path, racers.claim_due, range(20)) for claimed in got for send_id in claimed
    )
    assert claims == Counter(sends)


def test_everyone_gets_the_same_handles(path: Path) -> None:
    rounds = race(path, racers.issue_handles, range(100))
    assert all(got == [got[0]] * PROCESSES for got in rounds)
    assert len({handle for got in rounds for handle in got[0]}) == 101


def test_the_audit_chain_holds(path: Path) -> None:
    numbers = [seq for got in race(path, racers.append_audit, range(50)) for seq in got]
    assert sorted(numbers) == list(range(1, 50 * PROCESSES + 1))
    store = open_store(path)
    report = store.audit.verify()
    store.close()
    assert (report.entries, report.ok) == (50 * PROCESSES, True)


def test_one_operation_is_undone_once_and_one_preview_used_once(path: Path) -> None:
    store = open_store(path)
    operations = [store.journal.record(WORK, "move", []) for _ in range(30)]
    for number in range(30):
        store.previews.remember(WORK, str(number))
    store.close()
    assert all(sum(got) == 1 for got in race(path, racers.undo, operations))
    assert all(sum(got) == 1 for got in race(path, racers.use_preview, [str(number) for number in range(30)]))


def test_the_work_of_the_dead_is_recovered_once(path: Path) -> None:
    worker = open_store(path, limit=PLENTY)
    for _ in range(20):
        brought_to(worker, State.SENDING)
    worker.close()
    assert sum(sum(got) for got in race(path, racers.recover, range(5))) == 20


def test_fifty_threads_with_one_key_give_one_reservation(path: Path) -> None:
    store = open_store(path)

    def call(_: int) -> str | float | None:
        send = store.outbox.prepare(a_send(idempotency_key="k"))
        try:
            return store.outbox.reserve(send.send_id).send.send_id
        except Conflict as conflict:
            return conflict.retry_after

    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(call, range(50)))
    assert sum(isinstance(answer, str) for answer in answers) == 1
    assert sum(isinstance(answer, float) for answer in answers) == 49
    assert store.rate.status(WORK).used == 1
    store.close()


def test_threads_share_one_store(path: Path) -> None:
    store = open_store(path, limit=PLENTY)
    with ThreadPoolExecutor(16) as pool:
        states = list(pool.map(lambda _: brought_to(store, State.DONE).state, range(100)))
    assert states == [State.DONE] * 100
    assert store.outbox.list(states=[State.DONE]).total == 100
    store.close()
