"""Postroom over IMAP on a big mailbox, beside another MCP mail server and a mirroring program.

    python bench/imap.py [MAILS] [CALLS]

A real Dovecot serves the corpus as one inbox. Both MCP servers run over stdio and are called in turns, so that whatever
else the machine does hits both alike. Then the whole inbox is fetched through Postroom's connections and by mbsync.
Needs root, Dovecot and isync.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imap_peers import PEER, mirror_seconds, peer_command, peer_environment
from mcp_stdio import StdioServer, environment
from tool_call import percentile

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.peers.dovecot import MAIL_OWNER, PASSWORD, Dovecot, running_dovecot  # noqa: E402

USER = "bench@example.test"
SUBJECT_WORD, BODY_WORD = "time", "plantedrare"
BATCH, CONNECTIONS, FETCHES = 500, 2, 2

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to do, in the words of each server. Slow ones are done a tenth as often."""

    name: str
    ours: Call
    peers: Call
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    times: list[float]
    size: int  # bytes of the answer's text; 0 when it was refused

    @property
    def middle(self) -> float:
        return statistics.median(self.times)


def rows(newsletter: str, uid: int) -> list[Row]:
    find, read = "list_emails_metadata", "get_emails_content"
    page = {"account_name": "bench", "page_size": 20}
    subject = ("search_emails", {"query": f"subject:{SUBJECT_WORD}", "mailbox": "INBOX"})
    word = ("search_emails", {"query": BODY_WORD, "mailbox": "INBOX"})
    return [
        Row("list 20", ("list_emails", {}), (find, page)),
        Row("list 20, 40,000 down", ("list_emails", {"offset": 40_000}), (find, {**page, "page": 2_000})),
        Row("search subject", subject, (find, {**page, "subject": SUBJECT_WORD})),
        Row("search body word", word, (find, {**page, "body": BODY_WORD}), is_slow=True),
        Row(
            "read newsletter",
            ("read_email", {"email_id": newsletter}),
            (read, {"account_name": "bench", "email_ids": [str(uid)]}),
        ),
    ]


def measured(server: StdioServer, call: Call) -> tuple[float, int]:
    started = time.perf_counter()
    try:
        took, result = server.call(*call)
    except RuntimeError:
        return (time.perf_counter() - started) * 1000, 0
    return took, sum(len(block["text"].encode()) for block in result["content"] if block["type"] == "text")


def compare(row: Row, ours: StdioServer, peer: StdioServer, calls: int) -> tuple[Taken, Taken]:
    contenders = ((ours, row.ours), (peer, row.peers))
    sizes = [measured(server, call)[1] for server, call in contenders]  # the first call warms every cache
    rounds = max(3, calls // 10) if row.is_slow else calls
    pairs = [[measured(server, call)[0] for server, call in contenders] for _ in range(rounds)]
    mine, its = zip(*pairs, strict=True)
    return Taken(list(mine), sizes[0]), Taken(list(its), sizes[1])


def report(name: str, ours: Taken, peer: Taken) -> None:
    ratio = f"{peer.middle / ours.middle:5.1f}x" if ours.size and peer.size else "    -"
    print(f"{name:22} {_shown(ours)}   {_shown(peer)}   {ratio}")


def _shown(taken: Taken) -> str:
    size = f"{taken.size:7,} B" if taken.size else "  refused"
    return f"{taken.middle:8.1f} {percentile(taken.times, 0.99):8.1f} {size}"


def fill(dovecot: Dovecot, mails: int) -> None:
    folder = dovecot.maildir(USER)
    subprocess.run([sys.executable, HERE / "corpus.py", "maildir", folder, str(mails)], check=True)
    give_to_server(folder.parent)


def give_to_server(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, MAIL_OWNER, MAIL_OWNER)


def config(dovecot: Dovecot, home: Path) -> Path:
    path = home / "postroom.toml"
    path.write_text(
        f'[[accounts]]\nname = "bench"\nprovider = "imap"\naddress = "{USER}"\nhost = "{dovecot.host}"\n'
        f'port = {dovecot.imap}\nsecurity = "none"\npassword = "{PASSWORD}"\ntimeout = 120\n'
    )
    path.chmod(0o600)
    return path


def newest_newsletter(dovecot: Dovecot) -> tuple[int, str]:
    """Its UID and its subject."""
    from imapclient import IMAPClient

    with IMAPClient(dovecot.host, dovecot.imap, ssl=False, timeout=300) as client:
        client.login(USER, PASSWORD)
        client.select_folder("INBOX", readonly=True)
        newest = client.search(["HEADER", "LIST-ID", "weekly"])[-20:]
        subjects = {uid: item[b"ENVELOPE"].subject.decode() for uid, item in client.fetch(newest, ["ENVELOPE"]).items()}
        uid = max(uid for uid, subject in subjects.items() if not subject.startswith("=?"))
        return uid, subjects[uid]


def handle_of(server: StdioServer, subject: str) -> str:
    _, found = server.call("search_emails", {"query": f'subject:"{subject}"', "mailbox": "INBOX", "limit": 1})
    handle: str = found["structuredContent"]["results"][0]["email_id"]
    return handle


async def fetch_everything(dovecot: Dovecot) -> tuple[int, int]:
    """Every mail's bytes over a few connections, in batches: mails and bytes."""
    from postroom.providers.imap.session.client import Session
    from postroom.providers.imap.session.pool import Pool
    from postroom.settings import ImapAccount

    account = ImapAccount(
        name="bench",
        address=USER,
        host=dovecot.host,
        port=dovecot.imap,
        security="none",
        password=PASSWORD,
        max_connections=CONNECTIONS,
    )
    pool = Pool(account)

    def all_uids(session: Session) -> list[int]:
        session.open("INBOX")
        return session.search((b"ALL",))

    def fetch(session: Session, uids: list[int]) -> tuple[int, int]:
        if session.opened is None:
            session.open("INBOX")
        items = session.fetch(uids, "UID BODY.PEEK[]")
        return len(items), sum(len(item["BODY[]"]) for item in items.values())

    uids = await pool.run("INBOX", all_uids)
    batches = [uids[start : start + BATCH] for start in range(0, len(uids), BATCH)]
    counts = await asyncio.gather(*(pool.run("INBOX", fetch, batch) for batch in batches))
    await pool.close()
    return sum(mails for mails, _ in counts), sum(size for _, size in counts)


def compare_calls(dovecot: Dovecot, home: Path, calls: int) -> None:
    ours_command = [sys.executable, "-m", "postroom", "serve", "--config", str(config(dovecot, home))]
    ours_env = environment(home)
    uid, subject = newest_newsletter(dovecot)
    peer_env = peer_environment(dovecot, USER, PASSWORD, home)
    with StdioServer(ours_command, ours_env) as ours, StdioServer(peer_command(), peer_env) as peer:
        columns = f"{'p50 ms':>8} {'p99 ms':>8} {'answer':>9}"
        print(f"{'':22} {'postroom':^27}   {PEER:^27}\n{'':22} {columns}   {columns}")
        for row in rows(handle_of(ours, subject), uid):
            report(row.name, *compare(row, ours, peer, calls))


def compare_fetching(dovecot: Dovecot, folder: Path) -> None:
    def mirror() -> float:
        return mirror_seconds(dovecot, USER, PASSWORD, Path(tempfile.mkdtemp(dir=folder)))

    fetched = [_timed(lambda: asyncio.run(fetch_everything(dovecot))) for _ in range(FETCHES)]
    mails, size = fetched[0][1]
    took = {"postroom": min(seconds for seconds, _ in fetched)}
    if shutil.which("mbsync"):
        took["mbsync"] = min(mirror() for _ in range(FETCHES))
    for name, seconds in took.items():
        speed = f"{mails / seconds:7,.0f} mails/s {size / seconds / 2**20:5.0f} MB/s"
        print(f"fetch everything, {name:10} {seconds:6.1f} s {speed}")


def _timed(work: Callable[[], tuple[int, int]]) -> tuple[float, tuple[int, int]]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def main(mails: int, calls: int) -> None:
    with running_dovecot() as dovecot, tempfile.TemporaryDirectory() as folder:
        fill(dovecot, mails)
        compare_calls(dovecot, Path(folder), calls)
        compare_fetching(dovecot, Path(folder))


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(*given, *(50_000, 50)[len(given) :])
