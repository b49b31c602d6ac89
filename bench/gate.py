"""The gate: how many mails a second pass all ten steps on the local mailbox, what of that is waiting for the disk, and
what a vault with ten thousand approval files costs.

    python bench/gate.py [SENDS] [FILES]

Goal: the list of approvals, a warm look at the vault and finding an approval in it under 50 ms.
"""

from __future__ import annotations

import logging
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from postroom.service.gateway import Gateway
from postroom.service.sending import send, worker
from postroom.service.sending.approval import approvals, handwritten
from postroom.service.sending.order import Order, Wishes
from postroom.service.writing import composing
from postroom.settings import build
from postroom.store import NewSend
from postroom.store.vault.approval_file import ApprovalFile, render
from postroom.store.vault.folder import APPROVED, PENDING
from postroom.wiring import open_gateway

GOAL_MS = 50.0


@asynccontextmanager
async def a_gateway(home: Path, **settings: Any) -> AsyncIterator[Gateway]:
    accounts = [
        {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}
        for name in ("alice", "bob")
    ]
    safety = {"gate": "confirm", "sends_per_hour": 1_000_000, **settings}
    dialect = {"dialect": safety.pop("dialect", "postroom")}
    async with open_gateway(build({"server": dialect, "accounts": accounts, "safety": safety}, home=home)) as gateway:
        yield gateway


async def an_order(gateway: Gateway, number: int, to: str = "bob@demo.example") -> Order:
    request = composing.DraftRequest(to=(to,), subject=f"Mail {number}", body="Shall we say noon? " * 20)
    return await send.order_mail(gateway, request, Wishes(confirm=True, idempotency_key=str(number)))


async def send_many(home: Path, count: int) -> float:
    """Mails per second, one after the other."""
    async with a_gateway(home) as gateway:
        await send.send(gateway, await an_order(gateway, -1))
        started = time.perf_counter()
        for number in range(count):
            view = await send.send(gateway, await an_order(gateway, number))
            assert view.status == "sent"
        return count / (time.perf_counter() - started)


def syncing_per_send(count: int) -> tuple[float, float] | None:
    """How many syncs a send makes and how many seconds they take, by strace in a process of its own; None without it.

    Taken as the difference to twice the sends, so that start and end cancel out. Running with and without syncing
    instead does not tell: on a noisy machine the difference is as often negative.
    """
    if shutil.which("strace") is None:
        return None
    (few, short), (many, long) = (_syncs(sends) for sends in (count, 2 * count))
    return (many - few) / count, (long - short) / count


def _syncs(sends: int) -> tuple[int, float]:
    command = ["strace", "-f", "-qq", "-c", "-w", "-e", "trace=fsync,fdatasync"]
    program = [sys.executable, __file__, "only", str(sends)]
    table = subprocess.run([*command, *program], capture_output=True, text=True, check=True).stderr
    rows = [line.split() for line in table.splitlines() if line.endswith(("fsync", "fdatasync"))]
    return sum(int(row[3]) for row in rows), sum(float(row[1]) for row in rows)


async def fill_vault(gateway: Gateway, count: int) -> None:
    """As many mails that wait for a person, each with its file, and as many approvals written by hand."""
    gateway.vault.prepare()
    order = await an_order(gateway, 0)

    def fill() -> None:
        for number in range(count):
            account = f"account-{number // 100}"  # one account has at most a hundred waiting
            new = NewSend(account, "send_email", "email_send", f"{number:064}", order.raw, "alice@demo.example",
                          ("bob@demo.example",), f"<{number}@demo.example>")  # fmt: skip
            asked = gateway.store.approvals.request(
                gateway.store.outbox.prepare(new).send_id, expires_at=gateway.store.clock.wall() + 86_400
            )
            _write(gateway, PENDING, f"email_send_{asked.approval_id}.md", "pending", "bob", asked.approval_id)
            _write(gateway, APPROVED, f"by hand {number:05}.md", "approved", f"somebody-{number}")

    await gateway.in_thread(fill)


def _write(gateway: Gateway, folder: str, name: str, status: str, to: str, approval_id: str = "") -> None:
    file = ApprovalFile("email_send", status, (f"{to}@demo.example",), subject="Lunch?", approval_id=approval_id,
                        body="Shall we say noon?\n" * 20)  # fmt: skip
    path = gateway.vault.root / folder / name
    path.write_bytes(render(file))
    path.chmod(0o600)


async def timed(label: str, call: Callable[[], Any], *, runs: int = 1, goal: bool = False) -> None:
    """The median of the runs."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        result = call()
        if hasattr(result, "__await__"):
            await result
        times.append(time.perf_counter() - started)
    took = statistics.median(times) * 1000
    verdict = f"   goal {GOAL_MS:.0f} ms: {'met' if took < GOAL_MS else 'MISSED'}" if goal else ""
    print(f"  {label:48}{took:9.1f} ms{verdict}")


async def look_at_the_vault(home: Path, files: int) -> None:
    async with a_gateway(home) as gateway:
        await fill_vault(gateway, files)
    print(f"a vault with {files} files that wait and {files} written by hand")
    async with a_gateway(home, dialect="vault") as gateway:
        orders = [await an_order(gateway, 1), await an_order(gateway, 1, to=f"somebody-{files // 2}@demo.example")]
        order, approved = (handwritten.Wanted.of_draft(order.kind, order.draft) for order in orders)
        await timed("approvals list", lambda: approvals.list_waiting(gateway), runs=5, goal=True)
        await timed("scan of a folder, cold", lambda: gateway.vault.scan(APPROVED))
        await timed("scan of a folder, warm", lambda: gateway.vault.scan(APPROVED), runs=9, goal=True)
        await timed(
            "hand-written approval found, warm", lambda: handwritten._matching(gateway, approved), runs=9, goal=True
        )
        await timed("none found, warm", lambda: handwritten._matching(gateway, order), runs=9)
        await timed("a round of the worker", lambda: worker.work_once(gateway), runs=5)


def main(sends: int, files: int) -> None:
    logging.disable(logging.CRITICAL)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        rate = anyio.run(send_many, home / "sends", sends)
        print("sends through the whole gate, one after the other")
        print(f"  {'sends':48}{rate:9.1f} /s   ({1000 / rate:.1f} ms each)")
        synced = syncing_per_send(100)
        if synced is None:
            print("  strace is not installed: the share of syncing is not known")
        else:
            print(f"  {'syncs of a send':48}{synced[0]:9.1f}      ({synced[1] * 1000:.1f} ms)")
            print(f"  {'share of the time that is syncing':48}{synced[1] * rate * 100:9.0f} %")
        anyio.run(look_at_the_vault, home / "vault", files)


if __name__ == "__main__":
    if sys.argv[1:2] == ["only"]:
        with TemporaryDirectory() as folder:
            anyio.run(send_many, Path(folder), int(sys.argv[2]))
    else:
        main(int((sys.argv[1:2] or ["200"])[0]), int((sys.argv[2:3] or ["10000"])[0]))
