"""The mirror of an IMAP account: how long it takes to fill, and what calls cost on it.

    python bench/mirror.py [MAILS ...]

A real Dovecot serves the corpus as one inbox. The first fill stands beside mbsync's, which only copies; calls over
stdio stand beside the floor server on the same index, in turns; mu looks the words up in the same messages. Needs root
and Dovecot; what else is not installed is left out and named.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import imap  # also makes `tests` importable
from imap_peers import mirror_seconds
from mcp_stdio import StdioServer
from tool_call import percentile, report

from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot  # isort: skip

HERE = Path(__file__).parent
ROUNDS, FILLING_ROUNDS = 100, 200
WORDS = {"half of all": "plantedhalf", "one in 100": "plantedmid", "rare": "plantedrare"}


def config(dovecot: Dovecot, home: Path) -> Path:
    """Two accounts on the same inbox: one is filled while the other is used."""
    path = home / "postroom.toml"
    account = (
        '[[accounts]]\nname = "{name}"\nprovider = "imap"\n'
        f'address = "{imap.USER}"\nhost = "{dovecot.host}"\nport = {dovecot.imap}\nsecurity = "none"\n'
        f'password = "{PASSWORD}"\ntimeout = 120\nmirror = "full"\n'
    )
    path.write_text(account.format(name="bench") + account.format(name="other"))
    path.chmod(0o600)
    return path


def synced(path: Path, env: Mapping[str, str], account: str) -> tuple[float, float]:
    """Seconds, and the largest process in MB."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "postroom", "sync", "--config", str(path), "--account", account]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def fill_report(dovecot: Dovecot, home: Path, path: Path, env: Mapping[str, str], mails: int) -> None:
    seconds, memory = synced(path, env, "bench")
    size = sum(file.stat().st_size for file in (home / "mirrors").glob("bench.db*")) / 2**20
    print(
        f"first fill             {seconds:7.1f} s  {mails / seconds:7,.0f} mails/s  {memory:.0f} MB  file {size:.0f} MB"
    )
    if shutil.which("mbsync"):
        copied = mirror_seconds(dovecot, imap.USER, PASSWORD, Path(tempfile.mkdtemp(dir=home)))
        print(f"mbsync, copying only   {copied:7.1f} s  {mails / copied:7,.0f} mails/s  {seconds / copied:.1f}x")
    else:
        print("mbsync is not installed (Debian: isync)")


def catching_up(dovecot: Dovecot, home: Path) -> None:
    times = asyncio.run(_rounds(dovecot, home))
    print(f"nothing changed        p50 {statistics.median(times):6.2f} p99 {percentile(times, 0.99):6.2f} ms")


async def _rounds(dovecot: Dovecot, home: Path) -> list[float]:
    from postroom.providers.context import ProviderContext
    from postroom.providers.registry import open_mailbox
    from postroom.settings import ImapAccount
    from postroom.sync.mirror import Mirror, mirror_path
    from postroom.sync.syncing import Syncing

    account = ImapAccount(
        name="bench", address=imap.USER, host=dovecot.host, port=dovecot.imap, security="none", password=PASSWORD
    )
    mailbox, times = open_mailbox(account, ProviderContext(home)), []
    async with Syncing(Mirror(mirror_path(home, "bench")), mailbox, account) as syncing:
        await mailbox.connect()
        for _ in range(ROUNDS):
            started = time.perf_counter()
            await syncing.catch_up()
            times.append((time.perf_counter() - started) * 1000)
    await mailbox.close()
    return times[1:]


def calls(home: Path, path: Path, env: Mapping[str, str]) -> None:
    floor_command = [sys.executable, str(HERE / "floor_server.py"), str(home / "mirrors" / "bench.db")]
    ours_command = [sys.executable, "-m", "postroom", "serve", "--config", str(path)]
    with StdioServer(ours_command, env) as ours, StdioServer(floor_command) as floor:
        _compare("list 20", ours, floor, ("list_emails", {"limit": 20}), ("list_emails", {"limit": 20}))
        for name, word in {**WORDS, "subject": "time"}.items():
            query = f"subject:{word}" if name == "subject" else word
            there = ("search_emails", {"query": f"subject : {word}" if name == "subject" else word, "limit": 20})
            _compare(f"search, {name}", ours, floor, ("search_emails", {"query": query, "limit": 20}), there)
        _, found = ours.call("search_emails", {"query": "subject:re", "limit": 1})
        row = found["structuredContent"]["results"][0]
        _alone("thread", ours, ("get_thread", {"thread_id": row["thread_id"]}))
        _alone("read", ours, ("read_email", {"email_id": row["email_id"]}))
        _while_filling(ours, path, env)


def _compare(name: str, ours: StdioServer, floor: StdioServer, mine: imap.Call, its: imap.Call) -> None:
    for server, call in ((ours, mine), (floor, its)):
        server.call(*call)
    pairs = [(ours.call(*mine)[0], floor.call(*its)[0]) for _ in range(ROUNDS)]
    report(name, [first for first, _ in pairs], [second for _, second in pairs])


def _alone(name: str, server: StdioServer, call: imap.Call) -> None:
    server.call(*call)
    times = [server.call(*call)[0] for _ in range(ROUNDS)]
    print(f"{name:20} postroom p50 {statistics.median(times):6.2f} p99 {percentile(times, 0.99):6.2f}")


def _while_filling(ours: StdioServer, path: Path, env: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "postroom", "sync", "--reset", "--config", str(path), "--account", "other"]
    filling = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    call: tuple[str, dict[str, Any]] = ("search_emails", {"query": WORDS["rare"], "limit": 20, "account": "bench"})
    times = []
    while filling.poll() is None and len(times) < FILLING_ROUNDS:
        times.append(ours.call(*call)[0])
    filling.terminate()
    filling.wait()
    print(
        f"{'search, during a fill':20} postroom p50 {statistics.median(times):6.2f} p99 {percentile(times, 0.99):6.2f} "
        f"({len(times)} calls)"
    )


def other_programs(dovecot: Dovecot, home: Path) -> None:
    """A process per search, as their users run them."""
    if not shutil.which("mu"):
        print("mu is not installed (Debian: maildir-utils)")
        return
    env = {**os.environ, "MUHOME": str(home / "mu")}
    started = time.perf_counter()
    maildir = dovecot.maildir(imap.USER)
    quiet: dict[str, Any] = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["mu", "init", f"--maildir={maildir}"], check=True, **quiet)
    subprocess.run(["mu", "index", "--quiet"], check=True, **quiet)
    print(f"mu, index              {time.perf_counter() - started:7.1f} s (reads the files beside the server)")
    for name, word in WORDS.items():
        times = []
        for _ in range(ROUNDS // 5):
            begun = time.perf_counter()
            subprocess.run(["mu", "find", "--sortfield=date", "--reverse", "--maxnum=20", word], check=False, **quiet)
            times.append((time.perf_counter() - begun) * 1000)
        print(f"mu, search, {name:12} p50 {statistics.median(times):6.2f} p99 {percentile(times, 0.99):6.2f}")


def main(mails: int) -> None:
    print(f"== {mails:,} mails")
    with running_dovecot() as dovecot, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        imap.fill(dovecot, mails)
        env = {**os.environ, "POSTROOM_HOME": str(home)}
        path = config(dovecot, home)
        fill_report(dovecot, home, path, env, mails)
        catching_up(dovecot, home)
        synced(path, env, "other")
        calls(home, path, env)
        other_programs(dovecot, home)


if __name__ == "__main__":
    for given in sys.argv[1:] or ["5000", "50000"]:
        main(int(given))
