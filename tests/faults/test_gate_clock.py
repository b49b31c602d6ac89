"""Somebody sets the clock while mail is leaving: never an eleventh send in an hour, and nothing waits for ever."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gate.rigs import MAIL, GateRig, SetClock, gate_rig

from postroom.model.errors import PostroomError, RateLimited
from postroom.service.sending import outbox, send, worker

HOUR = 3600.0
LIMIT = 10
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(2, 6)),
        st.tuples(st.just("pass"), st.floats(1, 2500)),
        st.tuples(st.just("set the clock"), st.floats(-9, 9).map(lambda hours: hours * HOUR)),
        st.tuples(st.just("work"), st.just(1)),
        st.tuples(st.just("reboot"), st.floats(-9, 9).map(lambda hours: hours * HOUR)),
    ),
    min_size=12,
    max_size=40,
)


def most_in_an_hour(moments: list[float]) -> int:
    return max((sum(start <= moment <= start + HOUR for moment in moments) for start in moments), default=0)


@given(steps=STEPS, hold=st.sampled_from([0, 30]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])  # it only hands out folders
def test_no_setting_of_the_clock_makes_room_for_an_eleventh_send(memory_home, steps, hold):
    moments = anyio.run(sends_of, memory_home(), steps, hold)
    assert most_in_an_hour(moments) <= LIMIT


async def sends_of(home: Path, steps: list[tuple[str, float]], hold: int) -> list[float]:
    """The true time of every submission that these steps lead to."""
    moments: list[float] = []
    time, steps_left = Rebooted(), list(enumerate(steps))
    while steps_left:
        async with gate_rig(home, time=time, hold_seconds=hold) as gate:
            meddled = await gate.meddle()
            meddled.before = lambda _: moments.append(time.true)
            while steps_left and steps_left[0][1][0] != "reboot":
                await _do(gate, *steps_left.pop(0))
        if steps_left:
            time.reboot(steps_left.pop(0)[1][1])
    return moments


async def _do(gate: GateRig, number: int, what: tuple[str, float]) -> None:
    step, amount = what
    if step == "send":
        for twin in range(int(amount)):
            try:
                await gate.send(replace(MAIL, subject=f"{number}.{twin}"))
            except RateLimited:
                break
    elif step == "pass":
        gate.time.pass_(amount)
    elif step == "set the clock":
        gate.time.wall += amount
    else:
        await worker.work_once(gate.gateway)


@pytest.mark.parametrize("hours", [-48, -5, -0.1, 0.1, 5, 48])
async def test_held_and_scheduled_mail_leaves_whatever_the_clock_does(tmp_path, hours):
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        await gate.send()
        await gate.send(replace(MAIL, subject="Later"), send_at=gate.gateway.now() + timedelta(hours=2))
        gate.time.wall += hours * HOUR
        for _ in range(60):
            gate.time.pass_(HOUR)
            await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["Later", "Lunch?"]
        assert (await outbox.list_outbox(gate.gateway)).results == ()


async def test_a_clock_set_back_between_two_steps_of_a_held_mail_delays_it_and_no_more(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        await gate.send()
        gate.time.pass_(31)
        (due,) = gate.gateway.store.worklist.due()
        gate.time.wall -= HOUR
        await worker._take_up(gate.gateway, due)
        assert await gate.inbox() == []
        for _ in range(3):
            gate.time.pass_(HOUR)
            await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize("hours", [-48, -1, 0, 2, 48])
async def test_a_reboot_frees_nothing_wherever_the_clock_stands_and_an_hour_later_mail_leaves(tmp_path, hours):
    time = Rebooted()
    async with gate_rig(tmp_path, time=time) as gate:
        for number in range(LIMIT):
            await gate.send(replace(MAIL, subject=str(number)))
    time.reboot(hours * HOUR)
    async with gate_rig(tmp_path, time=time) as gate:
        with pytest.raises(RateLimited, match="alice"):
            await gate.send(replace(MAIL, subject="eleventh"))
        gate.time.pass_(HOUR + 1)
        assert (await gate.send(replace(MAIL, subject="eleventh"))).status == "sent"


async def test_a_clock_set_back_does_not_bring_an_old_preview_back(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        await gate.send(confirm=False)
        gate.time.pass_(2 * HOUR)
        gate.time.wall -= 2 * HOUR
        assert (await gate.send()).status == "preview"
        assert await gate.inbox() == []


async def test_a_preview_from_the_clocks_future_counts_for_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        await gate.send(confirm=False)
        gate.time.wall -= HOUR
        assert (await gate.send()).status == "preview"
        assert (await gate.send()).status == "sent"


async def test_a_clock_set_back_does_not_keep_a_question_open(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        answered = await gate.asked()
        gate.time.wall -= 2 * HOUR
        gate.time.pass_(HOUR)
        await worker.work_once(gate.gateway)
        assert (await send.send(gate.gateway, await gate.order(MAIL, answered))).status == "preview"
        assert await gate.inbox() == []


async def test_a_clock_that_is_put_right_by_seconds_keeps_a_question_open(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        answered = await gate.asked()
        gate.time.wall -= 30
        await worker.work_once(gate.gateway)
        assert (await send.send(gate.gateway, await gate.order(MAIL, answered))).status == "sent"


async def test_an_approval_expires_by_the_wall_clock_and_says_so(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        gate.time.wall += 25 * HOUR
        with pytest.raises(PostroomError, match="expired"):
            gate.gateway.store.approvals.approve(asked.approval.approval_id, who="ada", how="test")
        assert [row.state for row in (await outbox.list_outbox(gate.gateway)).results] == ["expired"]


@dataclass
class Rebooted(SetClock):
    """Knows the true time too, over all boots."""

    boots: int = 1
    true: float = 0.0

    def clock(self):
        return replace(super().clock(), boot_id=f"boot-{self.boots}")

    def pass_(self, seconds: float) -> None:
        super().pass_(seconds)
        self.true += seconds

    def reboot(self, set_by: float) -> None:
        """Takes five seconds and sets the wall clock on the way."""
        self.boots += 1
        self.wall += set_by + 5
        self.true += 5
        self.boottime = 5.0
