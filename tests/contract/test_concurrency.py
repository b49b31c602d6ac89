from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from .mails import PDF, folder_named, listed, mail, searched
from .rigs import Rig, RigAccount, SeedMail

MANY = 50


async def at_once(calls: list[Callable[[], Awaitable[Any]]]) -> list[Any]:
    answers: list[Any] = [None] * len(calls)

    async def run(place: int, call: Callable[[], Awaitable[Any]]) -> None:
        answers[place] = await call()

    async with anyio.create_task_group() as group:
        for place, call in enumerate(calls):
            group.start_soon(run, place, call)
    return answers


async def test_fifty_parallel_reads_each_get_their_own_mail(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed([SeedMail(mail(f"m{n}", text=f"Body {n}.", files=[("a.pdf", PDF)])) for n in range(MANY)])
    messages = await at_once([lambda ref=ref: account.mailbox.fetch(ref) for ref in refs])  # type: ignore[misc]
    assert [message.body.text.strip() for message in messages] == [f"Body {n}." for n in range(MANY)]


async def test_fifty_parallel_calls_of_every_sort_all_answer_rightly(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed([SeedMail(mail(f"m{n}", text="parcel", days_ago=n / 10)) for n in range(10)])
    await rig.settle()
    box = account.mailbox
    rounds: list[Callable[[], Awaitable[Any]]] = [
        lambda: box.folders(),
        lambda: searched(account, "parcel"),
        lambda: box.fetch(refs[3]),
        lambda: box.envelopes(refs),
        lambda: box.set_flags(refs[:5], add=["starred"]),
    ]
    answers = await at_once(rounds * (MANY // len(rounds)))
    for place in range(0, MANY, len(rounds)):
        folders, page, opened, rows, results = answers[place : place + len(rounds)]
        assert any(folder.role == "inbox" for folder in folders)
        assert [row.ref for row in page.items] == refs
        assert opened.envelope.message_id == "<m3@seed.example>"
        assert [row.ref for row in rows] == refs
        assert all(result.ok for result in results)
    assert [row.starred for row in (await listed(account, "inbox")).items] == [True] * 5 + [False] * 5


async def test_fifty_parallel_moves_lose_and_double_nothing(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed([SeedMail(mail(f"m{n}")) for n in range(MANY)])
    archive = await folder_named(account, "archive")
    answers = await at_once([lambda ref=ref: account.mailbox.move([ref], archive.ref) for ref in refs])  # type: ignore[misc]
    assert all(result.ok for results in answers for result in results)
    moved = await account.mailbox.envelopes([result.new_ref or result.ref for (result,) in answers])
    assert [row and row.message_id for row in moved] == [f"<m{n}@seed.example>" for n in range(MANY)]
    archived = (await listed(account, "archive")).items
    assert {row.message_id for row in archived} == {f"<m{n}@seed.example>" for n in range(MANY)}
    assert len(archived) == MANY
    assert (await listed(account, "inbox")).items == ()
