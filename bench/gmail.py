"""What each tool call costs at Gmail: requests, bytes and quota units, beside the fewest requests that could do it.

    python bench/gmail.py

Against the fake Gmail of the tests, in this process: the numbers are counts, not times, and the same everywhere.
"First" is a call by a process that has just started, "again" the same call by the same process.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.contract.mails import mail  # noqa: E402
from tests.peers.gmail import FakeGmail  # noqa: E402
from tests.peers.gmail.mailbox import Mailbox  # noqa: E402

from corpus import generate  # noqa: E402
from postroom.service.gateway import Gateway  # noqa: E402
from postroom.service.organising import organise  # noqa: E402
from postroom.service.reading import read, search  # noqa: E402
from postroom.settings import build  # noqa: E402
from postroom.wiring import open_gateway  # noqa: E402

MESSAGES, THREAD, MANY = 1000, 50, 1000
_LABELS = count()
Tool = Callable[[Gateway], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Row:
    """`least` is the number of requests without which it cannot be done at all."""

    name: str
    least: int
    call: Tool


def rows(email_id: str, thread_id: str, many: list[str]) -> list[Row]:
    return [
        Row("list 20", 2, lambda gateway: search.list_emails(gateway, mailbox="INBOX", limit=20)),
        Row("search a word", 2, lambda gateway: search.search_emails(gateway, "plantedfifth", limit=20)),
        Row("read", 1, lambda gateway: read.read_email(gateway, email_id)),
        Row(f"thread of {THREAD}", 1, lambda gateway: read.get_thread(gateway, thread_id)),
        Row(f"label {MANY:,}", 1, lambda gateway: organise.apply_label(gateway, many, f"Label {next(_LABELS)}")),
    ]


def settings_for(gmail: FakeGmail, user: Mailbox, home: Path) -> object:
    account = {"name": "mine", "provider": "gmail", "address": user.address, "base_url": gmail.url}
    account |= {"token": gmail.token(user), "units_per_minute": 10**8}
    return build({"accounts": [account]}, home=home)


def fill(gmail: FakeGmail, user: Mailbox) -> None:
    for one in generate(MESSAGES):
        gmail.deliver(user, one.raw, when=one.date.timestamp())
    for number in range(THREAD):
        answers = [f"t{earlier}" for earlier in range(number)]
        raw = mail(f"t{number}", subject="Re: Roof" if number else "Roof", answers=answers, days_ago=99 - number)
        gmail.deliver(user, raw, when=1_700_000_000 + number)


async def ids(gateway: Gateway) -> tuple[str, str, list[str]]:
    listed = [
        row
        for offset in range(0, MANY, 100)
        for row in (await search.list_emails(gateway, mailbox="INBOX", limit=100, offset=offset)).results
    ]
    (part,) = (await search.search_emails(gateway, "subject:roof", limit=1)).results
    return listed[0].email_id, part.thread_id, [row.email_id for row in listed]


def told(gmail: FakeGmail, user: Mailbox) -> tuple[int, int, int]:
    """Requests, kilobytes both ways, units."""
    outer = [one for one in gmail.requests if not one.in_batch]
    return len(outer), sum(one.received + one.sent for one in outer) // 1024, gmail.units(user)


async def measure(gmail: FakeGmail, home: Path) -> None:
    user = gmail.user("bench@gmail.example")
    fill(gmail, user)
    settings = settings_for(gmail, user, home)
    async with open_gateway(settings) as gateway:
        known = await ids(gateway)
    print("| call | requests, first | again | at least | KB, first | again | units, again |")
    print("|---|---|---|---|---|---|---|")
    for row in rows(*known):
        async with open_gateway(settings) as gateway:
            counts = []
            for _ in range(2):
                gmail.forget()
                await row.call(gateway)
                counts.append(told(gmail, user))
        (first, first_kb, _), (again, kb, units) = counts
        print(f"| {row.name} | {first} | {again} | {row.least} | {first_kb} | {kb} | {units} |")


def main() -> None:
    with tempfile.TemporaryDirectory() as home, FakeGmail.started() as gmail:
        gmail.quota.per_user_per_minute = gmail.quota.per_project_per_minute = None
        asyncio.run(measure(gmail, Path(home)))


if __name__ == "__main__":
    main()
