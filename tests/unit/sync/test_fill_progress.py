"""Who is told how far a fill is, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from postroom.model.errors import ProviderUnavailable
from postroom.sync.answering import fill_progress
from postroom.sync.answering.fill_progress import telling, told_to
from postroom.sync.file.status import ABSENT, FolderStatus, MirrorStatus

pytestmark = pytest.mark.anyio


def filled(messages: int, total: int = 10) -> MirrorStatus:
    inbox = FolderStatus("INBOX", "INBOX", messages == total, None, False, messages, total)
    return MirrorStatus(complete=messages == total, as_of=None, folders=(inbox,), messages=messages)


class Filling:
    """A mirror that is further each time it is looked at."""

    def __init__(self, *statuses: MirrorStatus) -> None:
        self._statuses = list(statuses)

    def status(self) -> MirrorStatus:
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]


class Ear:
    def __init__(self, enough: int) -> None:
        self.heard: list[tuple[str, int, int]] = []
        self.is_enough = anyio.Event()
        self._enough = enough

    async def __call__(self, account: str, done: int, total: int) -> None:
        self.heard.append((account, done, total))
        if len(self.heard) == self._enough:
            self.is_enough.set()


async def test_reports_go_on_for_as_long_as_the_server_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_progress, "_EVERY", 0.0)
    ear, mirror = Ear(3), Filling(filled(2), filled(5), filled(9), filled(10))

    async def answer() -> str:
        assert ear.heard == [("work", 2, 10)], "the first comes before the server is asked"
        await ear.is_enough.wait()
        return "answer"

    with told_to(ear), anyio.fail_after(10):
        assert await telling(mirror, "work", answer) == "answer"  # type: ignore[arg-type]
    assert ear.heard == [("work", 2, 10), ("work", 5, 10), ("work", 9, 10)]


@pytest.mark.parametrize(
    "status", [filled(10), ABSENT, replace(filled(3), folders=())], ids=["complete", "absent", "new"]
)
async def test_a_mirror_that_is_complete_or_knows_no_total_yet_is_not_spoken_of(status: MirrorStatus) -> None:
    ear = Ear(1)

    async def answer() -> str:
        return "answer"

    with told_to(ear):
        assert await telling(Filling(status), "work", answer) == "answer"  # type: ignore[arg-type]
    assert ear.heard == []


async def test_an_error_comes_out_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_progress, "_EVERY", 0.0)

    async def fail() -> Any:
        raise ProviderUnavailable("The server is away.")

    with told_to(Ear(1)), pytest.raises(ProviderUnavailable, match="away"):
        await telling(Filling(filled(1)), "work", fail)  # type: ignore[arg-type]


async def test_nobody_is_told_outside() -> None:
    ear = Ear(1)
    with told_to(ear):
        pass

    async def answer() -> str:
        return "answer"

    assert await telling(Filling(filled(1)), "work", answer) == "answer"  # type: ignore[arg-type]
    assert ear.heard == []


def test_a_message_in_several_folders_is_expected_once_when_everything_is_there() -> None:
    inbox = FolderStatus("a", "INBOX", True, None, False, 3, 3)
    label = FolderStatus("b", "Label", True, None, False, 2, 2)  # both are in the inbox too
    half = replace(label, complete=False, messages=1)
    status = MirrorStatus(complete=True, as_of=None, folders=(inbox, label), messages=3)
    assert status.expected == 3
    assert replace(status, complete=False, folders=(inbox, half)).expected == 4
    assert replace(status, complete=False, folders=(inbox, replace(half, is_left_out=True))).expected == 3
