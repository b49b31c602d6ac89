"""What tool calls cost at a web service, counted on the fake of it that the tests use: requests, bytes, units.

The numbers are counts, not times, and the same everywhere. "First" is a call by a process that has just started,
"again" the same call by the same process.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.contract.mails import mail  # noqa: E402

from corpus import generate  # noqa: E402
from postroom.service.gateway import Gateway  # noqa: E402
from postroom.service.organising import organise  # noqa: E402
from postroom.service.reading import read, search  # noqa: E402
from postroom.settings import build  # noqa: E402
from postroom.wiring import open_gateway  # noqa: E402

MESSAGES, THREAD, MANY = 1000, 50, 1000
_LABELS = count()
Tool = Callable[[Gateway], Awaitable[object]]
Deliver = Callable[[bytes, float], object]  # a message at a moment


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    call: Tool


def rows(email_id: str, thread_id: str, many: list[str]) -> list[Row]:
    return [
        Row("list 20", lambda gateway: search.list_emails(gateway, mailbox="INBOX", limit=20)),
        Row("search a word", lambda gateway: search.search_emails(gateway, "plantedfifth", limit=20)),
        Row("read", lambda gateway: read.read_email(gateway, email_id)),
        Row(f"thread of {THREAD}", lambda gateway: read.get_thread(gateway, thread_id)),
        Row(f"label {MANY:,}", lambda gateway: organise.set_label(gateway, many, f"Label {next(_LABELS)}", on=True)),
    ]


def fill(deliver: Deliver) -> None:
    for one in generate(MESSAGES):
        deliver(one.raw, one.date.timestamp())
    for number in range(THREAD):
        answers = [f"t{earlier}" for earlier in range(number)]
        raw = mail(f"t{number}", subject="Re: Roof" if number else "Roof", answers=answers, days_ago=99 - number)
        deliver(raw, 1_700_000_000 + number)


async def ids(gateway: Gateway) -> tuple[str, str, list[str]]:
    listed = [
        row
        for offset in range(0, MANY, 100)
        for row in (await search.list_emails(gateway, mailbox="INBOX", limit=100, offset=offset)).results
    ]
    (part,) = (await search.search_emails(gateway, "subject:roof", limit=1)).results
    return listed[0].email_id, part.thread_id, [row.email_id for row in listed]


def told(fake: Any) -> tuple[int, int, int]:
    """Requests, kilobytes both ways, units: those of the service, or else the requests within batches."""
    outer = [one for one in fake.requests if not one.in_batch]
    single = [one for one in fake.requests if one.operation != "batch"]
    units = sum(one.units for one in fake.requests) or len(single)
    return len(outer), sum(one.received + one.sent for one in outer) // 1024, units


async def measure(fake: Any, account: dict[str, Any], deliver: Deliver, least: tuple[int, ...], home: Path) -> None:
    """`least` are the fewest requests by which each call can be done at all."""
    fill(deliver)
    settings = build({"accounts": [{"name": "mine", **account}]}, home=home)
    async with open_gateway(settings) as gateway:
        known = await ids(gateway)
    print("| call | requests, first | again | at least | KB, first | again | units, again |")
    print("|---|---|---|---|---|---|---|")
    for row, fewest in zip(rows(*known), least, strict=True):
        async with open_gateway(settings) as gateway:
            counts = []
            for _ in range(2):
                fake.forget()
                await row.call(gateway)
                counts.append(told(fake))
        (first, first_kb, _), (again, kb, units) = counts
        print(f"| {row.name} | {first} | {again} | {fewest} | {first_kb} | {kb} | {units} |")
