"""When a mirror's messages are read by processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.sync.filling import Here

from postroom.model.changes import BulkMail, Marks
from postroom.sync.following import reading
from postroom.sync.following.reading import Reading

FEW = reading._FEW


class Started(Here):
    """Notes that processes would have been started."""

    count = 0

    def __init__(self, *given: Any) -> None:
        Started.count += 1
        super().__init__(*given)


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


def test_few_messages_are_read_in_this_process(tmp_path: Path) -> None:
    ours = Reading(tmp_path / "a.spool")
    assert ours.begin(mails(50), 50).given == ()
    assert ours.begin(mails(50), FEW - 50).given == ()
    assert Started.count == 0


async def test_processes_start_with_the_first_messages_where_many_are_known_to_come(tmp_path: Path) -> None:
    ours = Reading(tmp_path / "a.spool")
    assert ours.begin(mails(50)).given == ()  # a first page, for which somebody waits
    begun = ours.begin(mails(100), FEW)
    assert begun.given
    assert Started.count == 1
    arrivals = await ours.results(begun, place=1)
    assert [(one.number, one.record.texts.subject) for one in arrivals] == [(n, "A number") for n in range(1, 101)]


def test_processes_start_when_many_have_come_unannounced(tmp_path: Path) -> None:
    ours = Reading(tmp_path / "a.spool")
    assert ours.begin(mails(FEW)).given == ()
    assert ours.begin(mails(1)).given


async def test_processes_start_before_the_messages_come_where_the_server_has_many(tmp_path: Path) -> None:
    ours = Reading(tmp_path / "a.spool")
    ours.get_ready(FEW)
    assert Started.count == 0
    assert ours.begin(mails(50)).given == ()
    ours.get_ready(FEW)
    assert Started.count == 1
    assert ours.begin(mails(50)).given == ()  # a first page does not wait until they can read
    assert ours.begin(mails(100), FEW).given
    assert Started.count == 1
