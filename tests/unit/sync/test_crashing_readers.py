"""A message that crashes whoever reads it is found by its headers; those read with it are found as usual."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.sync.deadly_mail import DEADLY, crash_on_one

from postroom.model.changes import BulkMail, Marks
from postroom.sync.following import reading
from postroom.sync.following.reading import Reading

COUNT = 100


def mail(number: int) -> BulkMail:
    raw = f"Subject: Number {number}\r\n\r\nHello {number}\r\n".encode()
    return BulkMail(number, f"INBOX|1|{number}", "", raw, len(raw), None, Marks(unread=True), "INBOX")


async def test_a_spooled_message_that_crashes_its_reader_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "read_spooled", crash_on_one)
    monkeypatch.setattr(reading, "cores", lambda: 2)
    ours = Reading(tmp_path / "work.spool")
    mails = [mail(number) for number in range(1, COUNT + 1)]
    begun = ours.begin(mails, coming=10_000)
    assert begun.given
    arrivals = await ours.results(begun, place=1)
    ours.rest()
    texts = [one.record.texts for one in arrivals]
    assert [one.number for one in arrivals] == list(range(1, COUNT + 1))
    assert [one.subject for one in texts] == [f"Number {number}" for number in range(1, COUNT + 1)]
    assert [number for number, one in enumerate(texts, 1) if f"Hello {number}" not in one.body] == [DEADLY]
    assert all(one.spooled for one in arrivals)
