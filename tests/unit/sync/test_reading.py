"""When a mirror's messages are read by processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from postroom.model.changes import BulkMail, Marks
from postroom.sync import reading
from postroom.sync.reading import Read, Reading

FEW = reading._FEW


class Started:
    """Instead of processes: notes that they were started, and reads here."""

    count = 0

    def __init__(self, read: Callable[[list[BulkMail]], list[Read]], _instead: Any, _count: int) -> None:
        Started.count += 1
        self._read = read

    def give(self, mails: list[BulkMail]) -> Iterator[list[Read]]:
        return iter([self._read(mails)])

    def results(self, given: Iterator[list[Read]]) -> list[Read]:
        return next(given)


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    Started.count = 0
    monkeypatch.setattr(reading, "Readers", Started)
    monkeypatch.setattr(reading, "cores", lambda: 2)


def mails(count: int) -> list[BulkMail]:
    raw = b"Subject: A number\r\n\r\nHello\r\n"
    return [
        BulkMail(number, f"INBOX|1|{number}", "", raw, len(raw), None, Marks(unread=True), "INBOX")
        for number in range(1, count + 1)
    ]


def test_few_messages_are_read_in_this_process() -> None:
    ours = Reading()
    assert ours.begin(mails(50), 50).given is None
    assert ours.begin(mails(50), FEW - 50).given is None
    assert Started.count == 0


async def test_processes_start_with_the_first_messages_where_many_are_known_to_come() -> None:
    ours = Reading()
    assert ours.begin(mails(50)).given is None  # a first page, for which somebody waits
    begun = ours.begin(mails(100), FEW)
    assert begun.given is not None
    assert Started.count == 1
    arrivals = await ours.results(begun, place=1)
    assert [(one.number, one.entry.envelope.subject) for one in arrivals] == [(n, "A number") for n in range(1, 101)]


def test_processes_start_when_many_have_come_unannounced() -> None:
    ours = Reading()
    assert ours.begin(mails(FEW)).given is None
    assert ours.begin(mails(1)).given is not None
