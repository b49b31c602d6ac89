from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.store.kit import WORK, FakeTime, a_send, brought_to

from postroom.model.errors import RateLimited
from postroom.store import RateLimit, RateStatus, State, Store, open_store

WINDOW = 3600.0


@pytest.fixture
def store(path: Path, time: FakeTime) -> Iterator[Store]:
    opened = open_store(path, clock=time.clock(), limit=RateLimit(3, WINDOW))
    yield opened
    opened.close()


def reserve(store: Store, **fields: str) -> str:
    return store.outbox.reserve(store.outbox.prepare(a_send(**fields)).send_id).send.send_id


def refused_for(store: Store) -> float:
    with pytest.raises(RateLimited) as caught:
        reserve(store)
    assert caught.value.retry_after
    return caught.value.retry_after


def test_the_default_is_ten_an_hour(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock())
    for _ in range(10):
        reserve(store)
    time.passes(WINDOW - 12 * 60 + 1)
    with pytest.raises(
        RateLimited, match=r"Rate limit exceeded \(10 emails/hour\)\. Next send available in 12 minutes"
    ):
        reserve(store)
    store.close()


def test_the_answer_says_when_the_next_is_possible_and_keeps_its_word(store: Store, time: FakeTime) -> None:
    for _ in range(3):
        reserve(store)
        time.passes(100.5)
    wait = refused_for(store)
    assert store.rate.status(WORK) == RateStatus(3, 3, int(wait))
    time.passes(wait - 1.5)
    assert refused_for(store) == 1 + 1
    time.passes(2)
    reserve(store)
    assert store.rate.status(WORK).retry_after == pytest.approx(100, abs=1)


def test_two_sends_exactly_a_window_apart_are_in_one_window(store: Store, time: FakeTime) -> None:
    for _ in range(3):
        reserve(store)
    time.passes(WINDOW)
    assert refused_for(store) == 1
    time.passes(1)
    reserve(store)


def test_a_send_exactly_a_window_old_is_not_forgotten_by_one_that_comes_then(store: Store, time: FakeTime) -> None:
    for _ in range(2):
        reserve(store)
    time.passes(WINDOW)
    reserve(store)
    assert refused_for(store) == 1


def test_a_limit_of_none_at_all_never_lets_one_through(path: Path, time: FakeTime) -> None:
    store = open_store(path, clock=time.clock(), limit=RateLimit(0, 60))
    with pytest.raises(RateLimited, match=r"0 emails/60 seconds.*in 1 minute\."):
        reserve(store)
    store.close()


def test_accounts_have_windows_of_their_own(store: Store) -> None:
    for _ in range(3):
        reserve(store)
    reserve(store, account="home")


def test_the_error_names_the_account_whose_limit_it_is(store: Store) -> None:
    for _ in range(3):
        reserve(store, account="home")
    with pytest.raises(RateLimited, match="from the account home") as caught:
        reserve(store, account="home")
    assert caught.value.details == {"account": "home", "limit": 3, "window_seconds": WINDOW}


@pytest.mark.parametrize(
    ("passed", "said"),
    [(0, "60 minutes."), (60, "59 minutes."), (61, "59 minutes."), (WINDOW - 120, "2 minutes."), (3539, "2 minutes."),
     (3540, "1 minute."), (WINDOW, "1 minute.")],
)  # fmt: skip
def test_the_wait_is_told_in_minutes_none_too_few(store: Store, time: FakeTime, passed: float, said: str) -> None:
    for _ in range(3):
        reserve(store)
    time.passes(passed)
    with pytest.raises(RateLimited) as caught:
        reserve(store)
    assert f"Next send available in {said} Nothing was sent" in caught.value.message


def test_the_count_survives_restarts(store: Store, path: Path, time: FakeTime) -> None:
    for _ in range(3):
        reserve(store)
    store.close()
    time.passes(1800)
    again = open_store(path, clock=time.clock(), limit=RateLimit(3, WINDOW))
    assert refused_for(again) == 1801
    again.close()


@pytest.mark.parametrize("set_by", [-1e9, -7200.0, 0.0, 7200.0, 1e9])
def test_a_reboot_frees_nothing_and_costs_one_window_at_most(
    store: Store, path: Path, time: FakeTime, set_by: float
) -> None:
    for _ in range(3):
        reserve(store)
    store.close()
    time.passes(1800)
    time.reboots()
    time.is_set(set_by)
    again = open_store(path, clock=time.clock(), limit=RateLimit(3, WINDOW))
    assert WINDOW - time.boottime < refused_for(again) <= WINDOW + 1
    time.is_set(-2 * set_by)
    time.passes(WINDOW + 1)
    reserve(again)
    again.close()


def test_each_send_keeps_the_age_that_is_certain_over_two_reboots(store: Store, path: Path, time: FakeTime) -> None:
    """Of an older one five seconds after each reboot, of a younger one no more than have passed since."""
    reserve(store)
    time.passes(1800)
    reserve(store, account="home")
    time.passes(2)
    store.close()
    for passed, younger in ((2, 2), (100, 4)):
        time.reboots()
        again = open_store(path, clock=time.clock(), limit=RateLimit(1, WINDOW))
        time.passes(passed)
        time.is_set(-1e6)
        for account, certain in ((WORK, 5), ("home", younger)):
            assert again.rate.status(account) == RateStatus(1, 1, int(WINDOW) - certain - passed + 1)
        time.is_set(1e6)
        again.close()


def test_what_left_the_window_is_not_found_in_it_again_after_a_reboot(store: Store, path: Path, time: FakeTime) -> None:
    for _ in range(2):
        reserve(store)
    time.passes(WINDOW + 1)
    reserve(store)
    store.close()
    time.reboots()
    again = open_store(path, clock=time.clock(), limit=RateLimit(3, WINDOW))
    assert again.rate.status(WORK).used == 1
    again.close()


@pytest.mark.parametrize("step", [-1e9, -7200.0, 7200.0, 1e9])
def test_setting_the_clock_neither_frees_nor_blocks(store: Store, time: FakeTime, step: float) -> None:
    for _ in range(3):
        reserve(store)
    time.passes(1000)
    time.is_set(step)
    store.prune()
    assert refused_for(store) == 2601
    time.passes(2601)
    reserve(store)


def test_a_cancelled_send_gives_its_token_back(store: Store) -> None:
    sends = [reserve(store) for _ in range(3)]
    store.outbox.cancel(sends[0])
    reserve(store)


@pytest.mark.parametrize("way", [(State.REJECTED,), (State.RETRYABLE, State.CANCELLED)])
def test_a_send_that_was_submitted_once_keeps_its_token(store: Store, way: tuple[State, ...]) -> None:
    send = brought_to(store, State.SENDING)
    for to in way:
        send = store.outbox.advance(send.send_id, expect=send.state, to=to)
    assert store.rate.status(WORK).used == 1


def test_a_held_send_counts_when_it_leaves_not_when_it_was_asked_for(store: Store, time: FakeTime) -> None:
    held = brought_to(store, State.HELD)
    time.passes(WINDOW + 1)
    for _ in range(3):
        reserve(store)
    store.outbox.advance(held.send_id, expect=State.HELD, to=State.STAGED)
    with pytest.raises(RateLimited):
        store.outbox.advance(held.send_id, expect=State.STAGED, to=State.SENDING)
    assert store.outbox.get(held.send_id).attempt == 0
    time.passes(WINDOW + 1)
    store.outbox.advance(held.send_id, expect=State.STAGED, to=State.SENDING)
    assert store.rate.status(WORK).used == 1


def test_old_tokens_are_forgotten(store: Store, time: FakeTime) -> None:
    reserve(store)
    time.passes(WINDOW)
    recent = reserve(store)
    time.passes(1)
    store.prune()
    with store._database.read() as connection:
        assert [row["send_id"] for row in connection.execute("SELECT send_id FROM rate_tokens")] == [recent]


_EVENTS = st.one_of(
    st.tuples(st.just("passes"), st.floats(0, 5000)),
    st.tuples(st.just("is_set"), st.floats(-1e8, 1e8)),
    st.tuples(st.just("send"), st.just(0.0)),
    st.tuples(st.just("cancel"), st.just(0.0)),
    st.tuples(st.just("restarts"), st.just(0.0)),
    st.tuples(st.just("reboots"), st.floats(-1e5, 1e5)),
)


@settings(max_examples=60, deadline=None)
@given(events=st.lists(_EVENTS, max_size=40))
def test_no_window_ever_holds_one_too_many(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, float]]
) -> None:
    """Whatever the wall clock does, in one boot and over many, by the true time no window holds more than the limit."""
    path, time, limit = tmp_path_factory.mktemp("rate") / "state.db", FakeTime(), RateLimit(3, WINDOW)
    store = open_store(path, clock=time.clock(), limit=limit)
    now, left = 0.0, list[float]()
    for name, amount in events:
        if name in ("passes", "is_set"):
            getattr(time, name)(amount)
            now += amount if name == "passes" else 0
        elif name in ("restarts", "reboots"):
            store.close()
            if name == "reboots":
                now += 5  # FakeTime's boots take as long
                time.reboots()
                time.is_set(amount)
            store = open_store(path, clock=time.clock(), limit=limit)
        elif name == "cancel":
            with suppress(RateLimited):
                store.outbox.cancel(store.outbox.reserve(store.outbox.prepare(a_send()).send_id).send.send_id)
        else:
            with suppress(RateLimited):
                send = store.outbox.reserve(store.outbox.prepare(a_send()).send_id).send
                store.outbox.advance(send.send_id, expect=State.RESERVED, to=State.STAGED)
                store.outbox.advance(send.send_id, expect=State.STAGED, to=State.SENDING)
                left.append(now)
    for index in range(len(left) - limit.sends):
        assert left[index + limit.sends] - left[index] > WINDOW
    time.passes(WINDOW + 1)
    reserve(store)
    store.close()
