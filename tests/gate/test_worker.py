"""The loop that works by itself: every second, whatever one round runs into; old things are forgotten once an hour."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig

from postroom.model.errors import InternalError, ProviderUnavailable
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.sending import send, worker
from postroom.store import State, Store
from postroom.store.sends.worklist import WorkList

OTHER = replace(MAIL, subject="Other")


def lost(_: SubmitOutcome) -> SubmitOutcome:
    raise ConnectionResetError


class Enough(BaseException):
    pass


async def test_it_works_every_second_and_forgets_at_the_start_and_once_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    rounds: list[int] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        gate.time.pass_(1800)
        if len(pauses) == 4:
            raise Enough

    monkeypatch.setattr(Store, "prune", lambda _store: rounds.append(len(pauses)))
    async with gate_rig(tmp_path) as gate:
        gate.time.boottime = 0.0
        with monkeypatch.context() as patched:
            patched.setattr(worker.anyio, "sleep", sleep)
            with pytest.raises(Enough):
                await worker.run(gate.gateway)
    assert (pauses, rounds) == ([1.0] * 4, [0, 2])


async def test_no_round_stops_the_next_and_its_trouble_is_logged_without_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    troubles: list[BaseException] = [InternalError("The state file is locked."), ValueError("a secret"), Enough()]

    async def trouble(_gateway: Any) -> int:
        raise troubles.pop(0)

    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(worker, "work_once", trouble)
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(Enough):
            await worker.run(gate.gateway, pause=0)
    ours = [record for record in caplog.records if record.name == "postroom.worker"]
    assert [(one.levelname, one.getMessage()) for one in ours] == [
        ("WARNING", "worker_paused"),
        ("ERROR", "worker_paused"),
    ]
    assert (vars(ours[0])["code"], vars(ours[1])["error_type"]) == ("INTERNAL_ERROR", "ValueError")
    assert "secret" not in caplog.text


def failing(error: Exception, times: int) -> Callable[..., None]:
    left = [error] * times

    def act(*_: Any, **__: Any) -> None:
        if left:
            raise left.pop()

    return act


async def held(gate: GateRig, *subjects: str) -> list[str]:
    return [(await gate.send(replace(MAIL, subject=subject))).send_id for subject in subjects]


async def test_a_state_file_that_fails_while_one_send_is_put_off_keeps_no_other_from_being_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        await held(gate, "First", "Second", "Third")
        (await gate.meddle()).reconciled = failing(ProviderUnavailable("not now"), times=1)
        fails, release = failing(InternalError("The state file is locked."), times=2), WorkList.release

        def release_or_fail(*args: Any, **kwargs: Any) -> None:
            fails()
            release(*args, **kwargs)

        monkeypatch.setattr(WorkList, "release", release_or_fail)
        for _ in range(3):
            gate.time.pass_(60)
            await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["First", "Second", "Third"]


async def test_a_transport_that_fails_as_none_should_keeps_no_other_send_waiting_and_is_asked_again_after_a_pause(
    tmp_path: Path,
) -> None:
    async with gate_rig(tmp_path) as gate:
        meddled, asked = await gate.meddle(), list[str]()

        def reconciled(request: SubmitRequest) -> None:
            asked.append(request.message_id)
            raise KeyError("a field that is not there")

        meddled.after, meddled.reconciled = lost, reconciled
        first = await gate.send()
        assert first.status == "unknown"
        meddled.after = lambda outcome: outcome
        second = gate.gateway.store.outbox.prepare((await gate.order(OTHER)).as_send())
        gate.gateway.store.outbox.reserve(second.send_id)
        gate.gateway.abandoned.add(second.send_id)
        for _ in range(3):
            await worker.work_once(gate.gateway)
        assert gate.gateway.store.outbox.get(second.send_id).state is State.DONE
        assert len(asked) == 1
        meddled.reconciled = lambda _: None
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert gate.gateway.store.outbox.get(first.send_id).state is State.DONE


async def held_by(gate: GateRig, account: str) -> str:
    order = await send.order_mail(gate.gateway, MAIL, CONFIRMED, account)
    return (await send.send(gate.gateway, order)).send_id


async def test_a_server_that_takes_long_keeps_the_sends_of_other_accounts_waiting_for_nothing(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        slow, other = [await held_by(gate, account) for account in ("alice", "carol")]
        meddled, outbox = await gate.meddle(), gate.gateway.store.outbox
        submit = meddled.submit

        async def once_the_other_is_sent(request: SubmitRequest) -> SubmitOutcome:
            with anyio.fail_after(20):
                while outbox.get(other).state is not State.DONE:
                    await anyio.sleep(0)
            return await submit(request)

        meddled.submit = once_the_other_is_sent  # type: ignore[method-assign]
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert [outbox.get(send_id).state for send_id in (slow, other)] == [State.DONE] * 2


async def test_what_one_account_cannot_send_in_half_a_minute_is_left_to_the_next_round(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        await held(gate, "First", "Second", "Third")
        meddled = await gate.meddle()

        def takes_long(_: SubmitRequest) -> None:
            gate.time.pass_(20)

        meddled.before = takes_long
        gate.time.pass_(60)
        rounds = []
        for _ in range(2):
            await worker.work_once(gate.gateway)
            rounds.append(len(meddled.submitted))
        assert rounds == [2, 3]
