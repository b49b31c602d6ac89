"""A state file from a backup knows nothing of what was sent since the backup was made; the mailbox does."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import MAIL, GateRig, SetClock, gate_rig
from tests.gate.services import Gmail, Graph, MailService
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.scripted_smtp import scripted_smtp

from postroom.model.errors import InternalError, ProviderUnavailable
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.waiting import ask_a_person
from postroom.service.views import SendView
from postroom.store import Send, State


@dataclass
class Place:
    """An account somewhere, and how many messages that place has sent."""

    account: dict[str, Any]
    sent: Callable[[], int]


@pytest.fixture(params=["SMTP", Gmail, Graph])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with ExitStack() as stack:
        if request.param == "SMTP":
            dovecot: Dovecot = request.getfixturevalue("dovecot")
            smtp = stack.enter_context(scripted_smtp())
            imap = {"provider": "imap", "host": dovecot.host, "port": dovecot.imap, "security": "none"}
            smtp_settings = {"smtp_host": smtp.host, "smtp_port": smtp.port, "smtp_security": "none"}
            account = {"name": "alice", "address": dovecot.new_user("alice"), "password": PASSWORD}
            yield Place(account | imap | smtp_settings, lambda: len(smtp.taken))
        else:
            service: MailService = stack.enter_context(request.param.started())
            yield Place(service.account("alice"), lambda: service.sent)


Opened = Callable[[], AbstractAsyncContextManager[GateRig]]


def only(gate: GateRig) -> Send:
    (found,) = gate.gateway.store.outbox.list().items
    return found


async def all_is_sent_and_the_backup_restored(rig: Opened, home: Path, sends: Callable[[GateRig], Any]) -> None:
    """With the file that notes submissions, of which there was none yet."""
    shutil.copy(home / "state.db", home / "backup.db")
    async with rig() as gate:
        await sends(gate)
        assert only(gate).state is State.DONE
    shutil.copy(home / "backup.db", home / "state.db")
    (home / "state.db.submissions").unlink()


async def test_what_was_sent_after_a_backup_is_put_before_a_person_when_the_backup_is_restored(
    place: Place, tmp_path: Path
) -> None:
    time = SetClock()
    rig = partial(gate_rig, tmp_path, time=time, accounts=[place.account], hold_seconds=60)
    async with rig() as gate:
        assert (await gate.send()).status == "held"
    time.pass_(60)
    await all_is_sent_and_the_backup_restored(rig, tmp_path, lambda gate: worker.work_once(gate.gateway))

    async with rig() as gate:
        await worker.work_once(gate.gateway)
        row = only(gate)
        assert (place.sent(), row.state) == (1, State.NEEDS_HUMAN)
        assert "among the sent messages already" in (row.outcome or {})["reason"]
        assert (await approvals.resolve(gate.gateway, row.send_id, "resend")).status == "sent"
        assert place.sent() == 2, "a person's word counts"


async def test_an_approval_that_is_given_again_after_a_backup_was_restored_sends_nothing(
    place: Place, tmp_path: Path
) -> None:
    rig = partial(gate_rig, tmp_path, accounts=[place.account], gate="approval")
    async with rig() as gate:
        asked = await gate.send()
    assert asked.approval is not None
    approval_id = asked.approval.approval_id

    async def approve(gate: GateRig) -> SendView:
        return await approvals.approve(gate.gateway, approval_id, who="ada", how="test")

    await all_is_sent_and_the_backup_restored(rig, tmp_path, approve)
    async with rig() as gate:
        again = await approve(gate)
        assert (place.sent(), again.status) == (1, "needs_human")
        assert "among the sent messages already" in again.message


async def test_a_process_whose_state_file_was_replaced_sends_and_accepts_nothing_more(
    place: Place, tmp_path: Path
) -> None:
    """Nobody stopped it for that: what it holds is in the backup, too, and what it would accept is not."""
    rig = partial(gate_rig, tmp_path, time=SetClock(), accounts=[place.account], hold_seconds=60)
    async with rig() as running:
        await running.send()
        with (
            closing(sqlite3.connect(tmp_path / "state.db")) as state,
            closing(sqlite3.connect(tmp_path / "b.db")) as copy,
        ):
            state.backup(copy)
        for part in ("-wal", "-shm"):
            (tmp_path / f"state.db{part}").unlink(missing_ok=True)
        (tmp_path / "b.db").rename(tmp_path / "state.db")
        running.time.pass_(60)
        with pytest.raises(InternalError, match="was replaced or removed while it was in use"):
            await running.send(replace(MAIL, subject="Dinner?"))
        with pytest.raises(InternalError):
            await worker.work_once(running.gateway)
        with pytest.raises(InternalError):
            await outbox.count_unfinished(running.gateway)
        assert place.sent() == 0
        async with rig(time=running.time) as restarted:
            await worker.work_once(restarted.gateway)
            assert (place.sent(), only(restarted).state) == (1, State.DONE)


async def test_what_a_process_has_held_itself_is_not_looked_for(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        await gate.send()
        meddled, looks = await gate.meddle(), list[SubmitRequest]()
        meddled.reconciled = looks.append  # type: ignore[assignment]
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert (looks, await gate.inbox()) == ([], ["Lunch?"])


async def test_a_mailbox_that_can_never_be_searched_in_time_delays_a_message_by_an_hour_and_no_more(
    tmp_path: Path,
) -> None:
    time = SetClock()
    async with gate_rig(tmp_path, time=time, hold_seconds=60) as gate:
        await gate.send()
    time.pass_(60)
    async with gate_rig(tmp_path, time=time) as gate:

        def too_slow(_: SubmitRequest) -> None:
            raise ProviderUnavailable("The mail server did not answer in time.")

        (await gate.meddle()).reconciled = too_slow
        await worker.work_once(gate.gateway)
        assert (only(gate).state, await gate.inbox()) == (State.HELD, [])
        time.pass_(3600)
        await worker.work_once(gate.gateway)
        assert (only(gate).state, await gate.inbox()) == (State.DONE, ["Lunch?"])


def copied_over(home: Path) -> None:
    """By another program, into the file as it stands."""
    subprocess.run(["cp", home / "backup.db", home / "state.db"], check=True)


async def is_held_and_then_sent(gate: GateRig, home: Path) -> None:
    """Without a copy in Sent; the backup is from between the two."""
    assert (await gate.send(save_to_sent=False)).status == "held"
    with closing(sqlite3.connect(home / "state.db")) as state, closing(sqlite3.connect(home / "backup.db")) as copy:
        state.backup(copy)
    gate.time.pass_(60)
    await worker.work_once(gate.gateway)
    assert only(gate).state is State.DONE


async def is_put_before_a_person(gate: GateRig, place: Place) -> None:
    assert only(gate).state is State.HELD
    await worker.work_once(gate.gateway)
    row = only(gate)
    assert (place.sent(), row.state) == (1, State.NEEDS_HUMAN)
    assert "it was submitted before" in (row.outcome or {})["reason"]


async def test_what_left_no_trace_in_the_mailbox_is_not_sent_again_after_a_backup_was_restored(
    place: Place, tmp_path: Path
) -> None:
    rig = partial(gate_rig, tmp_path, time=SetClock(), accounts=[place.account], hold_seconds=60)
    async with rig() as gate:
        await is_held_and_then_sent(gate, tmp_path)
    copied_over(tmp_path)
    async with rig() as gate:
        gate.time.pass_(60)
        await is_put_before_a_person(gate, place)
        assert (await approvals.resolve(gate.gateway, only(gate).send_id, "resend")).status == "sent"
        assert place.sent() == 2, "a person's word counts"


async def test_what_was_cancelled_after_a_backup_stays_cancelled_when_the_backup_is_restored(
    place: Place, tmp_path: Path
) -> None:
    rig = partial(gate_rig, tmp_path, time=SetClock(), accounts=[place.account], hold_seconds=60)
    async with rig() as gate:
        held = await gate.send()
    shutil.copy(tmp_path / "state.db", tmp_path / "backup.db")
    async with rig() as gate:
        await outbox.cancel_send(gate.gateway, held.send_id)
    copied_over(tmp_path)
    async with rig() as gate:
        assert only(gate).state is State.HELD
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert (place.sent(), only(gate).state) == (0, State.CANCELLED)


async def test_a_person_may_still_have_sent_what_was_dropped_after_a_backup(tmp_path: Path) -> None:
    rig = partial(gate_rig, tmp_path, time=SetClock(), hold_seconds=60)
    async with rig() as gate:
        (await gate.meddle()).before = lambda _: SubmitOutcome("rejected", reason="550 no")
        await gate.send()
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
    shutil.copy(tmp_path / "state.db", tmp_path / "backup.db")
    async with rig() as gate:
        await approvals.resolve(gate.gateway, only(gate).send_id, "drop")
    copied_over(tmp_path)
    async with rig() as gate:
        assert (await approvals.resolve(gate.gateway, only(gate).send_id, "resend")).status == "sent"
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize(("verdict", "then"), [("cancel", State.CANCELLED), ("sent", State.NEEDS_HUMAN)])
async def test_what_a_person_ended_after_a_backup_is_not_sent_when_the_backup_is_restored(
    tmp_path: Path, verdict: str, then: State
) -> None:
    """Also where a person had it sent again before: that was about another refusal."""
    rig = partial(gate_rig, tmp_path, time=SetClock(), hold_seconds=60)
    async with rig() as gate:
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome("rejected", reason="550 no")
        await gate.send()
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        meddled.before = lambda _: SubmitOutcome("retryable", reason="451 later")
        await approvals.resolve(gate.gateway, only(gate).send_id, "resend")
    shutil.copy(tmp_path / "state.db", tmp_path / "backup.db")
    async with rig() as gate:
        if verdict == "cancel":
            await outbox.cancel_send(gate.gateway, only(gate).send_id)
        else:
            await ask_a_person(gate.gateway, only(gate), "It waits too long.")
            await approvals.resolve(gate.gateway, only(gate).send_id, "sent")
    copied_over(tmp_path)
    async with rig() as gate:
        assert only(gate).state is State.RETRYABLE
        gate.time.pass_(7200)
        await worker.work_once(gate.gateway)
        assert (only(gate).state, await gate.inbox()) == (then, [])


async def test_what_was_submitted_since_a_backup_is_not_sent_when_that_cannot_be_recorded_at_once(
    place: Place, tmp_path: Path
) -> None:
    rig = partial(gate_rig, tmp_path, time=SetClock(), accounts=[place.account], hold_seconds=60)
    async with rig() as gate:
        await is_held_and_then_sent(gate, tmp_path)
    copied_over(tmp_path)
    async with rig() as gate:
        gate.time.pass_(60)
        with no_state_can_change(tmp_path):
            await worker.work_once(gate.gateway)
        gate.time.pass_(3600)
        await is_put_before_a_person(gate, place)


@contextmanager
def no_state_can_change(home: Path) -> Iterator[None]:
    """As where the process dies, or the disk is full, at that very moment."""
    with closing(sqlite3.connect(home / "state.db")) as state:
        state.execute("CREATE TRIGGER full BEFORE UPDATE OF state ON outbox BEGIN SELECT RAISE(FAIL, 'full'); END")
        yield
        state.execute("DROP TRIGGER full")


async def test_a_backup_that_is_copied_over_the_state_file_of_a_running_process_makes_it_send_nothing_twice(
    place: Place, tmp_path: Path
) -> None:
    async with gate_rig(tmp_path, accounts=[place.account], hold_seconds=60) as gate:
        await is_held_and_then_sent(gate, tmp_path)
        with closing(sqlite3.connect(tmp_path / "state.db")) as state:
            state.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copied_over(tmp_path)
        await is_put_before_a_person(gate, place)


async def test_a_send_that_is_being_submitted_as_a_backup_is_copied_over_the_state_file_is_not_submitted_twice(
    tmp_path: Path,
) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        assert (await gate.send()).status == "held"
        with closing(sqlite3.connect(tmp_path / "state.db")) as state:
            state.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copyfile(tmp_path / "state.db", tmp_path / "backup.db")
        meddled = await gate.meddle()

        def restored(_: SubmitRequest) -> None:
            with closing(sqlite3.connect(tmp_path / "state.db")) as state:
                state.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            copied_over(tmp_path)

        meddled.before = restored  # type: ignore[assignment]
        gate.time.pass_(60)
        for _ in range(3):
            await worker.work_once(gate.gateway)
            gate.time.pass_(3600)
        assert (len(meddled.submitted), await gate.inbox()) == (1, ["Lunch?"])
        assert only(gate).state is State.NEEDS_HUMAN


async def test_while_the_file_of_submissions_cannot_be_read_a_message_waits_and_the_caller_is_told(
    tmp_path: Path,
) -> None:
    """Told that it failed, an agent would call again, and both messages would leave later."""
    async with gate_rig(tmp_path) as gate:
        (tmp_path / "state.db.submissions").mkdir()
        assert (await gate.send()).status == "held"
        assert "state.db.submissions" in (only(gate).outcome or {})["reason"]
        (tmp_path / "state.db.submissions").rmdir()
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_while_the_file_of_submissions_cannot_be_written_a_message_waits(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        (tmp_path / "state.db.submissions").symlink_to("elsewhere")
        assert (await gate.send()).status == "held"
        assert "state.db.submissions" in (only(gate).outcome or {})["reason"]
        await worker.work_once(gate.gateway)
        assert (meddled.submitted, await gate.inbox()) == ([], [])
        (tmp_path / "state.db.submissions").unlink()
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]
