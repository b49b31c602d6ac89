"""A disk that is full, a state file that somebody holds: a clear error, nothing lost, and all is well afterwards."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.faults.aftermath import is_promise, judge, repeat, settle
from tests.faults.scenarios import SCENARIOS, Scenario, approve_pending, gateway_of
from tests.gate.rigs import MAIL, GateRig, gate_rig

from postroom.model.errors import PostroomError, ProviderUnavailable
from postroom.providers.layers.layered import unwrapped
from postroom.service.sending import outbox, worker
from postroom.store import State, Store


class Locker:
    """Another process that holds a database, for as long as it is asked to."""

    PROGRAM = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for line in sys.stdin:\n"
        "    connection.execute(line)\n"
        "    print(flush=True)\n"
    )

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", self.PROGRAM, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def lock(self) -> None:
        self._say("BEGIN IMMEDIATE")

    def unlock(self) -> None:
        self._say("ROLLBACK")

    def _say(self, statement: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{statement}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@contextmanager
def locker(path: Path) -> Iterator[Locker]:
    opened = Locker(path)
    yield opened
    opened.close()


def grow_impatient(store: Store) -> None:
    """Give up on a locked file at once; only how long it waits is changed."""
    store._database.wait_for_lock = 0.01
    while store._database._idle:
        store._database._idle.pop().close()


def is_locked(error: pytest.ExceptionInfo[PostroomError]) -> bool:
    return error.value.code == "PROVIDER_ERROR" and error.value.retryable and (error.value.retry_after or 0) > 0


async def test_a_locked_state_file_stops_a_send_before_anything_leaves(tmp_path):
    async with gate_rig(tmp_path) as gate:
        grow_impatient(gate.gateway.store)
        with locker(tmp_path / "state.db") as other:
            other.lock()
            with pytest.raises(ProviderUnavailable) as error:
                await gate.send(idempotency_key="k")
            assert is_locked(error)
            assert await gate.inbox() == []
            other.unlock()
            assert (await gate.send(idempotency_key="k")).status == "sent"
        assert await gate.inbox() == ["Lunch?"]
        assert (await outbox.list_outbox(gate.gateway)).results == ()


async def test_a_state_file_locked_after_the_provider_took_it_is_no_second_mail(tmp_path):
    async with gate_rig(tmp_path) as gate:
        grow_impatient(gate.gateway.store)
        meddled = await gate.meddle()
        with locker(tmp_path / "state.db") as other:

            def taken(outcome: Any) -> Any:
                other.lock()
                return outcome

            meddled.after = taken
            with pytest.raises(ProviderUnavailable):
                await gate.send(idempotency_key="k")
            other.unlock()
        await worker.work_once(gate.gateway)
        assert (await gate.send(idempotency_key="k")).status == "already_executed"
        assert len(meddled.submitted) == 1
        assert await gate.inbox() == ["Lunch?"]


async def test_an_audit_that_cannot_be_written_does_not_deny_a_sent_mail(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:

        def full(_: Any) -> int:
            raise ProviderUnavailable("the disk is full")

        monkeypatch.setattr(gate.gateway.store.audit, "append", full)
        view = await gate.send()
        assert view.status == "sent"
        assert any("audit" in warning for warning in view.warnings)
        with pytest.raises(PostroomError, match="recipient"):  # the refusal is told, not the trouble with the audit
            await gate.send(replace(MAIL, to=()))


async def test_a_locked_mailbox_is_delivered_to_later(tmp_path):
    async with gate_rig(tmp_path) as gate:
        for name in ("alice", "bob"):
            mailbox = unwrapped((await gate.gateway.accounts.open(name)).mailbox)
            mailbox._database._wait = mailbox.neighbourhood._opened(tmp_path / "bob.db")._wait = 0.01
        with locker(tmp_path / "bob.db") as other:
            other.lock()
            assert (await gate.send()).status == "held"
            other.unlock()
        gate.time.pass_(61)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_an_approval_given_while_the_state_file_is_locked_counts_afterwards(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        grow_impatient(gate.gateway.store)
        await gate.send()
        with locker(tmp_path / "state.db") as other:
            other.lock()
            approve_pending(gate.gateway.vault.root)
            await worker.work_once(gate.gateway)
            assert await gate.inbox() == []
            other.unlock()
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


class FailingWrites:
    """The store's writes fail, as SQLite says it on a full disk: the n-th alone, or every one from there on."""

    def __init__(self, gate: GateRig, fail_at: int, *, lasting: bool) -> None:
        self.database = gate.gateway.store._database
        self.transaction = self.database.transaction
        self.fail_at, self.lasting, self.passed = fail_at, lasting, 0
        self.database.transaction = self._failing  # type: ignore[method-assign]

    def _failing(self, **kwargs: Any) -> Any:
        self.passed += 1
        if self.passed == self.fail_at or (self.lasting and self.passed > self.fail_at > 0):
            raise ProviderUnavailable("The state file cannot be written: the disk is full or failing.")
        return self.transaction(**kwargs)

    def end(self) -> None:
        self.database.transaction = self.transaction  # type: ignore[method-assign]


@pytest.mark.parametrize("lasting", [False, True], ids=["one write fails", "no write succeeds any more"])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_write_may_fail_anywhere(tmp_path, name, lasting, record_fault, memory_home: Callable[[], Path]):
    scenario, codes, failures = SCENARIOS[name], Counter[str](), 0
    for fail_at in range(1, 100):
        home = memory_home()
        await furnish(scenario, home)
        async with gateway_of(scenario, home) as gate:
            failing, answers = FailingWrites(gate, fail_at, lasting=lasting), list[str]()
            try:
                await scenario.act(gate, answers.append)
            except PostroomError as error:
                codes[error.code] += 1
            reached = failing.passed >= fail_at
            failing.end()
            try:
                await settle(gate, scenario)
                await judge(gate, scenario, promised=is_promise(answers))
                await repeat(gate, scenario)
            except Exception as error:
                error.add_note(f"{name}: write {fail_at} failed, {answers}, {codes}")
                raise
        if not reached:
            break
        failures += 1
    assert set(codes) <= {"PROVIDER_ERROR"}
    record_fault(f"failed write, {name}" + (", lasting" if lasting else ""), failures)
    assert failures > 5


async def furnish(scenario: Scenario, home: Path) -> None:
    if scenario.prepare is not None:
        async with gateway_of(scenario, home) as gate:
            await scenario.prepare(gate)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, two megabytes large."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system takes rights this user does not have")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_a_full_disk_is_said_and_survived(small_disk: Path, record_fault):
    """Real ENOSPC, at another moment of the send each time."""
    codes: Counter[str] = Counter()
    async with gate_rig(small_disk, sends_per_hour=1000) as gate:
        await gate.send(replace(MAIL, subject="first"))
        for number, left in enumerate(range(0, 700_000, 25_000)):
            mail = replace(MAIL, subject=f"mail {number}", body="x" * 9000)
            filler = fill(small_disk, leaving=left)
            try:
                codes[(await gate.send(mail, idempotency_key=str(number))).status] += 1
            except PostroomError as error:
                codes[error.code] += 1
            filler.unlink()
            for _ in range(3):
                gate.time.pass_(4000)
                await worker.work_once(gate.gateway)
            view = await gate.send(mail, idempotency_key=str(number))
            assert view.status in ("sent", "already_executed")
            assert (await gate.inbox()).count(f"mail {number}") == 1
            assert gate.gateway.store.outbox.list(states=set(State) - {State.DONE, State.CANCELLED}).total == 0
            await clear(gate)
        assert gate.gateway.store.audit.verify().ok
    record_fault("full disk", sum(codes.values()), codes)
    assert codes["PROVIDER_ERROR"]
    assert set(codes) <= {"PROVIDER_ERROR", "sent", "held", "unknown"}


def fill(disk: Path, *, leaving: int) -> Path:
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"\0" * max(0, free.f_bavail * free.f_frsize - leaving))
    return filler


async def clear(gate: GateRig) -> None:
    """Make room again: the logs of the databases go back into them."""
    for name in ("state", "alice", "bob"):
        with sqlite3.connect(gate.gateway.settings.home / f"{name}.db") as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
