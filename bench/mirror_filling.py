"""How long a mirror takes to fill and to follow its server, and what it needs meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import imaplib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import imap  # also makes `tests` importable
from postroom.model.errors import PostroomError
from postroom.sync.file.mirror import mirror_path

from tests.peers.dovecot import PASSWORD, Dovecot  # isort: skip

ROUNDS, DELIVERIES = 100, 20


@dataclass(frozen=True, slots=True)
class Filled:
    seconds: float  # until everything is found
    settled: float  # until everything is compressed and merged, too
    megabytes: float  # most memory of all its processes together, shared pages counted once


def sync_command(config: Path, account: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "postroom", "sync", "--config", str(config), "--account", account, *more]


def filled(config: Path, env: Mapping[str, str], account: str) -> Filled:
    started = time.perf_counter()
    process = subprocess.Popen(
        sync_command(config, account), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    watch = _Watch(process, mirror_path(Path(env["POSTROOM_HOME"]), account))
    watch.start()
    code = process.wait()
    settled = time.perf_counter() - started
    watch.join()
    if code:
        raise RuntimeError(f"postroom sync ended with {code}")
    return Filled(watch.found - started if watch.found else settled, settled, watch.megabytes)


class _Watch(threading.Thread):
    """Looks at a process that fills a mirror while it runs."""

    def __init__(self, process: subprocess.Popen[bytes], mirror: Path) -> None:
        super().__init__()
        self._process = process
        self._mirror = mirror
        self.megabytes = 0.0
        self.found = 0.0  # when everything was

    def run(self) -> None:
        looks = 0
        while self._process.poll() is None:
            if not self.found and _is_complete(self._mirror):
                self.found = time.perf_counter()
            if looks % 20 == 0:  # it takes the kernel a while, on the cores that are measured
                self.megabytes = max(self.megabytes, sum(map(_megabytes, _tree(self._process.pid))))
            looks += 1
            time.sleep(0.05)


def _is_complete(mirror: Path) -> bool:
    sql = "SELECT count(*), min(is_filled) FROM mirrored_folder WHERE NOT is_left_out"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_opened_for_reading(mirror)) as connection:
        count, is_filled = connection.execute(sql).fetchone()
        return bool(count and is_filled)
    return False


def _opened_for_reading(mirror: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{mirror}?mode=ro", uri=True)


def _tree(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (task / "children").read_text().split())
    return [pid, *(inner for child in children for inner in _tree(child))]


def _megabytes(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def first_page(dovecot: Dovecot, home: Path) -> float:
    """Milliseconds from the beginning of a first fill, logged in, until the first page is found."""
    return asyncio.run(_first_page(dovecot, home)) * 1000


async def _first_page(dovecot: Dovecot, home: Path) -> float:
    from postroom.sync.file.mirror import Mirror
    from postroom.sync.following.syncing import Syncing, Tools

    seen: list[float] = []

    class EnoughError(PostroomError):
        """The first page is there."""

    def note(done: int, _total: int) -> None:
        if done >= 50:
            seen.append(time.perf_counter())
            raise EnoughError("enough")

    account, mailbox = _opened(dovecot, home)
    mirror = Mirror(mirror_path(home, "first"))
    await mailbox.connect()
    async with Syncing(mirror, mailbox, account, Tools(on_progress=note)) as syncing:
        started = time.perf_counter()
        with contextlib.suppress(EnoughError):
            await syncing.once()
    await mailbox.close()
    mirror.remove()
    return seen[0] - started


def unchanged(dovecot: Dovecot, home: Path) -> tuple[list[float], float]:
    """Milliseconds of looks at a server where nothing changed, and the mean of the processor time spent here."""
    return asyncio.run(_unchanged(dovecot, home))


async def _unchanged(dovecot: Dovecot, home: Path) -> tuple[list[float], float]:
    from postroom.sync.file.mirror import Mirror
    from postroom.sync.following.syncing import Syncing

    account, mailbox = _opened(dovecot, home)
    times = []
    async with Syncing(Mirror(mirror_path(home, "bench")), mailbox, account) as syncing:
        await mailbox.connect()
        await syncing.catch_up()
        processor = time.process_time()
        for _ in range(ROUNDS):
            started = time.perf_counter()
            await syncing.catch_up()
            times.append((time.perf_counter() - started) * 1000)
        processor = (time.process_time() - processor) * 1000 / ROUNDS
    await mailbox.close()
    return times, processor


def delivered(dovecot: Dovecot, home: Path, config: Path, env: Mapping[str, str]) -> list[float]:
    """Milliseconds from the end of a delivery into the inbox until the message is found by its word."""
    command = sync_command(config, "bench", "--follow")
    following = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with imaplib.IMAP4(dovecot.host, dovecot.imap) as client:
            client.login(imap.USER, PASSWORD)
            _deliver(client, home, 0, patience=30.0)  # from here on it listens
            times = [_deliver(client, home, number, patience=10.0) for number in range(1, DELIVERIES + 1)]
            client.select("INBOX")  # the messages may be kept for the next run: as they were
            _, (found,) = client.uid("SEARCH", "HEADER", "Message-ID", "delivered")
            client.uid("STORE", found.replace(b" ", b",").decode(), "+FLAGS.SILENT", "(\\Deleted)")
            client.expunge()
            return times
    finally:
        following.terminate()
        following.wait()
        # None of these is asked for later: the mirror has to know that they are gone.
        subprocess.run(sync_command(config, "bench"), env=env, check=True, stdout=subprocess.DEVNULL)


def _deliver(client: imaplib.IMAP4, home: Path, number: int, *, patience: float) -> float:
    word = f"delivered{number}word{time.time_ns()}"
    raw = f"From: a@bench.example\r\nSubject: News {number}\r\nMessage-ID: <{word}@bench.example>\r\n\r\n{word}\r\n"
    client.append("INBOX", "", None, raw.encode())
    started = time.perf_counter()
    while time.perf_counter() - started < patience:
        if _is_found(home, word):
            return (time.perf_counter() - started) * 1000
        time.sleep(0.005)
    raise RuntimeError(f"a delivered message was not found within {patience} s")


def _is_found(home: Path, word: str) -> bool:
    with contextlib.closing(_opened_for_reading(mirror_path(home, "bench"))) as mailbox:
        return mailbox.execute("SELECT 1 FROM words WHERE words MATCH ?", (word,)).fetchone() is not None


def _opened(dovecot: Dovecot, home: Path):  # type: ignore[no-untyped-def]
    """As the bench's own configuration has it: a mirror is of one mailbox."""
    from postroom.providers.context import ProviderContext
    from postroom.providers.registry import open_mailbox
    from postroom.settings import ImapAccount

    account = ImapAccount(
        name="bench",
        address=imap.USER,
        host=dovecot.host,
        port=dovecot.imap,
        security="none",
        password=PASSWORD,
        mirror="full",
    )
    return account, open_mailbox(account, ProviderContext(home))
