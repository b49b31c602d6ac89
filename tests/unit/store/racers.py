"""Several processes on one state file, let go at the same instant, round after round."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from tests.unit.store.kit import WORK, a_send

from postroom.model.errors import Conflict, RateLimited
from postroom.model.ids import Kind
from postroom.store import AuditEntry, RateLimit, Store, open_store

PROCESSES = 8
LIMIT = RateLimit(3)
Move = Callable[[Store, Any], Any]


def race(path: Path, move: Move, rounds: Sequence[Any], *, limit: RateLimit = LIMIT) -> list[list[Any]]:
    """Each process makes the same move in each round; answers what each of them got, by round."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(PROCESSES)
    answers: Any = context.Queue()
    runners = [
        context.Process(target=_run, args=(path, move, rounds, limit, barrier, answers)) for _ in range(PROCESSES)
    ]
    for runner in runners:
        runner.start()
    got = [answers.get(timeout=120) for _ in runners]
    for runner in runners:
        runner.join()
    return [list(by_process) for by_process in zip(*got, strict=True)]


def _run(path: Path, move: Move, rounds: Sequence[Any], limit: RateLimit, barrier: Barrier, answers: Any) -> None:
    barrier.wait()
    store = open_store(path, limit=limit)
    got = []
    for each in rounds:
        barrier.wait()
        got.append(move(store, each))
    barrier.wait()  # none closes, and so seems dead, while another still looks
    store.close()
    answers.put(got)


def reserve_with_key(store: Store, key: str) -> str | None:
    send = store.outbox.prepare(a_send(account=key, idempotency_key=key))
    try:
        return store.outbox.reserve(send.send_id).send.send_id
    except Conflict:
        return None


def reserve_one_row(store: Store, send_id: str) -> bool:
    try:
        store.outbox.reserve(send_id)
    except Conflict:
        return False
    return True


def take_a_token(store: Store, account: str) -> bool:
    try:
        store.outbox.reserve(store.outbox.prepare(a_send(account=account)).send_id)
    except RateLimited:
        return False
    return True


def consume_approval(store: Store, approval: tuple[str, str]) -> bool:
    return store.approvals.consume(*approval)


def approve_with_one_proof(store: Store, approvals: list[str]) -> int:
    """Try the same proof on each of several sends; answers how many it approved."""
    approved = 0
    for approval_id in approvals:
        with suppress(Conflict):
            store.approvals.approve(approval_id, who="pat", how="vault", source=approvals[0])
            approved += 1
    return approved


def claim_due(store: Store, _: int) -> list[str]:
    return [send.send_id for send in store.worklist.due(limit=3)]


def issue_handles(store: Store, number: int) -> list[str]:
    return store.handles.issue(Kind.EMAIL, WORK, [str(number), str(number + 1)])


def append_audit(store: Store, number: int) -> int:
    return store.audit.append(AuditEntry("send_email", "success", duration_ms=number))


def undo(store: Store, operation_id: str) -> bool:
    try:
        store.journal.begin_undo(operation_id)
    except Conflict:
        return False
    return True


def use_preview(store: Store, content: str) -> bool:
    return store.previews.consume(WORK, content)


def recover(store: Store, _: int) -> int:
    return len(store.worklist.recover())
