"""A thousand messages labelled, moved and put back at each provider: how many round trips that takes.

python bench/batches.py [MAILS] [RIG ...]

The rigs are those of the contract suite: real servers (Dovecot for IMAP, Cyrus for JMAP) and the fakes of the others. A
round trip is one HTTP request (a batch of many is one) or one IMAP command; the embedded mailbox has none.
"""

from __future__ import annotations

import asyncio
import imaplib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.contract.mails import mail  # noqa: E402
from tests.contract.rigs import Rig, RigAccount, SeedMail, running_rig  # noqa: E402
from tests.contract.test_rules import opened  # noqa: E402

from postroom.service.gateway import Gateway  # noqa: E402
from postroom.service.organising import organise  # noqa: E402
from postroom.service.reading import search  # noqa: E402

MAILS = 1000
RIGS = ("local", "imap", "jmap", "gmail", "graph", "rest")


@contextmanager
def round_trips() -> Iterator[list[int]]:
    """Counted where every provider passes: the HTTP client, and the tag of every IMAP command."""
    import httpx2

    count = [0]
    send, new_tag = httpx2.AsyncClient.send, imaplib.IMAP4._new_tag  # type: ignore[attr-defined]

    async def counted_send(*args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        return await send(*args, **kwargs)

    def counted_tag(self: Any) -> Any:
        count[0] += 1
        return new_tag(self)

    httpx2.AsyncClient.send, imaplib.IMAP4._new_tag = counted_send, counted_tag  # type: ignore[method-assign, attr-defined]
    try:
        yield count
    finally:
        httpx2.AsyncClient.send, imaplib.IMAP4._new_tag = send, new_tag  # type: ignore[method-assign, attr-defined]


async def listed(gateway: Gateway, count: int) -> list[str]:
    pages = [await search.list_emails(gateway, limit=100, offset=start) for start in range(0, count, 100)]
    return [row.email_id for page in pages for row in page.results]


async def measure(rig: Rig, account: RigAccount, count: int) -> list[str]:
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        await rig.seed([SeedMail(mail(f"m{number}", days_ago=1 + number / 1440)) for number in numbers])
    await rig.settle()
    cells = []
    with opened(rig, account) as gateway:
        ids = await listed(gateway, count)
        assert len(ids) == count
        steps: list[Callable[[], Awaitable[Any]]] = [lambda: organise.mark(gateway, ids, "starred")]
        if account.capabilities.can_label:
            steps.append(lambda: organise.set_label(gateway, ids, "batch", True))
        else:
            cells.append("")
        steps.append(lambda: organise.move(gateway, ids, "archive"))
        for step in steps:
            done, cell = await counted(step, count)
            _, back = await counted(lambda done=done: organise.undo(gateway, done.operation_id), count)
            cells += [cell, back]
    return cells if account.capabilities.can_label else [*cells[1:3], "—", "—", *cells[3:]]


async def counted(step: Callable[[], Awaitable[Any]], count: int) -> tuple[Any, str]:
    started = time.process_time()
    with round_trips() as trips:
        view = await step()
    assert (view.succeeded, view.failed) == (count, 0), view
    return view, f"{trips[0]} ({time.process_time() - started:.1f} s)"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MAILS
    print("| provider | star | undo | label | undo | move | undo |")
    print("|---|---|---|---|---|---|---|")
    for name in sys.argv[2:] or RIGS:
        with tempfile.TemporaryDirectory() as folder, running_rig(name, Path(folder)) as kind:
            print(f"| {name} | {' | '.join(asyncio.run(one(kind, Path(folder), count)))} |", flush=True)


async def one(kind: type[Rig], folder: Path, count: int) -> list[str]:
    home = folder / "account"
    home.mkdir()
    rig = kind(home)
    try:
        return await measure(rig, await rig.make_account(), count)
    finally:
        await rig.close()


if __name__ == "__main__":
    main()
