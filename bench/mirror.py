"""The mirror of an IMAP account: how long it takes to fill, and what calls cost on it, as Markdown tables.

    python bench/mirror.py [MAILS ...] [--folder FOLDER] [--rounds 100] [--patience 1500] [--peer-up-to 5000]

A real Dovecot serves the corpus as one inbox. The first fill stands beside mbsync's, which only copies. Calls over
stdio stand beside the floor server on the same index, each with another message, page or word; mu and notmuch on the
same messages, and mcp-email-server, which asks the server, make one call of each kind again and again: all in turns.
Needs root and Dovecot; what else is not installed is left out and named.

FOLDER keeps the generated messages for the next run (200,000 are 4 GB), and the server's own index of them. The mirrors
and the other programs' files are temporary (TMPDIR): three times as much as the messages. With several sizes a last
table shows side by side what grows with the mailbox and what does not.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import imap  # also makes `tests` importable
import mail_programs
import mirror_filling
from imap_peers import PEER, mirror_seconds, peer_command, peer_environment
from mcp_stdio import StdioServer, environment
from tool_call import percentile
from varied import HALF, LIST, ONE_PERCENT, RARE, READ, SUBJECT, calling, far_down, varied

from tests.peers.dovecot import MAIL_OWNER, PASSWORD, Dovecot, running_dovecot  # isort: skip

HERE = Path(__file__).parent
WORDS = {SUBJECT: "subject:time", RARE: "plantedrare", ONE_PERCENT: "plantedmid", HALF: "plantedhalf"}  # for programs
FEW = 5  # calls of a program in 20 of ours
ENOUGH = 20_000.0  # milliseconds of one program's calls in a row: some take seconds
UNCHANGED = "nothing changed"
LONGEST_FILL = 300.0  # seconds for which calls are made beside a fill

Contender = Callable[[], float]  # makes one call and returns its milliseconds


@dataclass(frozen=True, slots=True)
class Cost:
    """Of Postroom alone, in milliseconds: the median that a caller waits, and the mean of its processor time."""

    waited: float
    processor: float

    def __str__(self) -> str:
        return f"{self.waited:.1f} ({self.processor:.2f})"


Costs = dict[str, Cost]  # by what was done


@contextlib.contextmanager
def served(mails: int, folder: Path | None) -> Iterator[Dovecot]:
    with running_dovecot() as dovecot:
        place = dovecot.maildir(imap.USER)
        if folder is not None:
            kept = folder.resolve() / str(mails)
            if not kept.exists():
                imap.fill(dovecot, mails)
                folder.mkdir(parents=True, exist_ok=True)
                shutil.move(place, kept)
                imap.give_to_server(kept)  # a copy to another file system has another owner
            place.parent.mkdir(parents=True, exist_ok=True)
            os.chown(place.parent, MAIL_OWNER, MAIL_OWNER)
            place.symlink_to(kept)
        else:
            imap.fill(dovecot, mails)
        yield dovecot


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


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def shown(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f} / {percentile(list(times), 0.99):.1f}" if times else ""


def in_turns(contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    """Each once in a round, programs in a few of them: whatever else the machine does hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()  # warms its caches
    for number in range(rounds):
        for name, call in contenders.items():
            if name in ("Postroom", "floor") or (number % 20 < FEW and sum(times[name]) < ENOUGH):
                times[name].append(call())
    return times


# --- filling


def filling(dovecot: Dovecot, home: Path, path: Path, env: Mapping[str, str], mails: int) -> Costs:
    first = [mirror_filling.first_page(dovecot, home) for _ in range(5)]
    done = mirror_filling.filled(path, env, "bench")
    size = sum(file.stat().st_size for file in (home / "mirrors").glob("bench.db*")) / 2**20
    served_size = sum(file.stat().st_size for file in (dovecot.maildir(imap.USER) / "cur").iterdir()) / 2**20
    rows = [
        ["first page found after", f"{statistics.median(first):.0f} ms (five times: at most {max(first):.0f})"],
        ["first fill, everything found", f"{done.seconds:.1f} s, {mails / done.seconds:,.0f} a second"],
        ["compressed and merged as well", f"{done.settled:.1f} s"],
        ["most memory, all its processes", f"{done.megabytes:.0f} MB"],
        ["file", f"{size:.0f} MB for {served_size:.0f} MB of messages"],
    ]
    if shutil.which("mbsync"):
        with tempfile.TemporaryDirectory(dir=home) as copy:
            copied = mirror_seconds(dovecot, imap.USER, PASSWORD, Path(copy))
        rows.append(["mbsync, which only copies", f"{copied:.1f} s ({done.seconds / copied:.1f}x)"])
    else:
        rows.append(["mbsync", "not installed (Debian: isync)"])
    unchanged, processor = mirror_filling.unchanged(dovecot, home)
    rows.append([f"{UNCHANGED}, p50 / p99", f"{shown(unchanged)} ms, of which {processor:.1f} ms processor time here"])
    new = mirror_filling.delivered(dovecot, home, path, env)
    rows.append(["delivered until found, p50 / p99", f"{shown(new)} ms ({len(new)} deliveries)"])
    table([f"filling, {mails:,} mails", ""], rows)
    return {UNCHANGED: Cost(statistics.median(unchanged), processor)}


# --- calls


def calls(
    dovecot: Dovecot, home: Path, path: Path, env: Mapping[str, str], mails: int, options: argparse.Namespace
) -> Costs:
    floor_command = [sys.executable, str(HERE / "floor_server.py"), str(home / "mirrors" / "bench.db")]
    ours_command = [sys.executable, "-m", "postroom", "serve", "--config", str(path)]
    maildir = dovecot.maildir(imap.USER).resolve()
    programs = [make(maildir, home, options.patience) for make in (mail_programs.mu, mail_programs.notmuch)]
    with StdioServer(ours_command, env) as first:
        pairs = varied(first, home / "mirrors" / "bench.db", home / "state.db", mails, options.rounds)
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(StdioServer(ours_command, env))
        floor = stack.enter_context(StdioServer(floor_command))
        peer = stack.enter_context(_peer(dovecot, home)) if mails <= options.peer_up_to else None
        told = _told(ours, home, mails)
        theirs = {program.name: _of_program(program, told, maildir, mails) for program in programs}
        ours.come_to_rest()
        rows = []
        costs: Costs = {}
        for name, both in pairs.items():
            mine, its = zip(*both, strict=True)
            contenders: dict[str, Contender] = {"Postroom": calling(ours, mine), "floor": calling(floor, its)}
            contenders |= {program: found[name] for program, found in theirs.items() if name in found}
            if peer is not None and name in (asked := _of_peer(told)):
                contenders[PEER] = _trying(peer, asked[name])
            before = ours.cpu
            times = in_turns(contenders, options.rounds)
            costs[name] = Cost(statistics.median(times["Postroom"]), (ours.cpu - before) / (options.rounds + 1))
            rows.append(_row(name, times))
        noise = in_turns(
            {"Postroom": calling(floor, [("list_emails", {})]), "floor": calling(floor, [("list_emails", {})])},
            options.rounds,
        )
        heads = ["Postroom", "floor", "ratio", "mu", "notmuch", PEER]
        table([f"ms, p50 / p99, {mails:,} mails", *heads], rows)
        table(["beside", ""], [_remark(program) for program in programs])
        first, second = noise.values()
        print(
            f"\nNoise: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores. The floor's listing beside itself: "
            f"{statistics.median(first) / statistics.median(second):.2f}x, p50 / p99 {shown(first)} ms."
        )
        _while_filling(ours, home, path, env)
    return costs


def _row(name: str, times: Mapping[str, list[float]]) -> list[str]:
    ratio = statistics.median(times["Postroom"]) / statistics.median(times["floor"])
    others = [shown(times.get(other, [])) for other in ("mu", "notmuch", PEER)]
    return [name, shown(times["Postroom"]), shown(times["floor"]), f"{ratio:.2f}x", *others]


def _remark(program: mail_programs.Program) -> list[str]:
    return [program.name, program.why or f"indexed in {program.indexed:.1f} s; a process per call"]


def _trying(server: StdioServer, call: imap.Call) -> Contender:
    return lambda: imap.measured(server, call)[0]


def _peer(dovecot: Dovecot, home: Path) -> StdioServer:
    return StdioServer(peer_command(), peer_environment(dovecot, imap.USER, PASSWORD, home))


def _told(ours: StdioServer, home: Path, mails: int) -> dict[str, str]:
    """One message in the middle of the mailbox that is part of a conversation, by its names here and there."""
    import sqlite3

    _, found = ours.call("search_emails", {"query": "subject:re", "limit": 1, "offset": mails // 8, "account": "bench"})
    row = found["structuredContent"]["results"][0]
    with contextlib.closing(sqlite3.connect(f"file:{home}/state.db?mode=ro", uri=True)) as store:
        (ref,) = store.execute("SELECT ref FROM handles WHERE handle = ?", (row["email_id"],)).fetchone()
    with contextlib.closing(sqlite3.connect(f"file:{home}/mirrors/bench.db?mode=ro", uri=True)) as mailbox:
        (message_id,) = mailbox.execute("SELECT message_id FROM mail WHERE ref = ?", (ref,)).fetchone()
    return {
        "ref": ref,
        "message_id": message_id.strip("<>"),
        "email_id": row["email_id"],
        "thread_id": row["thread_id"],
        "uid": ref.rpartition("|")[2],
    }


def _of_program(
    program: mail_programs.Program, told: Mapping[str, str], maildir: Path, mails: int
) -> dict[str, Contender]:
    if program.indexed is None:
        return {}
    if program.name == "mu":
        find = ["mu", "find", "--fields=l", f"msgid:{told['message_id']}"]
        path = subprocess.run(find, env=program.env, capture_output=True, text=True, check=False).stdout.strip()
        commands = mail_programs.mu_calls(WORDS, told["message_id"], path)
    else:
        commands = mail_programs.notmuch_calls(WORDS, told["message_id"], far_down(mails))
    return {name: lambda command=command: program.ran(command) for name, command in commands.items()}  # type: ignore[misc]


def _of_peer(told: Mapping[str, str]) -> dict[str, imap.Call]:
    find, page = "list_emails_metadata", {"account_name": "bench", "page_size": 20}
    return {
        LIST: (find, page),
        SUBJECT: (find, {**page, "subject": "time"}),
        RARE: (find, {**page, "body": "plantedrare"}),
        READ: ("get_emails_content", {"account_name": "bench", "email_ids": [told["uid"]]}),
    }


def _while_filling(ours: StdioServer, home: Path, path: Path, env: Mapping[str, str]) -> None:
    """Of the account beside the one that is filled, and of that one itself. The server's own process fills it again."""
    from postroom.sync.file.mirror import Mirror, mirror_path

    other = Mirror(mirror_path(home, "other"))
    command = mirror_filling.sync_command(path, "other", "--reset")
    subprocess.run(command, env=env, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while other.status().complete and time.monotonic() < until:
        time.sleep(0.02)
    query = {"query": WORDS[ONE_PERCENT]}
    beside = calling(ours, [("search_emails", {**query, "account": "bench"})])
    itself = _trying(ours, ("search_emails", {**query, "account": "other"}))  # a server may take too long for it
    times: dict[str, list[float]] = {"beside": [], "itself": []}
    until = time.monotonic() + LONGEST_FILL
    while not other.status().complete and len(times["beside"]) < 1_000 and time.monotonic() < until:
        times["beside"] += [beside() for _ in range(5)]
        times["itself"].append(itself())
    other.close()
    rows = [
        ["search text, 1 %, another account being filled", shown(times["beside"]), str(len(times["beside"]))],
        ["the same, of the account being filled", shown(times["itself"]), str(len(times["itself"]))],
    ]
    table(["while a fill runs, ms", "p50 / p99", "calls"], rows)


def main(mails: int, options: argparse.Namespace) -> Costs:
    print(f"\n## {mails:,} mails\n\nLoad {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    with served(mails, options.folder) as dovecot, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        env = environment(home)
        path = config(dovecot, home)
        filled = filling(dovecot, home, path, env, mails)
        mirror_filling.filled(path, env, "other")
        return {**filled, **calls(dovecot, home, path, env, mails, options)}


def growth(sizes: Mapping[int, Costs]) -> None:
    """What the same costs in each mailbox. On a busy machine the processor time is what tells."""
    smallest, *_, largest = sizes
    rows = [
        [name, *(str(costs[name]) for costs in sizes.values()), f"{_times(sizes[largest][name], cost)}x"]
        for name, cost in sizes[smallest].items()
    ]
    heads = [f"{mails:,} mails" for mails in sizes]
    table(["ms a call, p50 (processor time)", *heads, "processor time, largest / smallest"], rows)


def _times(more: Cost, less: Cost) -> str:
    return f"{more.processor / less.processor:.2f}" if less.processor else "-"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mails", type=int, nargs="*", default=[5_000, 50_000])
    parser.add_argument("--folder", type=Path, help="keeps the generated messages for the next run")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--patience", type=float, default=1500.0, help="seconds for mu and notmuch to index")
    parser.add_argument("--peer-up-to", type=int, default=5_000, help=f"{PEER} is measured up to so many mails")
    given = parser.parse_args()
    measured = {count: main(count, given) for count in sorted(set(given.mails))}
    if len(measured) > 1:
        growth(measured)
