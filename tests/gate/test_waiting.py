"""How long a send rests before it is looked at again, and what it says meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.gate.rigs import MAIL, GateRig, gate_rig
from tests.gate.test_dispatch import logged_of_outbox
from tests.gate.test_outcomes import answering, raising

from postroom.model.errors import AuthRequired, ProviderUnavailable, RateLimited
from postroom.service.sending import dispatch, waiting, worker
from postroom.store import Send, State

HOUR = 3600.0


def row(gate: GateRig, send_id: str) -> Send:
    return gate.gateway.store.outbox.get(send_id)


def rests(gate: GateRig, send_id: str) -> float:
    """Seconds until a worker looks at it next."""
    return row(gate, send_id).wake_at - gate.time.wall


async def test_each_failed_attempt_doubles_the_pause_up_to_four_hours(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = answering("retryable", reason="451 later")
        view = await gate.send()
        pauses = [rests(gate, view.send_id)]
        for _ in range(9):
            gate.time.pass_(pauses[-1])
            await worker.work_once(gate.gateway)
            pauses.append(rests(gate, view.send_id))
        assert pauses == [60, 120, 240, 480, 960, 1920, 3840, 7680, 4 * HOUR, 4 * HOUR]
        assert row(gate, view.send_id).attempt == 10


@pytest.mark.parametrize(("asked_for", "pause"), [(10.0, 60.0), (60.5, 60.5), (6 * HOUR, 4 * HOUR)])
@pytest.mark.parametrize("way", ["answer", "error"])
async def test_a_server_that_names_a_longer_pause_gets_it_within_bounds(tmp_path, way, asked_for, pause):
    async with gate_rig(tmp_path) as gate:
        trouble = RateLimited("slow down", retry_after=asked_for)
        answer = answering("retryable", reason="slow down", retry_after=asked_for)
        (await gate.meddle()).before = answer if way == "answer" else raising(trouble)
        view = await gate.send()
        assert rests(gate, view.send_id) == pause
        assert "slow down" in view.message


async def test_a_refused_login_is_tried_again_after_a_quarter_of_an_hour_and_then_more_and_more_rarely(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = raising(AuthRequired("535 no"))
        view = await gate.send()
        pauses = [rests(gate, view.send_id)]
        for _ in range(5):
            gate.time.pass_(pauses[-1])
            await worker.work_once(gate.gateway)
            pauses.append(rests(gate, view.send_id))
        assert pauses == [900, 1800, 3600, 7200, 4 * HOUR, 6 * HOUR]


async def test_what_comes_while_an_account_is_paused_waits_for_the_end_of_the_pause(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = raising(AuthRequired("535 no"))
        await gate.send()
        gate.time.pass_(100)
        second = await gate.send(replace(MAIL, subject="Second"))
        assert rests(gate, second.send_id) == 800
        assert row(gate, second.send_id).outcome == {"reason": "535 no"}


async def test_an_account_that_cannot_be_opened_pauses_what_waits(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()

        async def refused(_name: str) -> Any:
            raise AuthRequired("The login was refused.")

        monkeypatch.setattr(gate.gateway.accounts, "open", refused)
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert (row(gate, view.send_id).state, rests(gate, view.send_id)) == (State.HELD, 900)
        (pause,) = gate.gateway.store.pauses.all()
        assert (pause.account, pause.reason) == ("alice", "The login was refused.")


@pytest.mark.parametrize("mode", [{"dev_mode": True}, {"read_only": True}])
async def test_where_nothing_is_sent_a_held_mail_rests_five_minutes_at_a_time_and_says_why(tmp_path, mode):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()
        time = gate.time
    time.pass_(60)
    async with gate_rig(tmp_path, time=time, hold_seconds=60, **mode) as gate:
        await worker.work_once(gate.gateway)
        assert rests(gate, view.send_id) == 300
        assert "waits for one that does" in row(gate, view.send_id).outcome["reason"]


async def test_a_full_hour_makes_a_held_mail_wait_for_exactly_the_room_it_needs(tmp_path):
    async with gate_rig(tmp_path, sends_per_hour=1, hold_seconds=1800) as gate:
        view = await gate.send()
        gate.time.pass_(1800)
        with gate.gateway.store._database.transaction() as connection:  # another send left this moment
            connection.execute("UPDATE rate_tokens SET send_id = 's0000000000', boottime = ?", (gate.time.boottime,))
        await worker.work_once(gate.gateway)
        assert rests(gate, view.send_id) == 3601
        assert "Rate limit exceeded" in row(gate, view.send_id).outcome["reason"]


async def test_finding_out_is_tried_again_after_a_minute(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("unknown")
        meddled.reconciled = raising(ProviderUnavailable("still gone"))
        view = await gate.send()
        assert (row(gate, view.send_id).state, rests(gate, view.send_id)) == (State.RECONCILING, 60)
        assert row(gate, view.send_id).outcome["reason"] == "still gone"


async def test_finding_out_waits_while_the_account_is_paused(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()

        def refused_meanwhile(_request: Any) -> Any:
            gate.gateway.store.pauses.login_refused("alice", "535 no")
            raise ConnectionResetError

        meddled.before = refused_meanwhile
        view = await gate.send()
        assert (row(gate, view.send_id).state, rests(gate, view.send_id)) == (State.RECONCILING, 900)
        assert row(gate, view.send_id).outcome["reason"] == "535 no"


@pytest.mark.parametrize(
    ("error", "pause"), [(ProviderUnavailable("locked"), 60), (RateLimited("x", retry_after=7), 7)]
)
async def test_trouble_with_one_send_puts_it_off_for_a_while_and_the_next_one_leaves(
    tmp_path, monkeypatch, error, pause
):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        troubled = await gate.send()
        await gate.send(replace(MAIL, subject="Second"))
        go_on = dispatch.go_on

        async def trouble(gateway: Any, send: Send) -> Send:
            if send.send_id == troubled.send_id:
                raise error
            return await go_on(gateway, send)

        monkeypatch.setattr(dispatch, "go_on", trouble)
        gate.time.pass_(60)
        assert await worker.work_once(gate.gateway) == 2
        assert await gate.inbox() == ["Second"]
        assert rests(gate, troubled.send_id) == pause
        assert row(gate, troubled.send_id).outcome == {"reason": error.message}
        assert row(gate, troubled.send_id).owner is None


async def test_the_worker_looks_once_a_second(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        pauses = []

        async def noted(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                scope.cancel()
            await anyio.lowlevel.checkpoint()

        monkeypatch.setattr(worker.anyio, "sleep", noted)
        with anyio.CancelScope() as scope:
            await worker.run(gate.gateway)
        assert pauses == [1.0, 1.0, 1.0]


async def test_what_is_past_its_time_is_forgotten_at_the_start_and_once_an_hour(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        forgot, rounds = [], 0

        async def ten_minutes(_seconds: float) -> None:
            nonlocal rounds
            rounds += 1
            gate.time.pass_(HOUR / 6)
            if rounds == 15:
                scope.cancel()
            await anyio.lowlevel.checkpoint()

        monkeypatch.setattr(worker.anyio, "sleep", ten_minutes)
        monkeypatch.setattr(gate.gateway.store, "prune", lambda: forgot.append(rounds))
        with anyio.CancelScope() as scope:
            await worker.run(gate.gateway)
        assert forgot == [0, 6, 12]


async def test_a_send_waits_in_the_state_it_had_with_its_bytes_and_its_token(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = raising(AuthRequired("535 no"))
        await gate.send()
        waiting = await gate.send(replace(MAIL, subject="Second"))
        assert row(gate, waiting.send_id).state is State.RESERVED
        assert row(gate, waiting.send_id).owner is None
        assert gate.gateway.store.outbox.request(waiting.send_id).raw
        assert gate.gateway.store.rate.status("alice").used == 2


async def test_an_answer_lost_ahead_of_a_submission_is_no_answer_and_logged_by_its_kind_alone(tmp_path, caplog):
    async def lost() -> None:
        raise ConnectionResetError("a secret")

    with pytest.raises(waiting.NotNow) as later:
        await waiting.answered(lost())
    assert later.value.reason.message == "The provider did not respond, or not in a way that can be understood."
    assert (later.value.reason.retryable, logged_of_outbox(caplog)) == (
        True,
        [("provider_unclear", "ConnectionResetError")],
    )
