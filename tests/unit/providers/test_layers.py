from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from postroom.model.capabilities import Capabilities
from postroom.model.errors import (
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderUnavailable,
    RateLimited,
    Unsupported,
)
from postroom.providers import protocol
from postroom.providers.at_hand import Greeted
from postroom.providers.layers.layered import Layered, unwrapped
from postroom.providers.layers.limit import Limit
from postroom.providers.layers.log import FIELDS, Log
from postroom.providers.layers.read_only import read_only
from postroom.providers.layers.retry import Retry
from postroom.providers.layers.verbs import PLAIN, READING, WRITING

PROTOCOLS = [
    Greeted,
    *(
        value
        for value in vars(protocol).values()
        if isinstance(value, type) and getattr(value, "_is_protocol", False) and value.__module__ == protocol.__name__
    ),
]


def verbs_of(proto: type) -> set[str]:
    return {name for name in vars(proto) if not name.startswith("_")}


class Plain:
    """A provider without labels or drafts that counts its calls and fails as it is told."""

    def __init__(self, failures: list[Exception] | None = None, capabilities: Capabilities | None = None) -> None:
        self.failures = failures or []
        self.capabilities = capabilities or Capabilities("plain")
        self.calls: list[str] = []

    async def _answer(self, verb: str) -> str:
        self.calls.append(verb)
        if self.failures:
            raise self.failures.pop(0)
        return verb

    async def connect(self) -> Capabilities:
        return self.capabilities

    async def folders(self) -> str:
        return await self._answer("folders")

    async def fetch(self, ref: str) -> str:
        return await self._answer(f"fetch {ref}")

    async def set_flags(self, refs: list[str], *, add: list[str]) -> str:
        return await self._answer("set_flags")

    async def submit(self, request: Any) -> str:
        return await self._answer("submit")

    async def close(self) -> None:
        self.calls.append("close")


class Labelled(Plain):
    async def labels(self) -> list[str]:
        return ["red"]

    async def apply_label(self, refs: list[str], label: str) -> list[Any]:
        return []

    async def remove_label(self, refs: list[str], label: str) -> list[Any]:
        return []


class Waits:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


def retrying(inner: object, waits: Waits, **settings: Any) -> Any:
    return Layered(inner, "plain", [Retry(sleep=waits.sleep, clock=waits.clock, chance=lambda: 0.0, **settings)])


def test_every_verb_of_the_seam_is_classified_exactly_once() -> None:
    assert len(PROTOCOLS) >= 7
    seam = set().union(*(verbs_of(proto) for proto in PROTOCOLS))
    assert seam == READING | WRITING | PLAIN
    assert len(seam) == len(READING) + len(WRITING) + len(PLAIN)


def test_wrapping_neither_adds_nor_hides_an_optional_protocol() -> None:
    layers = [read_only, Retry(), Limit(), Log("work", "plain")]
    assert not isinstance(Layered(Plain(), "plain", layers), protocol.Labels)
    assert isinstance(Layered(Labelled(), "plain", layers), protocol.Labels)
    assert not hasattr(Layered(Plain(), "plain", layers), "create_draft")


def test_a_transport_that_stages_or_acts_by_itself_does_so_under_its_layers() -> None:
    class Acting(Plain):
        native_kinds = frozenset({"reply"})

        async def reconcile(self, request: Any) -> None: ...

        async def recipients_of(self, action: Any) -> None: ...

    layers = [read_only, Retry(), Limit(), Log("work", "plain")]
    acting: Any = Layered(Acting(), "plain", layers)
    assert isinstance(acting, protocol.NativeActions)
    assert acting.native_kinds == {"reply"}
    assert not isinstance(acting, protocol.Staging)
    assert not isinstance(Layered(Plain(), "plain", layers), protocol.NativeActions)


async def test_an_absent_verb_raises_unsupported_naming_provider_and_verb() -> None:
    mailbox: Any = Layered(Plain(), "plain", [])
    with pytest.raises(Unsupported) as caught:
        await mailbox.apply_label(["1"], "red")
    assert caught.value.details == {"provider": "plain", "feature": "apply_label"}


def test_what_is_no_verb_is_an_ordinary_missing_attribute() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = Layered(Plain(), "plain", []).secrets
    assert not isinstance(caught.value, PostroomError)


def test_undressing_twice_wrapped_gives_the_provider_itself() -> None:
    bare = Plain()
    assert unwrapped(Layered(Layered(bare, "plain", []), "plain", [read_only])) is bare
    assert unwrapped(bare) is bare


@pytest.mark.parametrize("verb", sorted(WRITING))
async def test_read_only_refuses_every_writing_verb_before_the_provider_hears_of_it(verb: str) -> None:
    heard: list[str] = []

    async def call(*_args: object, **_kwargs: object) -> None:
        heard.append(verb)

    with pytest.raises(PermissionDenied, match=verb):
        await read_only(verb, call)("anything", add=["read"])
    assert heard == []


async def test_read_only_lets_reading_and_closing_through() -> None:
    bare = Plain()
    mailbox: Any = Layered(bare, "plain", [read_only])
    assert await mailbox.fetch("7") == "fetch 7"
    await mailbox.close()
    assert bare.calls == ["fetch 7", "close"]


async def test_retry_asks_again_with_growing_waits_until_an_answer_comes() -> None:
    waits, bare = Waits(), Plain([ProviderUnavailable("down"), ProviderUnavailable("down")])
    assert await retrying(bare, waits).folders() == "folders"
    assert waits.slept == [0.25, 0.5]
    assert bare.calls == ["folders"] * 3


async def test_retry_gives_up_after_its_attempts_with_the_providers_own_error() -> None:
    waits, bare = Waits(), Plain([ProviderUnavailable(f"down {n}") for n in range(9)])
    with pytest.raises(ProviderUnavailable, match="down 3"):
        await retrying(bare, waits, attempts=4).folders()
    assert len(bare.calls) == 4


async def test_what_is_refused_of_one_folder_is_asked_again_by_readers_and_not_by_rounds_over_all_folders() -> None:
    class Synced(Plain):
        async def folder_changes(self) -> str:
            return await self._answer("folder_changes")

    refusals = [ProviderUnavailable("in use") for _ in range(2)]
    for refusal in refusals:
        refusal.refused_folder = "Sums"
    waits, bare = Waits(), Synced(list(refusals))
    with pytest.raises(ProviderUnavailable, match="in use"):
        await retrying(bare, waits).folder_changes()
    assert (waits.slept, bare.calls) == ([], ["folder_changes"])
    assert await retrying(bare, waits).fetch("7") == "fetch 7"
    bare.failures = [ProviderUnavailable("down")]
    assert await retrying(bare, waits).folder_changes() == "folder_changes"


async def test_retry_honours_what_the_server_asked_for() -> None:
    waits, bare = Waits(), Plain([RateLimited("slow", retry_after=3)])
    assert await retrying(bare, waits).folders() == "folders"
    assert waits.slept == [3]


async def test_retry_does_not_wait_longer_than_its_patience() -> None:
    waits, bare = Waits(), Plain([ProviderUnavailable("later", retry_after=3600)])
    with pytest.raises(ProviderUnavailable) as caught:
        await retrying(bare, waits).folders()
    assert waits.slept == []
    assert caught.value.retry_after == 3600


async def test_retry_leaves_definite_errors_alone() -> None:
    waits, bare = Waits(), Plain([NotFound("gone")])
    with pytest.raises(NotFound):
        await retrying(bare, waits).fetch("1")
    assert bare.calls == ["fetch 1"]


@pytest.mark.parametrize("verb", sorted(WRITING))
async def test_retry_never_repeats_a_writing_verb(verb: str) -> None:
    calls: list[str] = []

    async def failing(*_args: object) -> None:
        calls.append(verb)
        raise ProviderUnavailable("down")

    with pytest.raises(ProviderUnavailable):
        await Retry(sleep=Waits().sleep)(verb, failing)("x")
    assert calls == [verb]


async def test_limit_spaces_calls_by_the_rate_after_the_burst_is_spent() -> None:
    waits = Waits()
    bare = Plain(capabilities=Capabilities("plain", requests_per_second=4, burst=3))
    mailbox: Any = Layered(bare, "plain", [Limit(sleep=waits.sleep, clock=waits.clock)])
    await mailbox.connect()
    for _ in range(6):
        await mailbox.folders()
    assert waits.slept == [0.25, 0.25, 0.25]


async def test_limit_lets_no_more_than_the_burst_run_at_once() -> None:
    running, most = 0, 0
    release = anyio.Event()

    class Slow(Plain):
        async def folders(self) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await release.wait()
            running -= 1
            return "folders"

    mailbox: Any = Layered(Slow(capabilities=Capabilities("slow", burst=4)), "slow", [Limit()])
    await mailbox.connect()
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(mailbox.folders)
        await anyio.wait_all_tasks_blocked()
        assert running == 4
        release.set()
    assert most == 4


async def test_limit_without_figures_never_waits() -> None:
    waits = Waits()
    mailbox: Any = Layered(Plain(), "plain", [Limit(sleep=waits.sleep, clock=waits.clock)])
    await mailbox.connect()
    for _ in range(100):
        await mailbox.folders()
    assert waits.slept == []


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [(None, "ok"), (NotFound("CANARY"), "NOT_FOUND"), (ValueError("CANARY"), "INTERNAL_ERROR")],
)
async def test_log_tells_verb_and_outcome_and_nothing_of_the_content(
    failure: Exception | None, outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "postroom.providers")
    mailbox: Any = Layered(Plain([failure] if failure else []), "plain", [Log("work", "plain")])
    if failure is None:
        await mailbox.fetch("CANARY")
    else:
        with pytest.raises(type(failure)):
            await mailbox.fetch("CANARY")
    (record,) = caplog.records
    ordinary = vars(logging.makeLogRecord({}))
    added = {key: value for key, value in vars(record).items() if key not in ordinary and key not in ("message",)}
    assert set(added) == set(FIELDS)
    assert (added["verb"], added["outcome"], added["account"]) == ("fetch", outcome, "work")
    assert "CANARY" not in str(vars(record))


async def test_log_calls_a_cancelled_call_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "postroom.providers")

    class Stuck(Plain):
        async def folders(self) -> str:
            await anyio.sleep_forever()
            return ""

    mailbox: Any = Layered(Stuck(), "stuck", [Log("work", "stuck")])
    async with anyio.create_task_group() as group:
        group.start_soon(mailbox.folders)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert [record.__dict__["outcome"] for record in caplog.records] == ["cancelled"]
